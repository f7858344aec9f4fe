// SPDX-License-Identifier: Apache-2.0
#include "exec/device/gpu_memory.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/units.h"

namespace lanescope::exec {

int64_t GpuMemoryLimit(int64_t free_bytes, int64_t total_bytes, const GpuMemoryOptions& options) {
  if (options.limit_bytes > 0 && options.fraction > 0) {
    Throw(Code::kInvalidArgument, "a memory limit and a memory fraction exclude each other; give one");
  }
  if (options.limit_bytes > 0) {
    if (options.limit_bytes > total_bytes) {
      Throw(Code::kInvalidArgument, "the memory limit of {} is more than the GPU's {}",
            FormatBytes(options.limit_bytes), FormatBytes(total_bytes));
    }
    return options.limit_bytes;
  }
  if (options.fraction > 0) {
    if (!(options.fraction <= 1)) {
      Throw(Code::kInvalidArgument, "a memory fraction of {} needs oversubscription; give 1 at most",
            options.fraction);
    }
    return static_cast<int64_t>(static_cast<double>(total_bytes) * options.fraction);
  }
  constexpr int64_t kMiB = int64_t{1} << 20;
  const int64_t reserve = free_bytes < 2048 * kMiB ? 200 * kMiB : std::max(300 * kMiB, free_bytes / 20);
  return std::max<int64_t>(kMiB, free_bytes - reserve);
}

}  // namespace lanescope::exec
