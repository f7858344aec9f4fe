// SPDX-License-Identifier: Apache-2.0
// Opening and closing a trace file. Internal to traces.
#pragma once

#include <string>

#include "traces/store/sqlite.h"

namespace lanescope::traces {

// Any SQLite file. Throws what Database does, and says of other tools' traces what to do with them.
Database OpenTraceForReading(const std::string& path);

// Creates the file with the whole schema, or opens one of ours, in WAL mode. Throws FailedPrecondition for
// anything else, which is only read. Messages say `name`.
Database OpenTraceForWriting(const std::string& path, const std::string& name);

// Makes the missing indexes, moves everything into the one file and leaves journal_mode=DELETE. While another
// program reads the file the last step is left to whoever closes it last.
void FinishTraceFile(Database& database);

}  // namespace lanescope::traces
