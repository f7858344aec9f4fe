// SPDX-License-Identifier: Apache-2.0
#include "core/runs/run_diff.h"

#include <gtest/gtest.h>

#include <random>
#include <stdexcept>
#include <tuple>

#include "core/base/error.h"
#include "tests/traces/sample_run.h"
#include "traces/read/trace_view.h"

namespace lanescope::traces {
namespace {

double SumOf(const StepParts& parts) {
  return parts.compute_ns + parts.transfer_ns + parts.waiting_ns + parts.contention_ns;
}

// Runs of nodes 0.. on GPUs, without dependencies.
class RunMaker {
 public:
  RunMaker() {
    for (int d = 0; d < 2; ++d) {
      TraceDevice device;
      device.id = d;
      device.name = "/device:GPU:" + std::to_string(d);
      device.kind = "virtual";
      run.devices.push_back(device);
    }
    for (int n = 0; n < 10; ++n) {
      run.texts.push_back("node" + std::to_string(n));
      run.nodes.push_back({n, run.texts.back(), "Op", 0, 0});
    }
  }
  void Launch(int step, int node, int device, int64_t start, int64_t end) {
    TraceLaunch launch;
    launch.step = step;
    launch.name = launch.node = node;
    launch.device = device;
    launch.start_ns = start;
    launch.end_ns = end;
    run.launches.push_back(launch);
  }
  void Copy(int step, int node, int src, int dst, int64_t start, int64_t end) {
    TraceCopy copy;
    copy.step = step;
    copy.node = node;
    copy.device = dst;
    copy.src = src;
    copy.dst = dst;
    copy.start_ns = start;
    copy.end_ns = end;
    run.copies.push_back(copy);
  }
  // The launch runs a command of this signature, which waits for nothing.
  void Sign(size_t launch, int signature) {
    TraceCommand command;
    command.node = run.launches[launch].node;
    command.signature = signature;
    run.commands.push_back(command);
    run.launches[launch].schedule = run.launches[launch].command = 0;
  }
  TraceRun run;
};

const OpDiff& Find(const RunDiff& diff, const std::string& name) {
  for (const OpDiff& op : diff.ops) {
    if (op.name == name) return op;
  }
  throw std::runtime_error(name);
}

// Traces without steps, of kernels: A ran node0 twice for 100 each, B once for 114. One launch of it takes
// 14% longer; that B is shorter says nothing.
TEST(RunDiffTest, WithoutStepsDifferentWorkComparesByLaunch) {
  RunMaker a, b;
  for (RunMaker* maker : {&a, &b}) maker->run.nodes.clear();
  const auto launch = [](RunMaker* maker, int64_t start, int64_t end) {
    maker->Launch(0, 0, 0, start, end);
    maker->run.launches.back().node = -1;
  };
  launch(&a, 0, 100);
  launch(&a, 100, 200);
  launch(&b, 0, 114);
  const RunDiff diff = DiffRuns(ProfileRun(ViewOfRun(a.run)), ProfileRun(ViewOfRun(b.run)));
  EXPECT_EQ(diff.launches_a, 2);
  EXPECT_EQ(diff.launches_b, 1);
  const std::string verdict = DiffVerdict(diff);
  EXPECT_NE(verdict.find("do not compare"), std::string::npos) << verdict;
  EXPECT_NE(verdict.find("one launch of node0 takes 14% longer"), std::string::npos) << verdict;
  EXPECT_EQ(verdict.find("faster"), std::string::npos) << verdict;
}

// Traces without steps that launched as many kernels, but others: their lengths tell nothing either.
TEST(RunDiffTest, AsManyLaunchesOfOtherKernelsAreOtherWork) {
  RunMaker a, b;
  for (const auto& [maker, name] : {std::pair(&a, 0), std::pair(&b, 1)}) {
    maker->run.nodes.clear();
    maker->Launch(0, name, 0, 0, 100);
    maker->run.launches.back().node = -1;
  }
  const RunDiff diff = DiffRuns(ProfileRun(ViewOfRun(a.run)), ProfileRun(ViewOfRun(b.run)));
  EXPECT_FALSE(diff.same_work);
  EXPECT_NE(DiffVerdict(diff).find("1 launches against 1; no kernel ran in both"), std::string::npos)
      << DiffVerdict(diff);
}

// Steps of these lengths, each one launch of node0.
RunMaker StepsOf(const std::vector<int64_t>& lengths) {
  RunMaker maker;
  int64_t at = 0;
  for (const int64_t length : lengths) {
    const auto step = static_cast<int>(maker.run.steps.size());
    maker.run.steps.push_back({step, at, at + length});
    maker.Launch(step, 0, 0, at, at + length);
    at += length;
  }
  return maker;
}

// 3 of a million is not "0%".
TEST(RunDiffTest, ASmallDifferenceIsNotNone) {
  const RunMaker a = StepsOf({1'000'000}), b = StepsOf({1'000'003});
  const RunDiff diff = DiffRuns(ProfileRun(ViewOfRun(a.run)), ProfileRun(ViewOfRun(b.run)));
  EXPECT_NE(DiffVerdict(diff).find("3 ns slower (less than 0.01%)"), std::string::npos) << DiffVerdict(diff);
}

// A kernel that runs three times in a step is three launches on its path.
TEST(RunDiffTest, LaunchesOnThePathAreCountedNotNames) {
  RunMaker maker;
  maker.run.nodes.clear();
  maker.run.steps = {{0, 0, 300}};
  for (int i = 0; i < 3; ++i) {
    maker.Launch(0, 0, 0, 100 * i, 100 * i + 50);
    maker.run.launches.back().node = -1;
  }
  const RunProfile profile = ProfileRun(ViewOfRun(maker.run));
  const RunDiff diff = DiffRuns(profile, profile);
  ASSERT_EQ(diff.ops.size(), 1u);
  EXPECT_EQ(diff.ops[0].a.path_count, 3);
}

// A kernel of one rank runs on GPU 1, of the other on GPU 3: it has not moved.
TEST(RunDiffTest, KernelsOfRanksStayInTheirPlace) {
  RunMaker a, b;
  for (const auto& [maker, gpu] : {std::pair(&a, 1), std::pair(&b, 3)}) {
    maker->run.nodes.clear();
    maker->run.devices.clear();
    maker->run.steps = {{0, 0, 100}};
    maker->Launch(0, 0, gpu, 0, 100);
    maker->run.launches.back().node = -1;
  }
  const RunDiff diff = DiffRuns(ProfileRun(ViewOfRun(a.run)), ProfileRun(ViewOfRun(b.run)));
  ASSERT_EQ(diff.ops.size(), 1u);
  EXPECT_EQ(diff.ops[0].change, OpDiff::Change::kSame);
  EXPECT_EQ(diff.ops[0].a.devices, "GPU:1");
  EXPECT_EQ(diff.ops[0].b.devices, "GPU:3");
}

// Two ranks of a job, which see GPU 1 and GPU 3 of eight: their copies are the same op.
TEST(RunDiffTest, CopiesOfRanksMatchByTheirPlace) {
  const auto rank = [](int gpu) {
    RunMaker maker;
    maker.run.nodes.clear();
    maker.run.devices.clear();
    for (int d = 0; d < 8; ++d) {
      TraceDevice device;
      device.id = d;
      device.kind = "GPU";
      maker.run.devices.push_back(device);
    }
    maker.run.steps = {{0, 0, 100}};
    maker.Copy(0, -1, kHostDevice, gpu, 0, 100);
    maker.run.copies.back().device = gpu;
    return maker.run;
  };
  const TraceRun one = rank(1), three = rank(3);
  const RunDiff diff = DiffRuns(ProfileRun(ViewOfRun(one)), ProfileRun(ViewOfRun(three)));
  ASSERT_EQ(diff.ops.size(), 1u);
  EXPECT_EQ(diff.ops[0].a.count, 1);
  EXPECT_EQ(diff.ops[0].b.count, 1);
}

// A kernel 0-100, a copy within its GPU 100-200, one from the host 200-250: 100 of compute, 150 of transfer,
// and one launch.
TEST(RunDiffTest, ACopyWithinItsGpuIsTransfer) {
  RunMaker maker;
  maker.run.nodes.clear();
  maker.run.steps = {{0, 0, 250}};
  maker.Launch(0, 0, 0, 0, 100);
  maker.run.launches.back().node = -1;
  maker.Copy(0, -1, 0, 0, 100, 200);
  maker.Copy(0, -1, kHostDevice, 0, 200, 250);
  const RunProfile profile = ProfileRun(ViewOfRun(maker.run));
  const RunDiff diff = DiffRuns(profile, profile);
  EXPECT_EQ(diff.parts_a.compute_ns, 100);
  EXPECT_EQ(diff.parts_a.transfer_ns, 150);
  EXPECT_EQ(diff.launches_a, 1);
  for (const OpDiff& op : diff.ops)
    EXPECT_EQ(op.kind == WorkKind::kCopy, op.name.find("->") != std::string::npos) << op.name;
}

// A step of A launches node0 twice for 100 each, one of B once for 150: a quarter less in a step, though one
// launch takes half as long again.
TEST(RunDiffTest, TheChangeOfARowIsOfAStepAsItsTimesAre) {
  RunMaker a, b;
  for (RunMaker* maker : {&a, &b}) maker->run.steps = {{0, 0, 400}};
  a.Launch(0, 0, 0, 0, 100);
  a.Launch(0, 0, 0, 100, 200);
  b.Launch(0, 0, 0, 0, 150);
  const RunDiff diff = DiffRuns(ProfileRun(ViewOfRun(a.run)), ProfileRun(ViewOfRun(b.run)));
  ASSERT_EQ(diff.ops.size(), 1u);
  EXPECT_EQ(diff.ops[0].a.ns, 200);
  EXPECT_EQ(diff.ops[0].b.ns, 150);
  EXPECT_DOUBLE_EQ(*diff.ops[0].LengthChange(), -0.25);
  EXPECT_DOUBLE_EQ(*diff.ops[0].LaunchChange(), 0.5);
}

// A: node0 0-100, node1 100-200, step 0-200. B: node0 0-100, copy 110-150, node1 on the other GPU 150-260,
// step 0-280. Compute +10 (node1 alone on its device, longer for no reason), transfer +40, waiting 10 + 20.
TEST(RunDiffTest, PartsOfTheDifference) {
  RunMaker a, b;
  a.run.steps = {{0, 0, 200}};
  a.Launch(0, 0, 0, 0, 100);
  a.Launch(0, 1, 0, 100, 200);
  b.run.steps = {{0, 0, 280}};
  b.Launch(0, 0, 0, 0, 100);
  b.Copy(0, 0, 0, 1, 110, 150);
  b.Launch(0, 1, 1, 150, 260);
  const RunDiff diff = DiffRuns(ProfileRun(ViewOfRun(a.run)), ProfileRun(ViewOfRun(b.run)));
  EXPECT_EQ(diff.parts_a.compute_ns, 200);
  EXPECT_EQ(diff.parts_a.waiting_ns, 0);
  EXPECT_EQ(diff.parts_b.compute_ns, 210);
  EXPECT_EQ(diff.parts_b.transfer_ns, 40);
  EXPECT_EQ(diff.parts_b.waiting_ns, 30);
  EXPECT_EQ(diff.parts_b.contention_ns, 0);
  EXPECT_EQ(Find(diff, "node0").change, OpDiff::Change::kSame);
  EXPECT_EQ(Find(diff, "node1").change, OpDiff::Change::kMoved);
  const OpDiff& copy = Find(diff, "node0 GPU:0 -> GPU:1");
  EXPECT_EQ(copy.change, OpDiff::Change::kOnlyB);
  EXPECT_EQ(copy.PathChange(), 50);  // 40 and the 10 before it
  EXPECT_EQ(diff.end_wait_b_ns, 20);
  EXPECT_EQ(DiffVerdict(diff),
            "B takes 280 ns a step, A 200 ns: 80 ns slower (40%); transfer +40 ns, waiting +30 ns, "
            "compute +10 ns.");
}

// A: steps of 100, 110 and 130; B: of 105, 112 and 128. Means of 113.3 and 115 differ by less than 2, the
// middle halves 105 to 120 and 108.5 to 120 overlap by more: one rule says so, here as in the list of runs.
TEST(RunDiffTest, StepsThatOverlapDoNotTellWhichIsFaster) {
  const auto made = [](std::vector<int64_t> lengths) {
    RunMaker maker;
    maker.run.steps.clear();
    int64_t start = 0;
    for (size_t i = 0; i < lengths.size(); ++i) {
      maker.run.steps.push_back({static_cast<int>(i), start, start + lengths[i]});
      maker.Launch(static_cast<int>(i), 0, 0, start, start + lengths[i]);
      start += lengths[i];
    }
    return ProfileRun(ViewOfRun(maker.run));
  };
  const RunProfile a = made({100, 110, 130}), b = made({105, 112, 128});
  EXPECT_EQ(a.range.step_ns, (100 + 110 + 130) / 3.0);
  EXPECT_EQ(a.range.low_ns, 105);
  EXPECT_EQ(a.range.high_ns, 120);
  EXPECT_TRUE(CannotTell(a.range, b.range));
  EXPECT_EQ(
      DiffVerdict(DiffRuns(a, b)),
      "Cannot tell which is faster: a step of A takes 113 ns (105 ns to 120 ns), of B 115 ns (108 ns to 120 "
      "ns).");
  const RunProfile slow = made({200, 210, 230});
  EXPECT_FALSE(CannotTell(a.range, slow.range));
  EXPECT_TRUE(DiffVerdict(DiffRuns(a, slow)).starts_with("B takes"));
}

// node0 takes 100 alone and 160 while node1 runs beside it for 40 on the same device: 40 of the 60 is
// contention, 20 stays compute. Beside work on another device nothing is contention, unless the devices are
// emulated.
TEST(RunDiffTest, ContentionIsBoundByWhatRanBeside) {
  for (const auto& [device, emulated, expected] :
       {std::tuple(0, false, 40.0), std::tuple(1, false, 0.0), std::tuple(1, true, 40.0)}) {
    RunMaker a, b;
    a.run.info.emulated = b.run.info.emulated = emulated;
    a.run.steps = {{0, 0, 100}};
    a.Launch(0, 0, 0, 0, 100);
    b.run.steps = {{0, 0, 160}};
    b.Launch(0, 0, 0, 0, 160);
    b.Launch(0, 1, device, 50, 90);
    const RunDiff diff = DiffRuns(ProfileRun(ViewOfRun(a.run)), ProfileRun(ViewOfRun(b.run)));
    EXPECT_EQ(diff.parts_b.contention_ns, expected);
    EXPECT_EQ(diff.parts_b.compute_ns, 160 - expected);
    EXPECT_EQ(diff.parts_a.contention_ns, 0);
  }
}

// A node with other shapes is other work.
TEST(RunDiffTest, OtherShapesAreNoContention) {
  RunMaker a, b;
  a.run.steps = {{0, 0, 100}};
  b.run.steps = {{0, 0, 160}};
  a.Launch(0, 0, 0, 0, 100);
  b.Launch(0, 0, 0, 0, 160);
  b.Launch(0, 1, 0, 0, 160);
  a.Sign(0, 2);
  b.Sign(0, 3);
  EXPECT_EQ(DiffRuns(ProfileRun(ViewOfRun(a.run)), ProfileRun(ViewOfRun(b.run))).parts_b.contention_ns, 0);
}

// Eight steps of 100, one of 10,000 and one of 1: the middle half knows neither.
TEST(RunDiffTest, MeansAreOfTheMiddleHalf) {
  RunMaker a;
  int64_t at = 0;
  for (int step = 0; step < 10; ++step) {
    const int64_t length = step == 3 ? 10'000 : step == 7 ? 1 : 100;
    a.run.steps.push_back({step, at, at + length});
    a.Launch(step, 0, 0, at, at + length);
    at += length;
  }
  const RunProfile profile = ProfileRun(ViewOfRun(a.run));
  EXPECT_EQ(profile.steps, 6);
  EXPECT_EQ(profile.step_ns, 100);
  EXPECT_EQ(ProfileRun(ViewOfRun(a.run), 3).step_ns, 10'000);
  EXPECT_THROW(ProfileRun(ViewOfRun(a.run), 10), Error);
  EXPECT_THROW(ProfileRun(ViewOfRun(TraceRun())), Error);
}

// Law: whatever the runs, parts are no less than 0 and add up to the step; ops and the wait at the end add up
// to the difference.
TEST(RunDiffTest, PartsAlwaysAddUp) {
  std::mt19937 random(7);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 200; ++round) {
    RunMaker runs[2];
    for (RunMaker& maker : runs) {
      maker.run.info.emulated = below(2) == 0;
      const int steps = 1 + below(6);
      for (int step = 0; step < steps; ++step) {
        const int64_t at = step * 1000;
        maker.run.steps.push_back({step, at, at + 1000});
        for (int i = below(20); i > 0; --i) {
          const int64_t start = at + below(900), end = start + below(300);  // some end after the step
          if (below(3) == 0) {
            maker.Copy(step, below(10), below(2), below(2), start, end);
          } else {
            maker.Launch(step, below(10), below(2), start, end);
          }
        }
      }
    }
    const RunDiff diff = DiffRuns(ProfileRun(ViewOfRun(runs[0].run)), ProfileRun(ViewOfRun(runs[1].run)));
    for (const StepParts& parts : {diff.parts_a, diff.parts_b}) {
      EXPECT_NEAR(SumOf(parts), parts.step_ns, 1e-6);
      EXPECT_GE(parts.compute_ns, -1e-6);
      EXPECT_GE(parts.transfer_ns, -1e-6);
      EXPECT_GE(parts.waiting_ns, -1e-6);
      EXPECT_GE(parts.contention_ns, -1e-6);
    }
    double change = diff.end_wait_b_ns - diff.end_wait_a_ns;
    for (const OpDiff& op : diff.ops) change += op.PathChange();
    EXPECT_NEAR(change, diff.parts_b.step_ns - diff.parts_a.step_ns, 1e-6);
  }
}

// Recorded runs: two placements of one graph would share node names; here the same run twice.
TEST(RunDiffTest, RecordedRun) {
  ScratchFile file;
  SampleRun sample;
  TraceWriter writer(file.path());
  sample.WriteTo(&writer, 4);
  writer.Close();
  const RunProfile profile = ProfileRun(ViewOfRun(TraceReader(file.path()).ReadRun(1)));
  EXPECT_EQ(profile.step_ns, 1000);
  const RunDiff diff = DiffRuns(profile, profile);
  EXPECT_EQ(diff.parts_a.compute_ns, 100 + 200 + 300);
  EXPECT_EQ(diff.parts_a.transfer_ns, 100 + 200 + 50);
  EXPECT_EQ(diff.parts_a.waiting_ns, 50);
  EXPECT_EQ(DiffVerdict(diff), "A and B take equally long.");
}

}  // namespace
}  // namespace lanescope::traces
