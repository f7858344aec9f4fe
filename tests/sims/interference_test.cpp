#include "sims/interference.h"

#include <gtest/gtest.h>

#include "sims/simulator.h"
#include "tests/sims/schedule_maker.h"

namespace lanescope::sims {
namespace {

InterferenceMatrix Matrix() {
  InterferenceMatrix matrix;
  matrix.slowdown = {{{1.1, 1.2, 1.05}, {1.3, 2.0, 1.5}, {1.0, 1.25, 1.0}}};
  matrix.bytes_per_second = 10e9;  // 10 bytes a ns
  return matrix;
}

DomainLoad LoadOf(double compute, double memory, double copy) {
  DomainLoad load;
  load.demand = {compute, memory, copy};
  return load;
}

// Law: bytes per ns alone, as a share of the stream; 1 at most.
TEST(Demand, OfMemoryLaunchesIsTheirShareOfTheStream) {
  EXPECT_DOUBLE_EQ(DemandOf(WorkClass::kMemory, {0, 1000}, 1000, Matrix()), 0.1);
  EXPECT_DOUBLE_EQ(DemandOf(WorkClass::kMemory, {0, 10'000}, 1000, Matrix()), 1);
  EXPECT_DOUBLE_EQ(DemandOf(WorkClass::kMemory, {0, 90'000}, 1000, Matrix()), 1);
  EXPECT_DOUBLE_EQ(DemandOf(WorkClass::kMemory, {5, 0}, 1000, Matrix()), 0);
  EXPECT_DOUBLE_EQ(DemandOf(WorkClass::kMemory, {0, 1000}, 0, Matrix()), 0);
}

TEST(Demand, IsFullForArithmeticAndWhereTheStreamIsUnknown) {
  EXPECT_DOUBLE_EQ(DemandOf(WorkClass::kCompute, {1000, 1}, 1000, Matrix()), 1);
  EXPECT_DOUBLE_EQ(DemandOf(WorkClass::kMemory, {0, 1000}, 1000, {}), 1);
}

// Law: at full demand the measured factor, without demand none.
TEST(Slowdown, SaturatingCommandsSufferTheMatrix) {
  EXPECT_DOUBLE_EQ(Slowdown(Matrix(), LoadOf(0, 2, 0), WorkClass::kMemory, 1), 2.0);
  EXPECT_DOUBLE_EQ(Slowdown(Matrix(), LoadOf(1, 1, 0), WorkClass::kMemory, 1), 1.3);
  EXPECT_DOUBLE_EQ(Slowdown(Matrix(), LoadOf(0, 1, 0), WorkClass::kMemory, 1), 1);
}

// Law: 1 + d_victim * d_neighbour * (factor - 1).
TEST(Slowdown, AModestOpSuffersAndInflictsInProportion) {
  EXPECT_DOUBLE_EQ(Slowdown(Matrix(), LoadOf(0, 1.1, 0), WorkClass::kMemory, 0.1), 1.1);
  EXPECT_DOUBLE_EQ(Slowdown(Matrix(), LoadOf(0, 1.1, 0), WorkClass::kMemory, 1), 1.1);
  EXPECT_NEAR(Slowdown(Matrix(), LoadOf(0, 0.2, 0), WorkClass::kMemory, 0.1), 1.01, 1e-12);
  EXPECT_DOUBLE_EQ(Slowdown(Matrix(), LoadOf(0, 0.5, 1), WorkClass::kMemory, 0.5), 1.25);
}

class TwoVirtualGpus : public testing::Test {
 protected:
  TwoVirtualGpus() {
    for (int i = 0; i < 2; ++i) machine_.devices[static_cast<size_t>(gpu(i))].kind = DeviceKind::kVirtual;
    maker_.Launch(maker_.Queue(gpu(0)), 1000);
    maker_.Launch(maker_.Queue(gpu(1)), 1000);
    interference_.host = Matrix();
  }
  int gpu(int i) const { return machine_.Gpus()[static_cast<size_t>(i)]; }
  SimulationResult Run(double first, double second) {
    const Schedule schedule = maker_.Build();
    return Simulate(schedule, machine_, {maker_.ns(), {}, {first, second}}, {}, &interference_);
  }

  Machine machine_ = StarMachine(2, 1e9, 0, 0);
  ScheduleMaker maker_;
  Interference interference_;
};

// Both run beside each other from beginning to end: 1000 * (1 + d0 * d1 * (2 - 1)).
TEST_F(TwoVirtualGpus, SlowEachOtherByTheProductOfTheirDemands) {
  EXPECT_EQ(Run(1, 1).step_ns, 2000);
  EXPECT_EQ(Run(0.5, 0.5).step_ns, 1250);
  EXPECT_EQ(Run(0, 1).step_ns, 1000);
}

// A device of two workers whose op fits one core leaves the other to its neighbour.
TEST_F(TwoVirtualGpus, OnlyCoresReallyDemandedCount) {
  for (int i = 0; i < 2; ++i) machine_.devices[static_cast<size_t>(gpu(i))].workers = 2;
  interference_.host = {};
  interference_.host.cores = 2;
  const Schedule schedule = maker_.Build();
  const auto step = [&](std::vector<int> cores) {
    return Simulate(schedule, machine_, {maker_.ns(), {}, {}, std::move(cores)}, {}, &interference_).step_ns;
  };
  EXPECT_EQ(step({1, 1}), 1000);
  EXPECT_EQ(step({2, 2}), 2000);
  EXPECT_EQ(step({}), 2000);  // all workers, where nothing is said
}

// The copy's driver wakes at 100 with a launch of 600 left on one of two cores: it waits for (600 / 2), or
// for half of the slice where that is shorter. The launch shares its core with the copy nowhere: no
// copy_cores.
TEST_F(TwoVirtualGpus, ADriverWaitsForACoreWhereALaunchRuns) {
  ScheduleMaker maker;
  const int a = maker.Queue(gpu(0)), b = maker.Queue(gpu(1)), out = maker.Queue(gpu(0), QueueKind::kCopyOut);
  const int first = maker.Launch(a, 100);
  maker.Launch(b, 700);
  maker.Copy(out, gpu(0), gpu(1), 50, 50, {first});
  const Schedule schedule = maker.Build();
  interference_.host = {};
  interference_.host.cores = 2;
  GapModel gaps;
  gaps.handoff_ns[0][1] = 10;
  const auto start = [&](int64_t slice) {
    interference_.host.slice_ns = slice;
    return Simulate(schedule, machine_, {maker.ns()}, gaps, &interference_).times[2].start_ns;
  };
  EXPECT_EQ(start(0), 110);
  EXPECT_EQ(start(5000), 410);
  EXPECT_EQ(start(400), 310);
}

}  // namespace
}  // namespace lanescope::sims
