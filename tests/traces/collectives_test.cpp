// SPDX-License-Identifier: Apache-2.0
// Which kernels of NCCL are parts of one collective, in made traces whose truth stands beside them.
#include "traces/read/collectives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "traces/report/waits.h"

namespace lanescope::traces {
namespace {

using testing::ElementsAre;

class MadeTrace {
 public:
  MadeTrace() { run_.texts = {"ncclDevKernel_AllReduce", "ncclDevKernel_SendRecv", "gemm"}; }
  MadeTrace& Kernel(int device, int64_t start, int64_t end, int step = -1, int name = 0) {
    TraceLaunch launch;
    launch.device = device;
    launch.name = name;
    launch.start_ns = start;
    launch.end_ns = end;
    launch.step = step;
    run_.launches.push_back(launch);
    return *this;
  }
  // The group of the kernel before.
  MadeTrace& In(const std::string& group, int64_t ranks, const std::string& kind = "allreduce") {
    run_.texts.push_back(kind);
    run_.texts.push_back(group);
    const int texts = static_cast<int>(run_.texts.size());
    run_.collectives.push_back(
        {static_cast<int>(run_.launches.size()) - 1, texts - 2, 1000, ranks, texts - 1});
    return *this;
  }
  const TraceRun& run() {
    Name();
    return run_;
  }

 private:
  // One text for each name, as readers have it.
  void Name() {
    for (TraceCollective& collective : run_.collectives) {
      const auto first = std::ranges::find(run_.texts, run_.texts[static_cast<size_t>(collective.group)]);
      collective.group = static_cast<int>(first - run_.texts.begin());
    }
  }
  TraceRun run_;
};

// Tensor groups {0, 1} and {2, 3}, each with an all-reduce of its own; then one of data groups {0, 2} and
// {1, 3}: all are of one kernel, and pairs.
TEST(CollectivesTest, GroupsTellThemApart) {
  MadeTrace trace;
  trace.Kernel(0, 0, 100).In("tensor [0, 1]", 2).Kernel(1, 20, 100).In("tensor [0, 1]", 2);
  trace.Kernel(2, 10, 150).In("tensor [2, 3]", 2).Kernel(3, 50, 150).In("tensor [2, 3]", 2);
  trace.Kernel(0, 200, 300).In("data [0, 2]", 2).Kernel(1, 200, 310).In("data [1, 3]", 2);
  trace.Kernel(2, 210, 300).In("data [0, 2]", 2).Kernel(3, 200, 310).In("data [1, 3]", 2);
  std::vector<std::vector<int>> parts;
  for (const Collective& collective : FindCollectives(trace.run())) {
    parts.push_back(collective.parts);
    EXPECT_EQ(collective.ranks, 2);
  }
  EXPECT_THAT(parts, testing::UnorderedElementsAre(ElementsAre(0, 1), ElementsAre(2, 3), ElementsAre(4, 6),
                                                   ElementsAre(5, 7)));
  const Waits waits = FindWaits(trace.run());
  EXPECT_EQ(waits.devices[0].waiting_ns, 20 + 10);
  EXPECT_EQ(waits.devices[1].waiting_ns, 0);
  EXPECT_EQ(waits.devices[2].waiting_ns, 40);
  EXPECT_EQ(waits.devices[3].waiting_ns, 0);
  EXPECT_EQ(waits.partial, 0);
}

// The trace of GPU 1 begins later: of step 0 it has one all-reduce less, of step 1 both are there. What it
// has of step 0 ends with the second one of GPU 0.
TEST(CollectivesTest, AStepThatIsCut) {
  MadeTrace trace;
  constexpr int64_t kUs = 1000;
  trace.Kernel(0, 0, 100 * kUs, 0).Kernel(0, 100 * kUs, 300 * kUs, 0);
  trace.Kernel(0, 500 * kUs, 600 * kUs, 1).Kernel(0, 700 * kUs, 800 * kUs, 1);
  trace.Kernel(1, 210 * kUs, 300 * kUs, 0);
  trace.Kernel(1, 520 * kUs, 600 * kUs, 1).Kernel(1, 700 * kUs, 800 * kUs, 1);
  std::vector<std::vector<int>> parts;
  for (const Collective& collective : FindCollectives(trace.run())) parts.push_back(collective.parts);
  EXPECT_THAT(parts, testing::UnorderedElementsAre(ElementsAre(1, 4), ElementsAre(2, 5), ElementsAre(3, 6)));
}

// A GPU without NCCL takes part in nothing, and holds nobody up.
TEST(CollectivesTest, GpusThatTakeNoPart) {
  MadeTrace trace;
  trace.Kernel(0, 0, 100).Kernel(1, 50, 100).Kernel(2, 0, 500, -1, 2);
  const std::vector<Collective> found = FindCollectives(trace.run());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].parts, ElementsAre(0, 1));
}

// A message has two ends: of three GPUs that pass on what they get nobody says which belong together. Kernels
// that never run at one time are no collective either.
TEST(CollectivesTest, MessagesAndMomentsApart) {
  MadeTrace messages;
  for (int device = 0; device < 3; ++device) messages.Kernel(device, 0, 100, -1, 1).In("pipeline", 3, "send");
  EXPECT_TRUE(FindCollectives(messages.run()).empty());
  MadeTrace apart;
  apart.Kernel(0, 0, 100).Kernel(1, 1'000'000, 1'000'100);
  EXPECT_TRUE(FindCollectives(apart.run()).empty());
}

// Two of the eight ranks that the collective says it is of.
TEST(CollectivesTest, RanksThatAreNotThere) {
  MadeTrace trace;
  trace.Kernel(0, 0, 100).In("world", 8).Kernel(1, 50, 100).In("world", 8);
  ASSERT_EQ(FindCollectives(trace.run()).size(), 1u);
  EXPECT_EQ(FindCollectives(trace.run())[0].ranks, 8);
  EXPECT_THAT(WaitsText(FindWaits(trace.run()), 0),
              testing::HasSubstr("Of 1 collectives not all ranks are in the trace"));
}

// GPU 1 comes last twice, by 1 ns each; GPU 0 once, by 80.
TEST(CollectivesTest, TheStragglerIsWhoTheOthersWaitForMost) {
  MadeTrace trace;
  trace.Kernel(0, 0, 10).Kernel(1, 1, 10).Kernel(0, 20, 30).Kernel(1, 21, 30);
  trace.Kernel(0, 180, 200).Kernel(1, 100, 200);
  const Waits waits = FindWaits(trace.run());
  ASSERT_EQ(waits.stragglers.size(), 1u);
  EXPECT_EQ(waits.stragglers[0].label, "GPU:0");
  EXPECT_EQ(waits.stragglers[0].collectives, 1);
}

}  // namespace
}  // namespace lanescope::traces
