// SPDX-License-Identifier: Apache-2.0
#include "gui/document/document.h"

#include <gtest/gtest.h>

#include <atomic>
#include <fstream>

#include "core/base/error.h"
#include "core/base/units.h"
#include "gui/model/what_if_effect.h"
#include "sims/cost/cost_model.h"
#include "study/predict/calibration.h"
#include "tests/gui/model/sample_trace.h"
#include "traces/read/trace_reader.h"

namespace lanescope::gui {
namespace {

using test::PollUntil;
using test::SampleTrace;

bool Open(Document* document, const std::string& path) {
  document->Open(path);
  return PollUntil(document, [&] { return !document->loading(); });
}

bool Settle(Document* document) {
  return PollUntil(document, [&] {
    const WhatIfView& view = document->what_if();
    return !view.preparing && !view.simulating && !view.measuring;
  });
}

// The names of `count` ops that a launch of the run belongs to and that may go to a GPU.
std::vector<std::string> SomeOps(const RunData& run, size_t count) {
  std::vector<std::string> names;
  for (const RunCommand& command : run.commands) {
    if (command.kind != CommandKind::kLaunch || names.size() == count) continue;
    const OpEntry& op = run.ops[static_cast<size_t>(command.op)];
    if (op.op == "Mul" || op.op == "AddV2" || op.op == "Minimum") names.push_back(op.name);
  }
  return names;
}

// Computes what `simulate --strategy @placement.json --machine machine.json` does with the trace's costs.
int64_t StepBySimulate(const SampleTrace& sample, const std::string& placement_path,
                       const std::string& machine_path) {
  const Machine machine = ReadMachine(machine_path);
  const RooflineCost blind;
  const StrategyInput input{sample.graph, sample.info, machine, blind, PlacerOptions()};
  const Placement placement = PlaceByStrategy("@" + placement_path, input);
  const std::atomic<bool> never{false};
  const sims::CostTable table =
      study::CalibrateFromTrace(sample.file.path(), "random.pbtxt", 1, "", never).table;
  const sims::PredictionSettings settings = sims::SettingsOf(table);
  const Schedule schedule = Compile(sample.graph, sample.info, sample.request, placement, machine);
  return sims::Predict(sample.graph, sample.info, schedule, machine, sims::CalibratedCost(table), settings)
      .step_ns;
}

TEST(DocumentTest, OpensRunsAndClosesThem) {
  SampleTrace sample(40, {"single", "alternating"});
  std::atomic<int> woken{0};
  Document document([&] { ++woken; });
  ASSERT_TRUE(Open(&document, sample.file.path()));
  ASSERT_EQ(document.files().size(), 1u);
  EXPECT_EQ(document.files()[0].state.phase, LoadState::Phase::kDone);
  ASSERT_EQ(document.timeline().runs().size(), 2u);
  EXPECT_GT(woken, 0);
  const RunData& run = *document.timeline().runs()[1].data;
  EXPECT_EQ(run.kind, RunKind::kEmulated);
  EXPECT_EQ(run.title, "2: random alternating");
  EXPECT_EQ(run.steps.size(), 3u);
  traces::TraceReader reader(sample.file.path());
  const traces::TraceRun whole = reader.ReadRun(2);
  EXPECT_EQ(run.num_slices, static_cast<int64_t>(whole.launches.size() + whole.copies.size()));
  const auto change = document.timeline().ChangeAgainstBaseline(document.timeline().runs()[1].key);
  ASSERT_TRUE(change.has_value());
  // Opening it again keeps the runs' keys.
  const RunKey key = document.timeline().runs()[0].key;
  ASSERT_TRUE(Open(&document, sample.file.path()));
  EXPECT_EQ(document.timeline().runs()[0].key, key);
  document.CloseFile(sample.file.path());
  EXPECT_TRUE(document.timeline().runs().empty());
}

TEST(DocumentTest, PredictedChangeEqualsSimulate) {
  SampleTrace sample(60, {"single", "alternating"});
  Document document;
  ASSERT_TRUE(Open(&document, sample.file.path()));
  const RunKey base = document.timeline().runs()[0].key;
  const std::vector<std::string> ops = SomeOps(*document.timeline().runs()[0].data, 7);
  document.MoveOps(base, ops, "GPU:1");
  ASSERT_TRUE(Settle(&document));
  const WhatIfView& view = document.what_if();
  EXPECT_EQ(view.problem, "");
  EXPECT_EQ(view.moved_ops, 7);
  EXPECT_EQ(view.note, "calibrated on runs 1, 2; without interference");
  ASSERT_NE(view.result, 0u);
  const ShownRun* result = document.timeline().Find(view.result);
  EXPECT_EQ(result->data->kind, RunKind::kWhatIf);
  EXPECT_EQ(result->data->step_ns, view.step_ns);
  EXPECT_EQ(document.DeviceOfNode(ops[0]), "GPU:1");
  const std::string placement = (sample.file.folder() / "placement.json").string();
  const std::string machine = (sample.file.folder() / "machine.json").string();
  document.SavePlacement(placement);
  document.SaveMachine(machine);
  EXPECT_EQ(view.step_ns, StepBySimulate(sample, placement, machine));
  document.SetLinkBandwidth(base, 0, document.what_if().links[0].bandwidth / 10);
  ASSERT_TRUE(Settle(&document));
  EXPECT_TRUE(view.machine_changed);
  document.SavePlacement(placement);
  document.SaveMachine(machine);
  EXPECT_EQ(view.step_ns, StepBySimulate(sample, placement, machine));
  EXPECT_EQ(view.base_step_ns,
            document.timeline().runs()[0].data->kind == RunKind::kEmulated ? view.base_step_ns : 0);
}

TEST(DocumentTest, SpeedScalesLaunches) {
  SampleTrace sample(60, {"single"});
  Document document;
  ASSERT_TRUE(Open(&document, sample.file.path()));
  const RunKey base = document.timeline().runs()[0].key;
  document.BeginWhatIf(base);
  ASSERT_TRUE(Settle(&document));
  int gpu = -1;
  for (size_t d = 0; d < document.what_if().devices.size(); ++d) {
    if (document.what_if().devices[d].label == "GPU:0") gpu = static_cast<int>(d);
  }
  document.SetDeviceSpeed(base, DeviceId(gpu), 4);
  ASSERT_TRUE(Settle(&document));
  EXPECT_LT(document.what_if().step_ns, document.what_if().base_step_ns);
  EXPECT_LT(document.what_if().change(), 0);
  document.SetDeviceSpeed(base, DeviceId(gpu), 1e9);
  EXPECT_NE(document.what_if().problem, "");
}

// Input: two ops moved, then a link, then a device changed; all undone. Law: the title names all of it, in
// this order; the effect is against the prediction without it, and the model's bias against the measurement.
TEST(DocumentTest, ATitleNamesEveryChangeAndItsEffectIsThePredictions) {
  SampleTrace sample(60, {"single"});
  Document document;
  ASSERT_TRUE(Open(&document, sample.file.path()));
  const ShownRun base = document.timeline().runs()[0];
  document.MoveOps(base.key, SomeOps(*base.data, 2), "GPU:1");
  ASSERT_TRUE(Settle(&document));
  const WhatIfView& view = document.what_if();
  ASSERT_EQ(view.problem, "");
  const auto result = [&] { return document.timeline().Find(view.result)->data; };
  EXPECT_EQ(result()->title, "what-if: 2 ops to GPU:1");
  const std::string link = view.links[0].label;
  document.SetLinkBandwidth(base.key, 0, 2e9);
  document.SetDeviceSpeed(base.key, DeviceId(0), 2);
  ASSERT_TRUE(Settle(&document));
  const size_t arrow = link.find(" ↔ ");
  EXPECT_EQ(result()->title, "what-if: 2 ops to GPU:1, " + link.substr(0, arrow) + " to " +
                                 link.substr(arrow + std::string(" ↔ ").size()) + " at " +
                                 FormatBandwidth(2e9) + ", " + view.devices[0].label +
                                 " at 2.00 times its speed");
  const auto effect = EffectOf(*result());
  ASSERT_TRUE(effect && effect->bias);
  EXPECT_EQ(effect->change, view.change());
  EXPECT_EQ(*effect->bias,
            static_cast<double>(view.base_step_ns) / static_cast<double>(base.data->step_ns) - 1);
  for (int i = 0; i < 3; ++i) document.Undo();
  ASSERT_TRUE(Settle(&document));
  EXPECT_EQ(result()->title, "what-if: as it was");
  EXPECT_EQ(EffectOf(*result())->change, 0);
}

// Input: launches shared, undone, and done again. Laws: the step has fewer commands; it is an
// edit like others, and what it is called is said.
TEST(DocumentTest, SharingLaunchesIsAnEdit) {
  SampleTrace sample(200, {"single"});
  Document document;
  ASSERT_TRUE(Open(&document, sample.file.path()));
  const RunKey base = document.timeline().runs()[0].key;
  document.SetFusion(base, true);
  ASSERT_TRUE(Settle(&document));
  const WhatIfView& view = document.what_if();
  ASSERT_EQ(view.problem, "");
  EXPECT_TRUE(view.fused && view.fusion_changed);
  EXPECT_EQ(view.undo_text, "nodes share launches");
  EXPECT_EQ(document.timeline().Find(view.result)->data->title, "what-if: nodes share launches");
  const auto commands = [&] { return document.timeline().Find(view.result)->data->commands.size(); };
  const int64_t shared = view.step_ns;
  const size_t few = commands();
  document.Undo();
  ASSERT_TRUE(Settle(&document));
  EXPECT_EQ(view.step_ns, view.base_step_ns);
  EXPECT_FALSE(view.fused);
  EXPECT_GT(commands(), few);
  document.Redo();
  ASSERT_TRUE(Settle(&document));
  EXPECT_EQ(view.step_ns, shared);
  EXPECT_EQ(commands(), few);
}

// Input: a slider that passes through three speeds, let go, and moved again. Law: one undo for each drag.
TEST(DocumentTest, OneDragIsOneUndo) {
  SampleTrace sample(60, {"single"});
  Document document;
  ASSERT_TRUE(Open(&document, sample.file.path()));
  const RunKey base = document.timeline().runs()[0].key;
  document.BeginWhatIf(base);
  ASSERT_TRUE(Settle(&document));
  for (const double speed : {2.0, 3.0, 4.0}) document.SetDeviceSpeed(base, DeviceId(1), speed);
  document.EndGesture();
  document.SetDeviceSpeed(base, DeviceId(1), 5);
  document.SetDeviceSpeed(base, DeviceId(2), 5);
  EXPECT_EQ(document.what_if().devices[1].speed, 5);
  document.Undo();
  EXPECT_EQ(document.what_if().devices[2].speed, 1);
  document.Undo();
  EXPECT_EQ(document.what_if().devices[1].speed, 4);
  document.Undo();
  EXPECT_EQ(document.what_if().devices[1].speed, 1);
  EXPECT_FALSE(document.what_if().can_undo);
}

// Input: an edit that was simulated. Law: its interval follows and holds the value.
TEST(DocumentTest, TheIntervalFollowsTheValue) {
  SampleTrace sample(60, {"single"});
  Document document;
  ASSERT_TRUE(Open(&document, sample.file.path()));
  const RunKey base = document.timeline().runs()[0].key;
  document.MoveOps(base, SomeOps(*document.timeline().runs()[0].data, 3), "GPU:1");
  ASSERT_TRUE(PollUntil(&document, [&] { return !document.busy(); }));
  const WhatIfView& view = document.what_if();
  EXPECT_GT(view.step_low_ns, 0);
  EXPECT_LE(view.step_low_ns, view.step_ns);
  EXPECT_GE(view.step_high_ns, view.step_ns);
  EXPECT_EQ(document.timeline().Find(view.result)->data->step_high_ns, view.step_high_ns);
}

TEST(DocumentTest, UndoAndRedoGoThroughEveryState) {
  SampleTrace sample(60, {"single", "alternating"});
  Document document;
  ASSERT_TRUE(Open(&document, sample.file.path()));
  const RunKey base = document.timeline().runs()[0].key;
  const std::vector<std::string> ops = SomeOps(*document.timeline().runs()[0].data, 5);
  std::vector<std::pair<int, int64_t>> states;  // moved ops, step
  document.BeginWhatIf(base);
  ASSERT_TRUE(Settle(&document));
  states.emplace_back(0, document.what_if().step_ns);
  for (const std::string& op : ops) {
    document.MoveOps(base, {op}, "GPU:1");
    ASSERT_TRUE(Settle(&document));
    states.emplace_back(document.what_if().moved_ops, document.what_if().step_ns);
  }
  EXPECT_FALSE(document.what_if().can_redo);
  for (size_t i = states.size() - 1; i-- > 0;) {
    EXPECT_TRUE(document.what_if().can_undo);
    document.Undo();
    ASSERT_TRUE(Settle(&document));
    EXPECT_EQ(std::pair(document.what_if().moved_ops, document.what_if().step_ns), states[i]);
  }
  EXPECT_FALSE(document.what_if().can_undo);
  document.Undo();
  for (size_t i = 1; i < states.size(); ++i) {
    document.Redo();
    ASSERT_TRUE(Settle(&document));
    EXPECT_EQ(std::pair(document.what_if().moved_ops, document.what_if().step_ns), states[i]);
  }
  // A new edit after an undo forgets what was undone.
  document.Undo();
  document.MoveOps(base, {ops[4]}, "CPU:0");
  ASSERT_TRUE(Settle(&document));
  EXPECT_FALSE(document.what_if().can_redo);
}

TEST(DocumentTest, OnlyTheLatestEditCounts) {
  SampleTrace sample(200, {"single"});
  Document document;
  ASSERT_TRUE(Open(&document, sample.file.path()));
  const RunKey base = document.timeline().runs()[0].key;
  const std::vector<std::string> ops = SomeOps(*document.timeline().runs()[0].data, 40);
  for (const std::string& op : ops) {
    document.MoveOps(base, {op}, "GPU:1");
    document.Poll();
  }
  ASSERT_TRUE(Settle(&document));
  const WhatIfView& view = document.what_if();
  EXPECT_EQ(view.moved_ops, static_cast<int>(ops.size()));
  EXPECT_EQ(view.simulated_edit, view.edit);
  EXPECT_EQ(document.timeline().runs().size(), 2u);
  const RunData& result = *document.timeline().Find(view.result)->data;
  for (const RunCommand& command : result.commands) {
    if (command.kind != CommandKind::kLaunch) continue;
    const std::string& name = result.ops[static_cast<size_t>(command.op)].name;
    EXPECT_EQ(result.devices[static_cast<size_t>(command.device)].label, document.DeviceOfNode(name));
  }
  document.KeepResult();
  document.MoveOps(base, {ops[0]}, "GPU:0");
  ASSERT_TRUE(Settle(&document));
  EXPECT_EQ(document.timeline().runs().size(), 3u);
}

TEST(DocumentTest, RefusedEditsSayWhyAndChangeNothing) {
  SampleTrace sample(40, {"single"});
  Document document;
  ASSERT_TRUE(Open(&document, sample.file.path()));
  const RunKey base = document.timeline().runs()[0].key;
  document.MoveOps(base, {"no such op"}, "GPU:1");
  ASSERT_TRUE(Settle(&document));
  EXPECT_NE(document.what_if().problem, "");
  document.MoveOps(base, {"op0"}, "GPU:7");
  EXPECT_NE(document.what_if().problem, "");
  document.MoveScope(base, "no scope", "GPU:1");
  EXPECT_NE(document.what_if().problem, "");
  EXPECT_FALSE(document.what_if().can_undo);
  document.MoveScope(base, "op3", "GPU:1");
  ASSERT_TRUE(Settle(&document));
  EXPECT_EQ(document.what_if().problem, "");
  EXPECT_GE(document.what_if().moved_ops, 2);
}

TEST(DocumentTest, SaysWhyThereIsNoWhatIf) {
  SampleTrace sample(40, {"single"});
  std::filesystem::remove(sample.graph_path);
  Document document;
  ASSERT_TRUE(Open(&document, sample.file.path()));
  const RunKey base = document.timeline().runs()[0].key;
  document.BeginWhatIf(base);
  ASSERT_TRUE(Settle(&document));
  EXPECT_NE(document.what_if().problem.find("random.pbtxt"), std::string::npos);
  // Another graph is told apart.
  const std::string other = (sample.file.folder() / "other.pbtxt").string();
  WriteGraph(lanescope::test::MakeRandomGraph(77, 55, 0).graph, other);
  document.UseGraph(base, other);
  ASSERT_TRUE(Settle(&document));
  EXPECT_NE(document.what_if().problem, "");
  WriteGraph(sample.graph, other);
  WriteFile((sample.file.folder() / "other.run.json").string(),
            ReadFile((sample.file.folder() / "random.run.json").string()));
  document.UseGraph(base, other);
  ASSERT_TRUE(Settle(&document));
  EXPECT_EQ(document.what_if().problem, "");
  EXPECT_GT(document.what_if().base_step_ns, 0);
}

TEST(DocumentTest, RunsTheEditedPlacement) {
  SampleTrace sample(40, {"single"});
  Document document;
  ASSERT_TRUE(Open(&document, sample.file.path()));
  const RunKey base = document.timeline().runs()[0].key;
  document.MoveOps(base, SomeOps(*document.timeline().runs()[0].data, 3), "GPU:1");
  ASSERT_TRUE(Settle(&document));
  MeasureOptions options;
  options.warmup = 1;
  options.steps = 4;
  document.RunIt(options);
  EXPECT_TRUE(document.what_if().measuring);
  ASSERT_TRUE(Settle(&document));
  ASSERT_TRUE(PollUntil(&document, [&] { return !document.loading(); }));
  EXPECT_EQ(document.what_if().problem, "");
  traces::TraceReader reader(sample.file.path());
  const auto runs = reader.Runs();
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_TRUE(runs[1].simulated);
  EXPECT_FALSE(runs[2].simulated);
  EXPECT_EQ(runs[2].steps, 4);
  EXPECT_TRUE(runs[2].complete);
  EXPECT_EQ(runs[2].strategy, "single (edited)");
  // Base, what-if, prediction and measurement.
  EXPECT_EQ(document.timeline().runs().size(), 4u);
  EXPECT_EQ(document.timeline().runs()[1].data->kind, RunKind::kWhatIf);
  // The measurement stands below the prediction.
  EXPECT_EQ(document.timeline().runs()[2].data->id, 3);
  EXPECT_EQ(document.what_if().measured, document.timeline().runs()[2].key);
}

TEST(DocumentTest, ClosesInTheMiddleOfEverything) {
  SampleTrace sample(300, {"single", "alternating"});
  for (int i = 0; i < 5; ++i) {
    Document document;
    document.Open(sample.file.path());
    if (i == 0) continue;
    ASSERT_TRUE(PollUntil(&document, [&] { return !document.loading(); }));
    const RunKey base = document.timeline().runs()[0].key;
    document.MoveScope(base, "op10", "GPU:1");
    if (i == 1) continue;
    ASSERT_TRUE(PollUntil(&document, [&] { return !document.what_if().preparing; }));
    document.MoveScope(base, "op11", "GPU:1");
    if (i == 3) document.RunIt({});
    if (i == 4) document.CloseFile(sample.file.path());
  }
}

}  // namespace
}  // namespace lanescope::gui
