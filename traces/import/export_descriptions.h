// What the files of an import say beside what ran: memory, collectives, devices, ranks, names.
// Internal to traces.
#pragma once

#include "traces/import/export_file.h"
#include "traces/import/import.h"
#include "traces/store/sqlite.h"

namespace lanescope::traces {

// After the file's events, which number its devices. `alone`: there is no other.
void DescribeFile(Database& database, const ImportFile& file, ImportDevices* devices, bool alone,
                  ImportCounts* counts);

}  // namespace lanescope::traces
