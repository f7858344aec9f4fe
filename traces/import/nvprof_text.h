// What nvprof prints with --print-gpu-trace --csv. Internal to traces.
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "traces/import/import_trace.h"

namespace lanescope::traces {

// Whether a file that begins with `head` is that: the names of its first columns stand in a line of their
// own, behind what nvprof says before.
bool LooksLikeNvprofText(std::string_view head);

// Kernels, copies and memory sets; the print has no API calls. Throws InvalidArgument for a file without such
// rows, DataLoss for one whose columns or units are unknown, Cancelled.
ImportTrace ReadNvprofText(const std::string& bytes, const std::string& path,
                           const std::atomic<bool>* cancelled);

}  // namespace lanescope::traces
