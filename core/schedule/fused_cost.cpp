// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/fused_cost.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/schedule/fusion.h"

namespace lanescope {
namespace {

constexpr size_t kMostOperands = 16;

TensorInfo OperandInfo(const Schedule& schedule, ValueId value) {
  TensorInfo info;
  info.dtype = schedule.values[value].dtype;
  info.shape = schedule.values[value].shape;
  return info;
}

// One tensor for all of a dtype.
std::vector<TensorInfo> GatherByType(const std::vector<TensorInfo>& tensors) {
  std::map<DataType, int64_t> elements;
  for (const TensorInfo& tensor : tensors) {
    if (tensor.shape.IsExact()) elements[tensor.dtype] += tensor.shape.NumElements();
  }
  std::vector<TensorInfo> gathered;
  for (const auto& [dtype, count] : elements) {
    TensorInfo info;
    info.dtype = dtype;
    info.shape = Shape{count};
    gathered.push_back(info);
  }
  return gathered;
}

}  // namespace

FusedDescription DescribeFused(const Graph& graph, const GraphInfo& info, const Schedule& schedule,
                               const Command& command) {
  FusedDescription fused;
  fused.node.name = LaunchName(graph, schedule, command);
  fused.node.op = LaunchOp(graph, schedule, command);
  const auto take = [&](std::span<const ValueId> values, std::vector<TensorInfo>* tensors) {
    for (const ValueId value : values) {
      if (value.exists() && schedule.RootValue(value).storage != Storage::kResource)
        tensors->push_back(OperandInfo(schedule, value));
    }
  };
  take(schedule.Inputs(command), &fused.inputs);
  take(schedule.Outputs(command), &fused.outputs);
  if (fused.inputs.size() + fused.outputs.size() > kMostOperands) {
    fused.inputs = GatherByType(fused.inputs);
    fused.outputs = GatherByType(fused.outputs);
  }
  const OpWork work = LaunchWork(graph, info, schedule, command);
  fused.node.attrs["_lanescope_cost"] =
      fmt::format(R"({{"flops": {}, "bytes": {}}})", work.flops, work.bytes);
  return fused;
}

CostEstimate FusedCost(const Graph& graph, const GraphInfo& info, const Schedule& schedule,
                       const Command& command, const Machine& machine, DeviceId device,
                       const CostModel& costs) {
  const FusedDescription fused = DescribeFused(graph, info, schedule, command);
  const CostEstimate known = costs.Launch(machine, device, fused.node, fused.inputs, fused.outputs);
  if (known.basis == CostBasis::kMeasured || known.basis == CostBasis::kFitted) return known;
  const DeviceSpec& spec = machine.device(device);
  CostEstimate sum;
  int64_t longest = 0, bytes = 0;
  double nodes = 0;
  std::vector<TensorInfo> inputs;
  sum.basis = CostBasis::kMeasured;
  schedule.ForNodes(command, [&](NodeId id) {
    const Node& node = graph.node(id);
    inputs.clear();
    for (const Endpoint& input : node.inputs) inputs.push_back(info.of(input));
    const CostEstimate one = costs.Launch(machine, device, node, inputs, info.outputs(id));
    sum.ns += one.ns;
    sum.spread_ns += one.spread_ns;
    sum.basis = std::max(sum.basis, one.basis);
    longest = std::max(longest, one.ns);
    bytes += WorkOf(node, inputs, info.outputs(id)).bytes;
    ++nodes;
  });
  // It is derived, whatever its parts are.
  sum.basis = std::max(sum.basis, CostBasis::kFitted);
  const auto saved_bytes = static_cast<double>(bytes - LaunchWork(graph, info, schedule, command).bytes);
  double saved = (nodes - 1) * static_cast<double>(spec.launch_ns);
  if (spec.memory_bandwidth > 0) saved += std::max(0.0, saved_bytes) * 1e9 / spec.memory_bandwidth;
  sum.ns = std::max(longest, sum.ns - static_cast<int64_t>(std::llround(saved)));
  return sum;
}

}  // namespace lanescope
