// XPlane files of TensorFlow's and JAX' profilers (.xplane.pb). Internal to traces.
#pragma once

#include <atomic>
#include <string>

#include "traces/import/import_trace.h"

namespace lanescope::traces {

// Streams of GPUs become kernels and copies, ops of other accelerators kernels on devices of their own,
// CUPTI's plane API calls, and what threads of the host annotate ranges; a range with a step's number is that
// step. Throws InvalidArgument for a file without any of these, DataLoss, Cancelled.
ImportTrace ReadXPlane(const std::string& bytes, const std::string& path, const std::atomic<bool>* cancelled);

}  // namespace lanescope::traces
