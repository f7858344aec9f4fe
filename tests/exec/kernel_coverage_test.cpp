// SPDX-License-Identifier: Apache-2.0
// Every op that core defines has a kernel for host memory, but for those listed here, and TensorFlow's table
// says on which devices it runs: a graph that compiles also runs.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "core/graph/op.h"
#include "core/place/kernel_table.h"
#include "exec/device/kernel.h"

namespace lanescope::exec {
namespace {

// Placed and simulated, not run: what they need has no part in training steps, or no library has their hash.
// Collectives are copies and sums before they run.
const std::set<std::string_view> kWithoutKernel = {"CollectiveBcastRecv", "CollectiveBcastRecvV2",
                                                   "CollectiveBcastSend", "CollectiveBcastSendV2",
                                                   "CollectiveGather",    "CollectiveGatherV2",
                                                   "CollectiveReduce",    "CollectiveReduceScatterV2",
                                                   "CollectiveReduceV2",  "LookupTableExport",
                                                   "LookupTableExportV2", "LookupTableInsert",
                                                   "LookupTableInsertV2", "MutableHashTable",
                                                   "MutableHashTableV2",  "NcclAllReduce",
                                                   "NcclBroadcast",       "NcclReduce",
                                                   "StringToHashBucket"};
// TensorFlow rewrites it before it places it.
constexpr std::string_view kWithoutDevice = "AccumulateNV2";

TEST(KernelCoverage, OpsHaveHostKernels) {
  std::set<std::string_view> missing;
  for (const std::string_view op : OpRegistry::Global().Names()) {
    if (!KernelRegistry::Host().Has(op)) missing.insert(op);
  }
  EXPECT_EQ(missing, kWithoutKernel);
}

// A kernel without a definition gets no memory for what it yields.
TEST(KernelCoverage, KernelsHaveDefinitions) {
  std::set<std::string_view> missing;
  for (const std::string_view op : KernelRegistry::Host().Names()) {
    if (OpRegistry::Global().Find(op) == nullptr) missing.insert(op);
  }
  EXPECT_EQ(missing, std::set<std::string_view>{});
}

TEST(KernelCoverage, OpsHaveDevices) {
  for (const std::string_view op : OpRegistry::Global().Names()) {
    EXPECT_EQ(KernelTable::Global().Entries(op).empty(), op == kWithoutDevice) << op;
  }
}

}  // namespace
}  // namespace lanescope::exec
