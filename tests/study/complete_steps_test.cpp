// SPDX-License-Identifier: Apache-2.0
// Every command of a step is accounted for, whatever runs the step: an event says when it ran, or it is of a
// kind that takes no time. A step that lacks one would be left out of calibration without a word.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/graph/graph_builder.h"
#include "sims/engine/simulation_model.h"
#include "sims/engine/simulator.h"
#include "sims/steps/measured_steps.h"
#include "study/measure/recorded_run.h"
#include "tests/exec/cuda/stub_harness.h"
#include "tests/traces/sample_run.h"
#include "traces/read/recorded_schedule.h"
#include "traces/read/trace_reader.h"
#include "traces/record/trace_writer.h"

namespace lanescope::study {
namespace {

using exec::test::GpuMachine;

constexpr int kSteps = 6;

// A step with every kind of command: launches that are recorded with others (Square, Mul), that go by
// themselves (Unique, whose result has a shape of its own), that leave their result in the host's memory
// (Cast), that run nothing (NoOp) and that run on the host; copies in, out and between GPUs; and what orders
// streams.
std::unique_ptr<Workload> EveryKind() {
  GraphBuilder builder;
  const auto on = [&](const char* device, const char* op, const char* name, std::vector<Endpoint> inputs) {
    auto node = builder.Op(op, name);
    for (const Endpoint& input : inputs) node.Input(input);
    return node.Device(device).Build();
  };
  const Endpoint x = builder.Placeholder("x", DataType::kFloat, Shape{64});
  const Endpoint square = on("/gpu:0", "Square", "square", {x});
  const Endpoint doubled = on("/gpu:0", "AddV2", "doubled", {square, square});
  const Endpoint unique = on("/gpu:1", "Unique", "unique", {doubled});
  on("/gpu:1", "Neg", "distinct", {unique});
  const Endpoint whole =
      builder.Op("Cast", "whole").Input(doubled).Attr("DstT", DataType::kInt32).Device("/gpu:0").Build();
  const Endpoint counted = on("/gpu:0", "AddV2", "counted", {whole, whole});
  const Endpoint back =
      builder.Op("Cast", "back").Input(counted).Attr("DstT", DataType::kFloat).Device("/gpu:0").Build();
  const Endpoint other = on("/gpu:1", "Sqrt", "other", {doubled});
  const Endpoint product = on("/gpu:0", "Mul", "product", {back, other});
  const Endpoint sum = on("/gpu:0", "AddV2", "sum", {product, doubled});
  const Endpoint host = on("/cpu:0", "Tanh", "host", {sum});
  NodeBuilder done = builder.Op("NoOp", "done");
  done.Device("/gpu:0").ControlInput(other).ControlInput(host);
  // Fewer would be waited for one by one.
  for (int i = 0; i < 8; ++i)
    done.ControlInput(on("/gpu:0", "Neg", ("part" + std::to_string(i)).c_str(), {sum}));
  done.Build();
  RunSpec spec;
  FeedSpec& feed = spec.feeds["x"];
  feed.shape = Shape{64};
  feed.generator = "uniform";
  spec.fetches = {"host", "distinct"};
  spec.targets = {"done"};
  return std::make_unique<Workload>("every-kind", builder.Take(), std::move(spec));
}

// In every step one event of each command that takes time, and none of another.
void ExpectAccountedFor(const Schedule& schedule, std::span<const Event> events, size_t steps) {
  std::map<int, std::map<CommandId, int>> by_step;
  std::set<int> own;
  for (const Event& event : events) {
    if (event.kind == EventKind::kStep) own.insert(event.step);
    if (event.kind == EventKind::kCommand) ++by_step[event.step][event.command];
  }
  EXPECT_EQ(own.size(), steps);
  EXPECT_EQ(by_step.size(), steps);
  for (auto& [step, found] : by_step) {
    for (const CommandId c : schedule.commands.ids()) {
      const bool takes_time = schedule.commands[c].is_work() && !sims::RunsNothing(schedule, c);
      EXPECT_EQ(found[c], takes_time ? 1 : 0) << "command " << c.number() << " in step " << step;
    }
  }
  EXPECT_EQ(sims::GroupSteps(schedule, events, 0).size(), steps);
}

void ExpectEveryKind(const Graph& graph, const Machine& machine, const Schedule& schedule) {
  std::set<CommandKind> kinds;
  std::set<StreamIssue> issues(schedule.issue.begin(), schedule.issue.end());
  for (const Command& command : schedule.commands) kinds.insert(command.kind);
  EXPECT_EQ(kinds.size(), 4u) << "a kind of command does not occur";
  EXPECT_EQ(issues.size(), 4u) << "a way of issuing does not occur in\n"
                               << DumpSchedule(graph, machine, schedule);
}

// Runs the step on the machine and looks at what was kept, and at what a trace says of it.
void ExpectOfRun(const Machine& machine, const exec::DeviceOptions& devices = {}) {
  const traces::ScratchFile file;
  const auto workload = EveryKind();
  traces::TraceWriter writer(file.path());
  RecordedRunOptions options;
  options.settings.devices = devices;
  options.keep_events = true;
  size_t timed = 0;
  {
    RecordedRun run(Place(*workload, "annotated", machine, RooflineCost()), machine, &writer, options);
    run.RunToEnd(1, kSteps);
    writer.Close();
    timed = run.step_ns().size() - run.timing().untimed.size();
    if (machine.device(machine.Gpus()[0]).is_hardware())
      ExpectEveryKind(run.placed().workload->graph(), machine, *run.schedule());
    ExpectAccountedFor(*run.schedule(), run.events(), timed);
  }
  SCOPED_TRACE("as recorded");
  const traces::TraceRun read = traces::TraceReader(file.path()).ReadRun(1);
  const traces::RecordedSchedule recorded = traces::ReadSchedule(read, 0, machine);
  ExpectAccountedFor(recorded.schedule, recorded.events, timed);
}

TEST(CompleteSteps, OnVirtualDevices) { ExpectOfRun(VirtualMachine(2, 1)); }

// Steps are issued, recorded and replayed, on two GPUs and on two parts of one.
TEST(CompleteSteps, OnStreams) {
  for (const std::vector<int>& physical : {std::vector<int>{0, 1}, std::vector<int>{0, 0}}) {
    for (const bool graphs : {true, false}) {
      SCOPED_TRACE(graphs ? "in graphs" : "issued");
      const exec::test::StubGuard stub;
      ExpectOfRun(GpuMachine(physical), {.graphs = graphs});
    }
  }
}

// The simulator has a time for everything; what it publishes are the same events.
TEST(CompleteSteps, InTheSimulator) {
  for (const Machine& machine : {VirtualMachine(2, 1), GpuMachine({0, 1}), GpuMachine({0, 0})}) {
    const auto workload = EveryKind();
    const Schedule schedule = CompileStep(Place(*workload, "annotated", machine, RooflineCost()), machine);
    sims::CommandCosts costs;
    costs.ns.assign(schedule.commands.size(), 1000);
    const sims::SimulationResult result = sims::Simulate(schedule, machine, costs, sims::SimulationModel());
    EXPECT_EQ(result.times.size(), schedule.commands.size());
    ExpectAccountedFor(schedule, sims::EventsOfStep(schedule, result), 1);
  }
}

// Recordings of an H100 and of virtual devices: every step that was recorded is complete.
TEST(CompleteSteps, InRecordings) {
  for (const char* name :
       {"deepconn", "transformer", "h100_cifar10", "h100_deepconn", "h100_gpt", "h100_gpt_singles"}) {
    SCOPED_TRACE(name);
    traces::TraceReader reader(std::string(LANESCOPE_ACCURACY_TRACES) + "/" + name + ".db");
    for (const traces::TraceRunInfo& info : reader.Runs()) {
      if (info.simulated) continue;
      SCOPED_TRACE(info.strategy);
      const traces::TraceRun run = reader.ReadRun(info.id);
      const traces::RecordedSchedule recorded = traces::ReadSchedule(run, 0, ParseMachine(info.machine_json));
      std::set<int> steps;
      for (const Event& event : recorded.events) steps.insert(event.step);
      ASSERT_FALSE(steps.empty());
      ExpectAccountedFor(recorded.schedule, recorded.events, steps.size());
    }
  }
}

}  // namespace
}  // namespace lanescope::study
