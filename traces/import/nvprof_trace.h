// The SQLite file that nvprof writes (nvprof -o FILE). Internal to traces.
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "traces/import/import_trace.h"

namespace lanescope::traces {

// Whether a file is a database with tables of nvprof.
bool IsNvprof(const std::string& path);

// Throws DataLoss for a damaged file, Cancelled.
ImportTrace ReadNvprof(const std::string& path, const std::atomic<bool>* cancelled);

// Of a number of CUPTI: "cudaLaunchKernel" for 211 of the runtime; "runtime call 999" for what is not known.
std::string CallOfNumber(bool runtime, int64_t number);

}  // namespace lanescope::traces
