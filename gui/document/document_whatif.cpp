// SPDX-License-Identifier: Apache-2.0
#include "gui/document/document_whatif.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/graph/signature.h"
#include "core/place/kernel_table.h"
#include "core/place/placer.h"
#include "core/schedule/fusion.h"
#include "gui/document/cancelled.h"
#include "gui/document/changes_text.h"
#include "gui/document/find_graph.h"
#include "gui/model/run_builder.h"
#include "study/predict/calibration.h"
#include "traces/read/trace_reader.h"

namespace lanescope::gui {
namespace {

// A limit that no plan exceeds, so that a placement that does not fit is simulated all the same.
Machine WithoutLimits(Machine machine) {
  for (DeviceSpec& device : machine.devices) device.memory_bytes = int64_t{1} << 60;
  return machine;
}

Placement PlacementOf(const traces::TraceRun& run, const Graph& graph, const Machine& machine) {
  Placement placement;
  placement.device.assign(graph.num_nodes(), DeviceId());
  bool priorities = false;
  IdVector<NodeId, int> priority(graph.num_nodes(), 0);
  size_t found = 0;
  for (const traces::TraceNode& node : run.nodes) {
    const NodeId id = graph.FindNode(node.name);
    if (!id.exists() || graph.node(id).op != node.op) {
      Throw(Code::kInvalidArgument,
            "the graph is not the one that was run: it has no node '{}' of op {}; choose the right file",
            node.name, node.op);
    }
    const traces::TraceDevice* device = run.FindDevice(node.device);
    const DeviceId number = device == nullptr ? DeviceId() : machine.FindDevice(device->name);
    if (!number.exists()) continue;
    if (!placement.device[id].exists()) ++found;
    placement.device[id] = number;
    priority[id] = node.priority;
    priorities = priorities || node.priority != 0;
  }
  if (found != graph.num_nodes()) {
    Throw(Code::kInvalidArgument,
          "the graph is not the one that was run: the trace places {} of its {} nodes", found,
          graph.num_nodes());
  }
  if (priorities) placement.priority = std::move(priority);
  return placement;
}

std::shared_ptr<const CompiledEdit> Compiled(const WhatIfBase& base, const WhatIfEdit& edit,
                                             const std::atomic<bool>& cancelled) {
  auto compiled = std::make_shared<CompiledEdit>();
  compiled->schedule = CompileStep(PlacedEdit(base, edit), WithoutLimits(edit.machine));
  CheckCancelled(cancelled, "the simulation");
  compiled->estimates = PredictorOf(base, edit).Estimate(*base.workload, compiled->schedule);
  CheckCancelled(cancelled, "the simulation");
  return compiled;
}

// The path of the step is found when it is shown (FindShownPath).
sims::Prediction Predict(const WhatIfBase& base, const WhatIfEdit& edit, const CompiledEdit& compiled,
                         study::PredictOptions options) {
  options.finds_path = false;
  sims::Prediction prediction =
      PredictorOf(base, edit).PredictFrom(compiled.estimates, *base.workload, compiled.schedule, options);
  CheckCancelled(*options.cancelled, "the simulation");
  return prediction;
}

SimulatedStep Simulated(const WhatIfBase& base, const WhatIfEdit& edit, const std::atomic<bool>& cancelled) {
  SimulatedStep step;
  step.compiled = Compiled(base, edit, cancelled);
  step.prediction = std::make_shared<const sims::Prediction>(
      Predict(base, edit, *step.compiled, {.draws = 0, .cancelled = &cancelled}));
  return step;
}

std::shared_ptr<const RunData> SimulatedRun(const WhatIfBase& base, const WhatIfEdit& edit,
                                            const SimulatedStep& step, const std::atomic<bool>& cancelled) {
  const sims::Prediction& prediction = *step.prediction;
  std::vector<std::pair<int, int>> edges;
  RunData run = RunOfSimulation(base.run_of_graph, edit.machine, step.compiled->schedule, prediction, &edges);
  CheckCancelled(cancelled, "the simulation");
  run.graph = base.run->graph;
  run.strategy = base.run->strategy + " (edited)";
  run.emulated = base.run->emulated;
  run.uncalibrated = base.predictor->table() == nullptr;
  run.prediction_of = base.note;
  run.title = "what-if: " + ChangesText(base.graph(), base.start, edit);
  run.unchanged_step_ns = base.start_step_ns > 0 ? base.start_step_ns : prediction.step_ns;
  const RunKind kind = base.run->kind;
  if (kind == RunKind::kHardware || kind == RunKind::kEmulated) run.measured_step_ns = base.run->step_ns;
  return FinishRun(std::move(run), std::move(edges));
}

std::shared_ptr<const study::Workload> ReadWorkload(const std::string& path, const Machine& machine,
                                                    bool fuse) {
  study::WorkloadOptions options;
  options.unconfigured = study::Unconfigured::kWholeGraph;
  options.machine = &machine;
  options.fuse = fuse;
  return std::make_shared<const study::Workload>(path, options);
}

std::vector<std::string> SignaturesOf(const study::Workload& workload) {
  std::vector<std::string> signatures;
  for (const NodeId id : workload.graph().node_ids()) {
    signatures.push_back(
        OpSignature(workload.graph().node(id), workload.InputInfos(id), workload.info().outputs(id)));
  }
  return signatures;
}

// Calibrates on the trace of the run, as far as it goes.
void TakeCosts(const RunData& run, const std::atomic<bool>& cancelled, WhatIfBase* base) {
  study::TraceCalibration calibration =
      study::CalibrateFromTrace(run.file, run.graph, run.id, run.machine_json, cancelled);
  if (calibration.calibrated) {
    base->predictor.emplace(base->start.machine, std::move(calibration.table));
    base->note = base->predictor->origin();
  } else {
    base->predictor.emplace(base->start.machine);
    base->note = fmt::format("uncalibrated: the trace has no measured run of {}", run.graph);
  }
  base->predictor->RememberLaunches(base->graph());
}

std::string Plural(size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

const study::Workload& FusedWorkload::Get() const {
  std::call_once(read_, [this] { workload_ = ReadWorkload(path_, machine_, true); });
  return *workload_;
}

study::PlacedGraph PlacedEdit(const WhatIfBase& base, const WhatIfEdit& edit) {
  const bool moved = edit.placement.device != base.start.placement.device;
  return {edit.fused ? &base.fused->Get() : base.workload.get(),
          base.run->strategy + (moved ? " (edited)" : ""), edit.placement};
}

study::Predictor PredictorOf(const WhatIfBase& base, const WhatIfEdit& edit) {
  return base.predictor->At(edit.machine, edit.speed);
}

std::shared_ptr<const WhatIfBase> PrepareWhatIf(const PrepareRequest& request,
                                                const std::atomic<bool>& cancelled) {
  const RunData& run = *request.run;
  if (run.foreign) {
    Throw(Code::kFailedPrecondition, "{} was recorded by another tool and has no graph to place anew",
          run.title);
  }
  if (run.file.empty())
    Throw(Code::kFailedPrecondition, "{} is in no file; edit a run of a trace", run.title);
  if (run.machine_json.empty())
    Throw(Code::kFailedPrecondition, "{} does not say on which machine it ran", run.title);
  std::string path = request.graph_path;
  if (path.empty()) path = FindGraphFile(run.graph, run.file, request.graph_folders);
  if (path.empty()) {
    Throw(Code::kNotFound, "the graph '{}' is not beside the trace nor in samples/graphs; choose its file",
          run.graph);
  }
  auto base = std::make_shared<WhatIfBase>();
  base->run = request.run;
  base->start.machine = ParseMachine(run.machine_json);
  base->workload = ReadWorkload(path, base->start.machine, false);
  base->fused = std::make_shared<const FusedWorkload>(path, base->start.machine);
  base->start.fused = std::ranges::any_of(
      run.signatures, [](const std::string& signature) { return !FusedOpOf(signature).empty(); });
  CheckCancelled(cancelled, "the simulation");
  base->start.speed.assign(base->start.machine.devices.size(), 1.0);
  traces::TraceReader reader(run.file);
  base->start.placement = PlacementOf(reader.ReadOutline(run.id), base->graph(), base->start.machine);
  base->groups = ColocationGroups(base->graph());
  base->run_of_graph = RunOfGraph(base->graph(), SignaturesOf(*base->workload));
  TakeCosts(run, cancelled, base.get());
  const SimulatedStep start = Simulated(*base, base->start, cancelled);
  base->start_compiled = start.compiled;
  base->start_run = SimulatedRun(*base, base->start, start, cancelled);
  base->start_step_ns = base->start_run->step_ns;
  return base;
}

SimulatedStep SimulateEdit(const SimulateRequest& request, const std::atomic<bool>& cancelled) {
  SimulatedStep step = Simulated(*request.base, *request.edit, cancelled);
  step.number = request.number;
  return step;
}

SimulateResult RunOfEdit(const ShowRequest& request, const std::atomic<bool>& cancelled) {
  const SimulatedStep& step = request.step;
  return {SimulatedRun(*request.of.base, *request.of.edit, step, cancelled), step.compiled, step.number};
}

SimulateResult AddInterval(const IntervalRequest& request, const std::atomic<bool>& cancelled) {
  const sims::Prediction prediction =
      Predict(*request.of.base, *request.of.edit, *request.compiled, {.cancelled = &cancelled});
  auto run = std::make_shared<RunData>(*request.run);
  run->step_low_ns = prediction.low_ns;
  run->step_high_ns = prediction.high_ns;
  return {std::move(run), request.compiled, request.of.number};
}

std::shared_ptr<const WhatIfEdit> MoveNodes(const WhatIfBase& base, const WhatIfEdit& from,
                                            const std::vector<NodeId>& nodes, DeviceId device,
                                            std::string* note) {
  const Graph& graph = base.graph();
  IdVector<NodeId, char> wanted(base.groups.size(), 0);  // by group
  for (const NodeId node : nodes) wanted[base.groups[node]] = 1;
  IdVector<NodeId, char> refused(base.groups.size(), 0);
  NodeId example;
  std::vector<NodeId> members;
  for (const NodeId id : graph.node_ids()) {
    const NodeId group = base.groups[id];
    if (!wanted[group]) continue;
    members.push_back(id);
    const auto feasible = FeasibleDevices(graph.node(id), from.machine, KernelTable::Global());
    if (std::find(feasible.begin(), feasible.end(), device) != feasible.end()) continue;
    refused[group] = 1;
    if (!example.exists()) example = id;
  }
  auto edit = std::make_shared<WhatIfEdit>(from);
  size_t moved = 0, stay = 0;
  for (const NodeId id : members) {
    if (refused[base.groups[id]]) {
      ++stay;
      continue;
    }
    DeviceId& at = edit->placement.device[id];
    moved += at != device;
    at = device;
  }
  const std::string label = from.machine.device(device).local_name();
  if (moved == 0 && stay > 0) {
    Throw(Code::kInvalidArgument, "'{}' stays: {} has no kernel for {}", graph.node(example).name, label,
          graph.node(example).op);
  }
  if (moved == 0) Throw(Code::kInvalidArgument, "nothing to move: it is on {} already", label);
  if (stay > 0)
    *note =
        fmt::format("{} stay: {} has no kernel for {}", Plural(stay, "op"), label, graph.node(example).op);
  edit->gesture.clear();
  edit->text = "move " + MoveText(moved, graph.node(members.front()).name, label);
  return edit;
}

std::shared_ptr<const WhatIfEdit> SetBandwidth(const WhatIfBase& base, const WhatIfEdit& from, int link,
                                               double bytes_per_second) {
  if (link < 0 || static_cast<size_t>(link) >= from.machine.links.size()) {
    Throw(Code::kInvalidArgument, "the machine has no link {}", link);
  }
  if (!(bytes_per_second >= 1) || !std::isfinite(bytes_per_second)) {
    Throw(Code::kInvalidArgument, "a link's bandwidth must be positive");
  }
  auto edit = std::make_shared<WhatIfEdit>(from);
  LinkSpec& spec = edit->machine.links[static_cast<size_t>(link)];
  const LinkSpec& before = base.start.machine.links[static_cast<size_t>(link)];
  spec = before;
  spec.bandwidth = bytes_per_second;
  // Measured times hold for the measured bandwidth; what exceeds the latency changes with it.
  const double factor = before.bandwidth / bytes_per_second;
  for (auto& [bytes, ns] : spec.table) {
    const int64_t latency = std::min(ns, before.latency_ns);
    ns = latency + std::llround(static_cast<double>(ns - latency) * factor);
  }
  edit->gesture = fmt::format("link {}", link);
  edit->text = LinkText(from.machine, spec);
  return edit;
}

std::shared_ptr<const WhatIfEdit> SetSpeed(const WhatIfBase& base, const WhatIfEdit& from, DeviceId device,
                                           double speed) {
  if (!from.machine.devices.Contains(device))
    Throw(Code::kInvalidArgument, "the machine has no device {}", device.number());
  auto edit = std::make_shared<WhatIfEdit>(from);
  edit->speed[device] = speed;
  PredictorOf(base, *edit);  // refuses speeds that are none
  edit->gesture = fmt::format("speed {}", device.number());
  edit->text = SpeedText(from.machine.device(device), speed);
  return edit;
}

std::shared_ptr<const WhatIfEdit> SetFusion(const WhatIfEdit& from, bool fused) {
  auto edit = std::make_shared<WhatIfEdit>(from);
  edit->fused = fused;
  edit->gesture.clear();
  edit->text = FusionText(fused);
  return edit;
}

}  // namespace lanescope::gui
