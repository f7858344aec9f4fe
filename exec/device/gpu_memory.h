// SPDX-License-Identifier: Apache-2.0
// How much of a GPU's memory tensors may take.
#pragma once

#include <cstdint>

namespace lanescope::exec {

// As TensorFlow describes them; at most one of the two.
struct GpuMemoryOptions {
  double fraction = 0;      // of a GPU's total memory, 0 to 1; 0: not given
  int64_t limit_bytes = 0;  // 0: not given
};

// How much of a GPU's memory tensors may take: the limit; the fraction of the total; by default what is free
// less a reserve for the libraries (200 MiB where less than 2 GiB are free, else 5% but 300 MiB at least).
int64_t GpuMemoryLimit(int64_t free_bytes, int64_t total_bytes, const GpuMemoryOptions& options);

}  // namespace lanescope::exec
