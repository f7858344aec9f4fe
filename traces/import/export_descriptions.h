// SPDX-License-Identifier: Apache-2.0
// Descriptions in an import, beside events: devices, ranks, names, memory, collectives. Internal to traces.
#pragma once

#include <string>
#include <vector>

#include "traces/import/export_file.h"
#include "traces/import/import.h"
#include "traces/import/import_workers.h"
#include "traces/store/string_table.h"

namespace lanescope::traces {

// Describes a file whose events are written.
void DescribeFile(Database& database, const ImportFile& file, ImportDevices* devices, ImportCounts* counts);

// Describes a worker whose files are written, by its first. `alone`: there is no other.
void DescribeWorker(Database& database, const ImportFile& file, ImportDevices* devices, bool alone,
                    StringTable* strings);

// Notes for readers of the trace.
void AddNotes(Database& database, const std::vector<std::string>& notes);

// Where there are several; they follow each other without the time between them.
void AddSpans(Database& database, const std::vector<RecordedSpan>& spans, int64_t time_zero);

}  // namespace lanescope::traces
