// SPDX-License-Identifier: Apache-2.0
#include "sims/engine/computers.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sims/cost/cost_model.h"
#include "sims/engine/interference.h"
#include "sims/engine/simulator.h"
#include "sims/fit/step_samples.h"
#include "sims/predict/predict.h"
#include "tests/sims/effects_of.h"
#include "tests/sims/schedule_maker.h"

namespace lanescope::sims {
namespace {

// Device t: the host of task t, of one worker. They send each other a byte a ns.
Machine HostsOfThree() {
  return ParseMachine(R"({"devices": [{"name": "/job:w/task:0/CPU:0", "kind": "host", "workers": 1},
    {"name": "/job:w/task:1/CPU:0", "kind": "host", "workers": 1},
    {"name": "/job:w/task:2/CPU:0", "kind": "host", "workers": 1}],
    "links": [{"between": ["/job:w/task:0/CPU:0", "/job:w/task:1/CPU:0"], "bandwidth": "1GB/s"},
      {"between": ["/job:w/task:0/CPU:0", "/job:w/task:2/CPU:0"], "bandwidth": "1GB/s"}]})");
}
OtherComputer ComputerOfTask(int task, int cores, WorkerSpeed speed = {}) {
  return {{"/job:w/task:" + std::to_string(task)}, cores, speed};
}

constexpr OpWork kComputes{4'000'000, 1'000'000}, kStreams{4'000'000, 1'000'001};

// Laws: a device is on the computer that names its task, else on the first; speeds are by the class of the
// work, and of threads alone.
TEST(Computers, AreToldByTheTasksThatTheyName) {
  const Computers computers({ComputerOfTask(2, 1, {0.5, 0.25}), ComputerOfTask(1, 1)});
  Machine machine = HostsOfThree();
  const auto number = [&](int task) { return computers.NumberOf(machine.device(DeviceId(task))); };
  EXPECT_EQ(number(0), 0);
  EXPECT_EQ(number(1), 2);
  EXPECT_EQ(number(2), 1);
  const auto speed = [&](int task, const OpWork& work) {
    return computers.SpeedOf(machine.device(DeviceId(task))).Of(work);
  };
  EXPECT_EQ(speed(0, kComputes), 1);
  EXPECT_EQ(speed(1, kComputes), 1);
  EXPECT_EQ(speed(2, kComputes), 0.5);
  EXPECT_EQ(speed(2, kStreams), 0.25);
  machine.devices[DeviceId(2)].kind = DeviceKind::kCuda;
  EXPECT_EQ(speed(2, kComputes), 1);
}

// A simulation of the maker's commands; the first computer has one core.
class StepsOfThree : public testing::Test {
 protected:
  StepsOfThree() { interference_.host.cores = 1; }
  QueueId Host(int task) { return maker_.Queue(DeviceId(task)); }
  SimulationResult Run() {
    return Simulate(maker_.Build(), machine_, {maker_.ns()}, ModelOf(gaps_, &interference_));
  }

  Machine machine_ = HostsOfThree();
  ScheduleMaker maker_;
  Delays gaps_;
  Interference interference_;
};

// Input: launches of 1000 of all tasks at once. Laws: one core has them one after the other, a core for each
// at once; whom no other computer names shares the first one's core.
TEST_F(StepsOfThree, ShareTheCoresOfTheirComputer) {
  for (int task = 0; task < 3; ++task) maker_.Launch(Host(task), 1000);
  EXPECT_EQ(Run().step_ns, 3000);
  interference_.other_computers = {ComputerOfTask(1, 1)};
  EXPECT_EQ(Run().step_ns, 2000);
  EXPECT_EQ(Run().times[CommandId(1)].end_ns, 1000);
  interference_.other_computers.push_back(ComputerOfTask(2, 1));
  EXPECT_EQ(Run().step_ns, 1000);
  interference_.other_computers = {{{"/job:w/task:1", "/job:w/task:2"}, 1, {}}};
  EXPECT_EQ(Run().step_ns, 2000);
  EXPECT_EQ(Run().times[CommandId(0)].end_ns, 1000);
  interference_.other_computers.front().cores = 2;
  EXPECT_EQ(Run().step_ns, 1000);
}

// Law: the threads that move messages take cores where their tasks are.
TEST_F(StepsOfThree, MessagesKeepTheirOwnComputersBusy) {
  gaps_.message_overhead_ns = 100;
  maker_.Copy(maker_.Queue(DeviceId(0), QueueKind::kCopyOut), DeviceId(0), DeviceId(1), 0, 1000);
  const CommandId launch = maker_.Launch(Host(2), 1000);
  EXPECT_GT(Run().times[launch].end_ns, 1000);
  interference_.other_computers = {ComputerOfTask(2, 1)};
  EXPECT_EQ(Run().times[launch].end_ns, 1000);
}

// The driver of task 1 is woken at 100 with a launch of 600 left in task 2, on one core of two.
TEST_F(StepsOfThree, DriversWaitForCoresOfTheirOwn) {
  gaps_.handoff_ns[0][0] = 10;
  interference_.host = {.cores = 2, .slice_ns = 5000};
  const CommandId first = maker_.Launch(Host(0), 100);
  maker_.Launch(Host(2), 700);
  const CommandId woken = maker_.Launch(Host(1), 50, {first});
  EXPECT_EQ(Run().times[woken].start_ns, 410);
  interference_.other_computers = {ComputerOfTask(2, 2)};
  EXPECT_EQ(Run().times[woken].start_ns, 110);
}

