// SPDX-License-Identifier: Apache-2.0
// Changes of links, collectives, streams and GPUs on made traces whose truth stands beside them.
#include "tests/traces/replay_trace.h"
#include "traces/replay/gpu_ratios.h"

namespace lanescope::traces {
namespace {

// A kernel of 100, an all-reduce of 1 MB in 100 and a kernel of 100 on each of two GPUs, 2 between them: 304.
ReplayTrace ReduceBetweenKernels() {
  ReplayTrace trace;
  for (int rank : {0, 1}) {
    trace.Kernel(trace.Call(0, 10, 2, rank), 12, 112, 0, rank);
    TraceCollective message;
    message.launch = static_cast<int>(trace.run().launches.size());
    message.kind = 1;
    message.bytes = 1'000'000;
    trace.run().collectives.push_back(message);
    trace.Kernel(trace.Call(10, 20, 2, rank), 114, 214, 1, rank);
    trace.Kernel(trace.Call(20, 30, 2, rank), 216, 316, 0, rank);
  }
  return trace;
}

// In an all-reduce of two ranks every byte crosses a link once: 10 GB/s.
TEST(ReplayChangesTest, LinksOfAnotherBandwidth) {
  EXPECT_EQ(ReduceBetweenKernels().Simulate({"link.bandwidth=20GB/s"}), (Times{304, 304, 254}));
  EXPECT_EQ(ReduceBetweenKernels().Simulate({"link.bandwidth=10GB/s"}), (Times{304, 304, 304}));
  EXPECT_EQ(ReduceBetweenKernels().CodeOf("link.bandwidth=fast", "bandwidth"), Code::kInvalidArgument);
  EXPECT_EQ(ReduceBetweenKernels().CodeOf("host_link.bandwidth=20GB/s", "can carry"),
            Code::kFailedPrecondition);
}

// 1 MB in 100 says that the link carries 10 GB/s, so that of 10 for 10 kB 9 do not depend on it: 50 and 9.5.
TEST(ReplayChangesTest, LinksToTheHost) {
  ReplayTrace trace;
  trace.Copy(trace.Call(0, 10, 4), 12, 112, 1);
  trace.run().copies.back().bytes = 1'000'000;
  trace.Copy(trace.Call(10, 20, 4), 114, 124, 1);
  trace.run().copies.back().bytes = 10'000;
  trace.Kernel(trace.Call(20, 30), 126, 226);
  EXPECT_EQ(trace.Simulate({"host_link.bandwidth=20GB/s"}), (Times{214, 214, 164}));
  EXPECT_EQ(trace.Simulate({"link.speed=2"}), (Times{214, 214, 159}));
  EXPECT_EQ(trace.CodeOf("link.bandwidth=20GB/s", "can carry"), Code::kFailedPrecondition);
}

// The second kernel follows the first one, beside the all-reduce.
TEST(ReplayChangesTest, CollectivesThatNothingWaitsFor) {
  for (const char* change : {"overlap=AllReduce", "overlap=nccl*"})
    EXPECT_EQ(ReduceBetweenKernels().Simulate({change}), (Times{304, 304, 202})) << change;
  EXPECT_EQ(ReduceBetweenKernels().CodeOf("overlap=AllGather", "it has AllReduce"), Code::kNotFound);
  ReplayTrace without;
  without.Kernel(without.Call(0, 10), 12, 112);
  EXPECT_EQ(without.CodeOf("overlap=AllReduce", "no collectives"), Code::kNotFound);
}

// Three kernels of 100, the second launched in the range "branch": on a stream of its own it still comes
// after the first, and the third runs beside it.
TEST(ReplayChangesTest, ARangeOnAnotherStream) {
  ReplayTrace trace;
  for (int64_t i : {0, 1, 2}) trace.Kernel(trace.Call(10 * i, 10 * i + 10), 12 + 102 * i, 112 + 102 * i);
  trace.run().texts.push_back("branch");
  TraceRange range;
  range.start_ns = 9'000;
  range.end_ns = 20'000;
  range.global_tid = (int64_t{1} << 48) + 1;
  range.text = 5;
  trace.run().ranges.push_back(range);
  EXPECT_EQ(trace.Simulate({"range:bra*.stream=9"}), (Times{304, 304, 202}));
  EXPECT_EQ(trace.CodeOf("range:other.stream=9", "range of such a name"), Code::kNotFound);
  EXPECT_EQ(trace.CodeOf("range:branch.stream=nine", "number of a stream"), Code::kInvalidArgument);
}

// A product of 100 and, 2 later, an addition of 100 on an H100. An H200 takes as long for the one (94 to 110)
// and 79 (69 to 96) for the other.
TEST(ReplayChangesTest, AnotherGpu) {
  ReplayTrace trace;
  trace.run().texts.push_back("add");
  trace.Kernel(trace.Call(0, 10), 12, 112);
  trace.Kernel(trace.Call(10, 20), 114, 214, 5);
  EXPECT_EQ(trace.CodeOf("gpu=h200", "does not say"), Code::kFailedPrecondition);
  TraceDevice gpu;
  gpu.model = "NVIDIA H100 80GB HBM3";
  trace.run().devices.push_back(gpu);
  EXPECT_EQ(trace.Simulate({"gpu=h200"}), (Times{202, 202, 181}));
  EXPECT_EQ(trace.Simulate({"gpu=H100"}), (Times{202, 202, 202}));
  const WhatIf what_if = FindWhatIf(BuildReplayGraph(trace.run(), {}), {"gpu=h200"});
  ASSERT_TRUE(what_if.range.has_value());
  EXPECT_EQ(what_if.range->low_ns, 165'000);
  EXPECT_EQ(what_if.range->high_ns, 208'000);
  EXPECT_EQ(trace.CodeOf("gpu=h300", "A100, B200"), Code::kInvalidArgument);
  trace.run().devices.back().model = "AMD Instinct MI300X";
  EXPECT_EQ(trace.CodeOf("gpu=h200", "MI300X"), Code::kFailedPrecondition);
}

TEST(ReplayChangesTest, GpusAreFoundInTheirModels) {
  EXPECT_EQ(FindMeasuredGpu("NVIDIA GB200")->name, "GB200");
  EXPECT_EQ(FindMeasuredGpu("b200")->name, "B200");
  EXPECT_EQ(FindMeasuredGpu(""), nullptr);
}

}  // namespace
}  // namespace lanescope::traces
