// SPDX-License-Identifier: Apache-2.0
// The SQLite file that nvprof writes (nvprof -o FILE). Internal to traces.
#pragma once

#include <cstdint>
#include <string>

#include "traces/import/importer.h"

namespace lanescope::traces {

// Whether a file is a database with tables of nvprof.
bool IsNvprof(const ForeignFile& file);

// Throws DataLoss for a damaged file, Cancelled.
ImportTrace ReadNvprof(const ImportSource& source);

// The call of CUPTI's number: "cudaLaunchKernel" for 211 of the runtime; "runtime call 999" for an unknown
// one.
std::string CallOfNumber(bool runtime, int64_t number);

}  // namespace lanescope::traces
