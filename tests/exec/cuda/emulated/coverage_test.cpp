// SPDX-License-Identifier: Apache-2.0
// Every op that TensorFlow runs on GPUs, and this project on a host, has a CUDA kernel, but for those named
// here.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "core/graph/op.h"
#include "core/place/kernel_table.h"
#include "tests/exec/cuda/gpu/op_harness.h"

namespace lanescope::exec::test {
namespace {

bool IsIn(const std::vector<std::string>& names, const ArgDef& arg) {
  return std::ranges::find(names, arg.name) != names.end();
}

// An op all of whose arguments are in host memory is served by its host kernel wherever it is placed.
bool RunsOnGpus(std::string_view op) {
  const OpDef& def = *OpRegistry::Global().Find(op);
  return std::ranges::any_of(KernelTable::Global().Entries(op), [&](const KernelEntry& entry) {
    const auto in_host_memory = [&](const ArgDef& arg) { return IsIn(entry.host_memory_args, arg); };
    const bool has_args = !def.inputs.empty() || !def.outputs.empty();
    return entry.device_type == "GPU" && !(has_args && std::ranges::all_of(def.inputs, in_host_memory) &&
                                           std::ranges::all_of(def.outputs, in_host_memory));
  });
}

// Ops of GPUs that run on a host alone so far. A graph that has one on a GPU is placed and simulated, not
// run.
// Packed tensors are made in host memory (core/place/wire_format.h).
const std::set<std::string_view> kHostOnly = {
    "PackScaledInt8",   "QueueDequeueV2", "QueueEnqueueV2", "QueueIsClosedV2",
    "UnpackScaledInt8", "_Recv",          "_Send"};

TEST(CudaKernelCoverage, OpsOfGpusHaveCudaKernels) {
  std::set<std::string_view> missing;
  for (const std::string_view op : OpRegistry::Global().Names()) {
    if (RunsOnGpus(op) && KernelRegistry::Host().Has(op) && !GpuBackend::Get().kernels().Has(op))
      missing.insert(op);
  }
  EXPECT_EQ(missing, kHostOnly);
}

}  // namespace
}  // namespace lanescope::exec::test
