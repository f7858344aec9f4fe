// Every op that TensorFlow runs on GPUs, and this project on a host, has a CUDA kernel.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "core/graph/op.h"
#include "core/place/kernel_table.h"
#include "tests/exec/cuda/gpu/op_harness.h"

namespace lanescope::exec::test {
namespace {

bool TableHasGpu(std::string_view op) {
  const auto& entries = KernelTable::Global().Entries(op);
  return std::any_of(entries.begin(), entries.end(),
                     [](const auto& entry) { return entry.device_type == "GPU"; });
}

TEST(CudaKernelCoverage, OpsOfGpusHaveCudaKernels) {
  std::set<std::string_view> missing;
  for (const std::string_view op : OpRegistry::Global().Names()) {
    if (TableHasGpu(op) && KernelRegistry::Host().Has(op) && !GpuBackend::Get().kernels().Has(op))
      missing.insert(op);
  }
  EXPECT_EQ(missing, std::set<std::string_view>{});
}

}  // namespace
}  // namespace lanescope::exec::test
