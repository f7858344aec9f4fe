// SPDX-License-Identifier: Apache-2.0
// Hostile bytes as a trace of PyTorch's profiler.
#include <cstdint>

#include "tests/fuzz/import_attempt.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lanescope::TryImport("trace.json", {reinterpret_cast<const char*>(data), size});
  return 0;
}
