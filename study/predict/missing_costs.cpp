// SPDX-License-Identifier: Apache-2.0
#include "study/predict/missing_costs.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "core/base/error.h"
#include "core/graph/graph_builder.h"
#include "core/graph/op.h"
#include "core/graph/signature.h"
#include "sims/cost/cost_model.h"
#include "sims/fit/step_samples.h"
#include "study/measure/recorded_run.h"
#include "study/predict/calibration.h"
#include "study/workload/placing.h"

namespace lanescope::study {
namespace {

constexpr int kUnrecordedSteps = 3, kRecordedSteps = 16;
constexpr size_t kOpsInAGraph = 40;  // so that their inputs fit the device together

// Whether an op can run on tensors that stand in for its inputs.
bool RunsAlone(const Workload& workload, NodeId number) {
  const Node& node = workload.graph().node(number);
  const OpDef* def = OpRegistry::Global().Find(node.op);
  if (def == nullptr || node.inputs.empty()) return false;
  for (const ArgDef& input : def->inputs) {
    if (input.is_ref) return false;
  }
  for (const TensorInfo& input : workload.InputInfos(number)) {
    const bool numbers = input.dtype != DataType::kString && input.dtype != DataType::kResource &&
                         input.dtype != DataType::kVariant && input.dtype != DataType::kInvalid;
    if (!numbers || !input.shape.IsExact()) return false;
  }
  return true;
}

// A graph of ops that have nothing to do with each other, each on its device.
class Bench {
 public:
  Bench(const Workload& workload, const Machine& machine) : workload_(workload), machine_(machine) {}

  void Add(const MissingCost& cost) {
    const Node& from = workload_.graph().node(cost.node);
    const std::string name = fmt::format("op{}", count_++);
    NodeBuilder node = builder_.Op(from.op, name);
    int number = 0;
    for (const TensorInfo& input : workload_.InputInfos(cost.node))
      node.Input(StandIn(fmt::format("{}_in{}", name, number++), input, cost.device));
    for (const auto& [attr, value] : from.attrs) {
      if (!attr.starts_with('_')) node.Attr(attr, value);
    }
    On(node.Build(), cost.device);
    step_.targets.push_back(name);
  }

  sims::CalibrationInput Measure(Cancellation* cancellation) {
    const Workload measured("microbenchmarks", builder_.Take(), std::move(step_));
    RecordedRunOptions options;
    options.keep_events = true;
    options.cancellation = cancellation;
    RecordedRun run({&measured, "single", std::move(placement_)}, machine_, nullptr, options);
    run.RunToEnd(kUnrecordedSteps, kRecordedSteps);
    return SamplesOf(run, machine_, run.Undisturbed());
  }

 private:
  Endpoint On(Endpoint node, DeviceId device) {
    placement_.device.resize(builder_.graph().num_nodes(), machine_.host());
    placement_.device[node.node] = device;
    return node;
  }
  // A constant keeps its value, which the op's signature tells.
  Endpoint StandIn(const std::string& name, const TensorInfo& input, DeviceId device) {
    if (input.value != nullptr) return On(builder_.Const(name, *input.value), device);
    FeedSpec& feed = step_.feeds[name];
    feed.dtype = input.dtype;
    feed.shape = input.shape;
    if (input.dtype == DataType::kFloat) {
      feed.generator = "uniform";
      feed.has_seed = true;
    } else {
      feed.values = Tensor(input.dtype, input.shape);
    }
    return On(builder_.Placeholder(name, input.dtype, input.shape), machine_.host());
  }

  const Workload& workload_;
  const Machine& machine_;
  GraphBuilder builder_;
  Placement placement_;
  RunSpec step_;
  int count_ = 0;
};

// An op whose made-up inputs do not fit it (its sizes go by values that only the whole graph has) makes its
// graph fail: halves of it are then tried, and that op is left.
void MeasureTogether(const Workload& workload, const Machine& machine,
                     std::span<const MissingCost* const> costs, Cancellation* cancellation,
                     MissingMeasurement* measured) {
  try {
    Bench bench(workload, machine);
    for (const MissingCost* cost : costs) bench.Add(*cost);
    sims::CalibrationInput found = bench.Measure(cancellation);
    measured->samples.insert(measured->samples.end(), found.ops.begin(), found.ops.end());
  } catch (const Error& error) {
    if (error.code() == Code::kCancelled) throw;
    if (costs.size() == 1) {
      measured->left.push_back(*costs.front());
      return;
    }
    const size_t half = costs.size() / 2;
    MeasureTogether(workload, machine, costs.first(half), cancellation, measured);
    MeasureTogether(workload, machine, costs.subspan(half), cancellation, measured);
  }
}

}  // namespace

std::vector<MissingCost> FindMissingCosts(const Workload& workload, const Machine& machine,
                                          const sims::CostTable& table) {
  const sims::CalibratedCost costs(table);
  const PlacedGraph placed = Place(workload, "single", machine, costs);
  CompileRequest request = workload.request();
  request.fuse = false;  // a launch of several nodes is known by its nodes
  const Schedule schedule = Compile(workload.graph(), workload.info(), request, placed.placement, machine);
  std::map<std::pair<std::string, std::string>, MissingCost> missing;  // by device and signature
  for (const Command& command : schedule.commands) {
    if (command.kind != CommandKind::kLaunch) continue;
    const DeviceId device = schedule.queues[command.queue].device;
    const Node& node = workload.graph().node(command.node);
    const std::vector<TensorInfo> inputs = workload.InputInfos(command.node);
    const auto outputs = workload.info().outputs(command.node);
    const CostEstimate estimate = costs.Launch(machine, device, node, inputs, outputs);
    if (estimate.calibrated()) continue;
    std::string signature = OpSignature(node, inputs, outputs);
    MissingCost& cost = missing[{sims::CostDevice(machine.device(device)), signature}];
    if (cost.launches++ == 0) {
      cost.node = command.node;
      cost.device = device;
      cost.signature = std::move(signature);
      cost.op = node.op;
      cost.basis = estimate.basis;
    }
    cost.ns += estimate.ns;
  }
  std::vector<MissingCost> found;
  for (auto& [key, cost] : missing) found.push_back(std::move(cost));
  std::stable_sort(found.begin(), found.end(),
                   [](const MissingCost& a, const MissingCost& b) { return a.ns > b.ns; });
  return found;
}

MissingMeasurement MeasureMissing(const Workload& workload, const Machine& machine,
                                  const std::vector<MissingCost>& missing, Cancellation* cancellation) {
  MissingMeasurement measured;
  std::vector<const MissingCost*> alone;
  for (const MissingCost& cost : missing) {
    if (RunsAlone(workload, cost.node)) {
      alone.push_back(&cost);
    } else {
      measured.left.push_back(cost);
    }
  }
  const std::span<const MissingCost* const> all = alone;
  for (size_t first = 0; first < all.size(); first += kOpsInAGraph)
    MeasureTogether(workload, machine, all.subspan(first, std::min(kOpsInAGraph, all.size() - first)),
                    cancellation, &measured);
  return measured;
}

}  // namespace lanescope::study
