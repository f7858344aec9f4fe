// SPDX-License-Identifier: Apache-2.0
// Runs of several tasks: lanes stand below their task.
#include <gtest/gtest.h>

#include <set>

#include "core/machine/tasks.h"
#include "gui/document/document_whatif.h"
#include "gui/model/group_lanes.h"
#include "gui/model/run_builder.h"
#include "gui/model/trace_loader.h"
#include "sims/predict/predict.h"
#include "tests/gui/model/sample_trace.h"
#include "tests/support/paths.h"
#include "tests/traces/sample_run.h"

namespace lanescope::gui {
namespace {

// Gives a measured run in two processes and the simulated one of the same machine.
std::vector<std::shared_ptr<const RunData>> TwoTasks() {
  traces::ScratchFile file;
  traces::SampleRun measured(false), simulated(true);
  measured.SplitIntoTasks();
  simulated.SplitIntoTasks();
  traces::RunOutcome outcome;
  outcome.tasks = traces::SampleRun::Tasks();
  traces::TraceWriter writer(file.path());
  measured.WriteTo(&writer, 2, outcome);
  simulated.WriteTo(&writer, 2);
  writer.Close();
  return LoadTrace(file.path(), nullptr, nullptr);
}

// Law: groups are the tasks in their order, the lanes of each together; a device's are in its task's.
void ExpectLanesByTask(const RunData& run, int tasks) {
  ASSERT_EQ(run.groups.size(), static_cast<size_t>(tasks));
  int before = 0;
  std::set<int> devices;
  for (const Lane& lane : run.lanes) {
    EXPECT_GE(lane.group, before) << lane.label;
    before = lane.group;
    if (lane.role == LaneRole::kLink) continue;
    EXPECT_EQ(lane.group, run.devices[static_cast<size_t>(lane.device)].task) << lane.label;
    devices.insert(lane.device);
  }
  EXPECT_EQ(devices.size(), run.devices.size());
}

// Law: both tasks of a copy between two show it: one in the lane of the device that carries it out, the other
// in that of its link.
void ExpectBothEnds(const RunData& run) {
  int between = 0;
  for (size_t c = 0; c < run.commands.size(); ++c) {
    const RunCommand& command = run.commands[c];
    if (command.kind != CommandKind::kCopy) continue;
    const std::set<int> ends = {run.devices[static_cast<size_t>(command.src)].task,
                                run.devices[static_cast<size_t>(command.dst)].task};
    if (ends.size() < 2) continue;
    ++between;
    std::set<int> shown = {run.lanes[static_cast<size_t>(command.lane)].group};
    for (const Lane& lane : run.lanes) {
      if (lane.role == LaneRole::kLink && std::ranges::count(lane.command, static_cast<int32_t>(c)) > 0)
        shown.insert(lane.group);
    }
    EXPECT_EQ(shown, ends);
  }
  EXPECT_GT(between, 0);
}

TEST(TaskLanes, StandBelowTheirTask) {
  const auto runs = TwoTasks();
  ASSERT_EQ(runs.size(), 2u);
  for (const auto& run : runs) {
    ExpectLanesByTask(*run, 2);
    ExpectBothEnds(*run);
    EXPECT_EQ(run->groups[1].title, "/job:worker/task:1");
    EXPECT_EQ(run->groups[1].kind, LaneGroup::Kind::kTask);
  }
  EXPECT_EQ(runs[0]->groups[0].remark, "rank 0 on a");
  EXPECT_EQ(runs[0]->groups[1].remark, "rank 1 on b, clock within 3.2 us");
  EXPECT_EQ(runs[1]->groups[1].remark, "");
}

// The line of the group says the task; of a link the other task is named in short.
TEST(TaskLanes, AreCalledByTheirDevices) {
  const auto runs = TwoTasks();
  std::set<std::string> labels;
  for (const Lane& lane : runs[0]->lanes) {
    const std::string& device = runs[0]->devices[static_cast<size_t>(lane.device)].label;
    labels.insert(LabelInGroup(*runs[0], lane, lane.role == LaneRole::kLink ? lane.label : device));
  }
  EXPECT_EQ(labels, (std::set<std::string>{"CPU:0", "GPU:0", "CPU:0 → GPU:0", "GPU:0 → worker:1/GPU:0",
                                           "worker:1/GPU:0 → CPU:0"}));
}

// Lanes predicted for an edited placement of the same machine stand as its runs' do.
TEST(TaskLanes, OfWhatIfsAreTheSame) {
  const Machine machine = ReadMachine(lanescope::test::SourceDir() + "/samples/machines/four-tasks.json");
  const auto random = lanescope::test::MakeRandomGraph(5, 40, 0, 64);
  const GraphInfo info = InferGraph(random.graph, {});
  const RooflineCost costs;
  const Placement placement =
      PlaceByStrategy("alternating", {random.graph, info, machine, costs, PlacerOptions()});
  const Schedule schedule = Compile(
      random.graph, info, lanescope::test::RequestFor(random.graph, random.fetches, {}), placement, machine);
  sims::PredictionSettings settings;
  settings.draws = 0;
  const sims::Prediction prediction = sims::Predict(random.graph, info, schedule, machine, costs, settings);
  std::vector<std::pair<int, int>> edges;
  const std::vector<std::string> signatures(random.graph.num_nodes());
  RunData built =
      RunOfSimulation(RunOfGraph(random.graph, signatures), machine, schedule, prediction, &edges);
  const auto run = FinishRun(std::move(built), std::move(edges));
  ExpectLanesByTask(*run, 4);
  ExpectBothEnds(*run);
  for (int task = 0; task < 4; ++task)
    EXPECT_EQ(run->groups[static_cast<size_t>(task)].title,
              TasksOf(machine).names[static_cast<size_t>(task)]);
}

// A machine of one task has no line for it.
TEST(TaskLanes, OfOneTaskAreNotGrouped) {
  const test::SampleTrace trace(20, {"alternating"});
  const auto runs = LoadTrace(trace.file.path(), nullptr, nullptr);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_TRUE(runs[0]->groups.empty());
  for (const Lane& lane : runs[0]->lanes) EXPECT_EQ(lane.group, -1);
}

}  // namespace
}  // namespace lanescope::gui
