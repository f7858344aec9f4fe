#include "gui/document_whatif.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/placer.h"
#include "core/signature.h"
#include "gui/run_builder.h"
#include "sims/device_speed.h"
#include "traces/trace_reader.h"

namespace lanescope::gui {
namespace {

void CheckCancelled(const std::atomic<bool>& cancelled) {
  if (cancelled.load(std::memory_order_relaxed)) Throw(Code::kCancelled, "the simulation is out of date");
}

// The base's costs, from its cache.
class BaseCost : public CostModel {
 public:
  explicit BaseCost(const WhatIfBase& base) : base_(base) {}
  CostEstimate Launch(const Machine&, int device, const Node& node, std::span<const TensorInfo> inputs,
                      std::span<const TensorInfo> outputs) const override {
    return base_.LaunchCost(device, node, inputs, outputs);
  }
  CostEstimate Copy(const Machine& machine, int src, int dst, int64_t bytes) const override {
    return base_.calibration.costs->Copy(machine, src, dst, bytes);
  }

 private:
  const WhatIfBase& base_;
};

// A limit that no plan exceeds, so that a placement that does not fit is simulated all the same.
Machine WithoutLimits(Machine machine) {
  for (DeviceSpec& device : machine.devices) device.memory_bytes = int64_t{1} << 60;
  return machine;
}

Placement PlacementOf(const TraceRun& run, const Graph& graph, const Machine& machine) {
  Placement placement;
  placement.device.assign(static_cast<size_t>(graph.num_nodes()), -1);
  bool priorities = false;
  std::vector<int> priority(static_cast<size_t>(graph.num_nodes()), 0);
  size_t found = 0;
  for (const TraceNode& node : run.nodes) {
    const int id = graph.FindNode(node.name);
    if (id < 0 || graph.node(id).op != node.op) {
      Throw(Code::kInvalidArgument,
            "the graph is not the one that was run: it has no node '{}' of op {}; choose the right file",
            node.name, node.op);
    }
    const TraceDevice* device = run.FindDevice(node.device);
    const int number = device == nullptr ? -1 : machine.FindDevice(device->name);
    if (number < 0) continue;
    if (placement.device[static_cast<size_t>(id)] < 0) ++found;
    placement.device[static_cast<size_t>(id)] = number;
    priority[static_cast<size_t>(id)] = node.priority;
    priorities = priorities || node.priority != 0;
  }
  if (found != static_cast<size_t>(graph.num_nodes())) {
    Throw(Code::kInvalidArgument,
          "the graph is not the one that was run: the trace places {} of its {} nodes", found,
          graph.num_nodes());
  }
  if (priorities) placement.priority = std::move(priority);
  return placement;
}

Schedule CompileEdit(const WhatIfBase& base, const WhatIfEdit& edit) {
  const StepGraph& step = *base.graph;
  return Compile(step.graph, step.info, step.request, edit.placement, WithoutLimits(edit.machine));
}

std::shared_ptr<const RunData> SimulatedRun(const WhatIfBase& base, const WhatIfEdit& edit,
                                            const std::atomic<bool>& cancelled) {
  const Schedule schedule = CompileEdit(base, edit);
  const Prediction prediction = PredictEdit(base, edit, schedule, cancelled);
  CheckCancelled(cancelled);
  std::vector<std::pair<int, int>> edges;
  RunData run =
      RunOfSimulation(base.graph->graph, base.signatures, edit.machine, schedule, prediction, &edges);
  run.graph = base.run->graph;
  run.strategy = base.run->strategy + " (edited)";
  run.emulated = base.run->emulated;
  run.uncalibrated = !base.calibration.calibrated;
  run.prediction_of = base.calibration.note;
  run.title = "what-if: " + (edit.text.empty() ? std::string("as it was") : edit.text);
  return FinishRun(std::move(run), std::move(edges));
}

std::vector<std::string> SignaturesOf(const StepGraph& step) {
  std::vector<std::string> signatures;
  std::vector<TensorInfo> inputs;
  for (int id = 0; id < step.graph.num_nodes(); ++id) {
    const Node& node = step.graph.node(id);
    inputs.clear();
    for (const Endpoint& input : node.inputs) inputs.push_back(step.info.of(input));
    signatures.push_back(OpSignature(node, inputs, step.info.outputs(id)));
  }
  return signatures;
}

std::string Plural(size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

CostEstimate WhatIfBase::LaunchCost(int device, const Node& node, std::span<const TensorInfo> inputs,
                                    std::span<const TensorInfo> outputs) const {
  const auto id = static_cast<uint64_t>(&node - graph->graph.nodes().data());
  const uint64_t key = id << 16 | static_cast<uint64_t>(device);
  {
    std::lock_guard lock(mutex_);
    const auto found = known_.find(key);
    if (found != known_.end()) return found->second;
  }
  const CostEstimate estimate = calibration.costs->Launch(start.machine, device, node, inputs, outputs);
  std::lock_guard lock(mutex_);
  known_.emplace(key, estimate);
  return estimate;
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
  base->graph = ReadStepGraph(path);
  CheckCancelled(cancelled);
  base->start.machine = ParseMachine(run.machine_json);
  base->start.speed.assign(static_cast<size_t>(base->start.machine.num_devices()), 1.0);
  TraceReader reader(run.file);
  base->start.placement = PlacementOf(reader.ReadOutline(run.id), base->graph->graph, base->start.machine);
  base->groups = ColocationGroups(base->graph->graph);
  base->signatures = SignaturesOf(*base->graph);
  base->calibration = CalibrateFromTrace(run.file, run.graph, run.id, run.machine_json, cancelled);
  base->settings = SettingsOf(base->calibration.costs->table());
  base->start_run = SimulatedRun(*base, base->start, cancelled);
  base->start_step_ns = base->start_run->step_ns;
  return base;
}

Prediction PredictEdit(const WhatIfBase& base, const WhatIfEdit& edit, const Schedule& schedule,
                       const std::atomic<bool>& cancelled, int draws) {
  CheckCancelled(cancelled);
  PredictionSettings settings = base.settings;
  settings.draws = draws;
  settings.cancelled = &cancelled;
  const BaseCost measured(base);
  const CostAtSpeed costs(measured, base.start.machine, edit.speed);
  return Predict(base.graph->graph, base.graph->info, schedule, MachineOf(edit), costs, settings);
}

SimulateResult SimulateEdit(const SimulateRequest& request, const std::atomic<bool>& cancelled) {
  SimulateResult result;
  result.run = SimulatedRun(*request.base, *request.edit, cancelled);
  result.edit = request.edit;
  result.number = request.number;
  const auto took = std::chrono::steady_clock::now() - request.asked;
  result.took_ms = std::chrono::duration<double, std::milli>(took).count();
  return result;
}

SimulateResult AddInterval(const IntervalRequest& request, const std::atomic<bool>& cancelled) {
  const WhatIfBase& base = *request.of.base;
  const WhatIfEdit& edit = *request.of.edit;
  const Schedule schedule = CompileEdit(base, edit);
  const Prediction prediction = PredictEdit(base, edit, schedule, cancelled, PredictionSettings().draws);
  auto run = std::make_shared<RunData>(*request.run);
  run->step_low_ns = prediction.low_ns;
  run->step_high_ns = prediction.high_ns;
  return {std::move(run), request.of.edit, request.of.number, 0};
}

std::shared_ptr<const WhatIfEdit> MoveNodes(const WhatIfBase& base, const WhatIfEdit& from,
                                            const std::vector<int>& nodes, int device, std::string* note) {
  const Graph& graph = base.graph->graph;
  std::vector<char> wanted(base.groups.size(), 0);  // by group
  for (const int node : nodes) wanted[static_cast<size_t>(base.groups[static_cast<size_t>(node)])] = 1;
  std::vector<char> refused(base.groups.size(), 0);
  int example = -1;
  std::vector<int> members;
  for (int id = 0; id < graph.num_nodes(); ++id) {
    const auto group = static_cast<size_t>(base.groups[static_cast<size_t>(id)]);
    if (!wanted[group]) continue;
    members.push_back(id);
    const auto feasible = FeasibleDevices(graph.node(id), from.machine, KernelTable::Global());
    if (std::find(feasible.begin(), feasible.end(), device) != feasible.end()) continue;
    refused[group] = 1;
    if (example < 0) example = id;
  }
  auto edit = std::make_shared<WhatIfEdit>(from);
  size_t moved = 0, stay = 0;
  for (const int id : members) {
    if (refused[static_cast<size_t>(base.groups[static_cast<size_t>(id)])]) {
      ++stay;
      continue;
    }
    int& at = edit->placement.device[static_cast<size_t>(id)];
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
  edit->text = fmt::format("move {} to {}",
                           moved == 1 ? graph.node(members.front()).name : Plural(moved, "op"), label);
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
  edit->text = fmt::format("{} to {} at {}", from.machine.device(spec.a).local_name(),
                           from.machine.device(spec.b).local_name(), FormatBandwidth(bytes_per_second));
  return edit;
}

std::shared_ptr<const WhatIfEdit> SetSpeed(const WhatIfEdit& from, int device, double speed) {
  if (device < 0 || device >= from.machine.num_devices())
    Throw(Code::kInvalidArgument, "the machine has no device {}", device);
  RequireSpeed(speed);
  auto edit = std::make_shared<WhatIfEdit>(from);
  edit->speed[static_cast<size_t>(device)] = speed;
  edit->gesture = fmt::format("speed {}", device);
  edit->text = fmt::format("{} at {:.2f} times its speed", from.machine.device(device).local_name(), speed);
  return edit;
}

Machine MachineOf(const WhatIfEdit& edit) { return AtSpeed(edit.machine, edit.speed); }

}  // namespace lanescope::gui