// Law: GPUs of one number on two computers are two.
TEST_F(StepsOfThree, PartsOfAGpuShareItWhereItIs) {
  for (int task = 0; task < 2; ++task) {
    machine_.devices[DeviceId(task)].kind = DeviceKind::kLogical;
    machine_.devices[DeviceId(task)].physical = 0;
    maker_.Launch(Host(task), 1000);
  }
  interference_.gpu.slowdown[1][1] = 1.5;
  EXPECT_EQ(Run().step_ns, 1500);
  interference_.other_computers = {ComputerOfTask(1, 1)};
  EXPECT_EQ(Run().step_ns, 1000);
}

// Laws: what was measured, or fitted to that, takes 1 / speed of it on another computer, by the class of its
// work, and is as sure; what the machine's rates or the graph say stays.
TEST(CostsOfComputers, AreOfTheFirstAndScaled) {
  CostTable table;
  for (const int64_t size : {1, 2, 3})
    table.launches.push_back({.signature = "product " + std::to_string(size),
                              .op = "Product",
                              .device = "host 1 worker",
                              .ns = 1000 * size,
                              .spread_ns = 100,
                              .count = 9,
                              .work = {800 * size, 100 * size}});
  table.launches.push_back({"stream", "Stream", "host 1 worker", 600, 60, 9, kStreams});
  Cores cores;
  cores.others = {ComputerOfTask(1, 4, {0.5, 2})};
  table.effects.Put(cores);
  const CalibratedCost costs(table);
  const Machine machine = HostsOfThree();
  const auto launch = [&](int task, const SignedWork& work) {
    return costs.Launch(machine.device(DeviceId(task)), work);
  };
  const SignedWork product{"product 2", "Product", {1600, 200}}, stream{"stream", "Stream", kStreams};
  EXPECT_EQ(launch(0, product).ns, 2000);
  EXPECT_EQ(launch(1, product).ns, 4000);
  EXPECT_EQ(launch(1, product).spread_ns, 200);
  EXPECT_TRUE(launch(1, product).calibrated());
  EXPECT_EQ(launch(2, product).ns, 2000) << "a task that no computer names";
  EXPECT_EQ(launch(1, stream).ns, 300);
  const SignedWork larger{"product 4", "Product", {3200, 400}};
  EXPECT_NEAR(static_cast<double>(launch(0, larger).ns), 4000, 1);
  EXPECT_NEAR(static_cast<double>(launch(1, larger).ns), 8000, 2);
  EXPECT_EQ(launch(1, {"?", "", {}}).ns, kUnknownNs);
  Node told;
  told.op = "Elsewhere";
  told.attrs["_lanescope_cost"] = std::string(R"({"ns": {"CPU": 700}})");
  EXPECT_EQ(costs.Launch(machine, DeviceId(1), told, {}, {}).ns, 700);
}

// Input: a launch that takes 1000 on the first computer and, at half its speed, 2000 on the other. Laws: both
// are samples of 1000; a prediction gives each computer its own time.
TEST(CostsOfComputers, ComeFromLaunchesOfAll) {
  const Machine machine = HostsOfThree();
  ScheduleMaker maker;
  for (int task = 0; task < 2; ++task) maker.Launch(maker.Queue(DeviceId(task)), 0);
  const Schedule schedule = maker.Build();
  const IdVector<CommandId, SignedWork> work = {{"A", "A", kComputes}, {"A", "A", kComputes}};
  std::vector<Event> events;
  for (int step = 0; step < 4; ++step) {
    const int64_t start = 10'000 * step;
    for (int task = 0; task < 2; ++task)
      events.push_back(
          {.start_ns = start, .end_ns = start + 1000 * (1 + task), .command = CommandId(task), .step = step});
    events.push_back({.start_ns = start, .end_ns = start + 2000, .step = step, .kind = EventKind::kStep});
  }
  const CalibrationInput input = SamplesOf(schedule, work, events, machine);
  Interference interference;
  interference.host.cores = 1;
  const auto launch = [&] {
    const CostTable table = FitCosts(input, EffectsOf({}, &interference), machine, "run 1");
    EXPECT_EQ(table.launches.size(), 1U);
    return table.launches.front();
  };
  EXPECT_EQ(launch().ns, 1500) << "of one computer";
  interference.other_computers = {ComputerOfTask(1, 1, {0.5, 1})};
  EXPECT_EQ(launch().ns, 1000);
  EXPECT_EQ(launch().spread_ns, 0);
  const CalibratedCost costs(FitCosts(input, EffectsOf({}, &interference), machine, "run 1"));
  PredictionSettings settings = SettingsOf(costs.table());
  settings.draws = 0;
  const Prediction prediction =
      Predict(schedule, machine, EstimateCommands(schedule, work, machine, costs, settings), settings);
  EXPECT_EQ(prediction.simulation.times[CommandId(0)].end_ns, 1000);
  EXPECT_EQ(prediction.simulation.times[CommandId(1)].end_ns, 2000);
}

}  // namespace
}  // namespace lanescope::sims
