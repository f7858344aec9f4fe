// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/fusion.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <numeric>
#include <set>

#include "core/base/crc32c.h"
#include "core/graph/shape.h"

namespace lanescope {
namespace {

constexpr std::array<std::string_view, 41> kUnary = {
    "Abs",   "Acos",    "Acosh", "Asin",     "Asinh",   "Atan", "Atanh",   "Ceil",  "Cos",
    "Cosh",  "Digamma", "Elu",   "Erf",      "Erfc",    "Exp",  "Expm1",   "Floor", "IsFinite",
    "IsInf", "IsNan",   "Inv",   "Invert",   "Lgamma",  "Log",  "Log1p",   "Neg",   "LogicalNot",
    "Relu",  "Relu6",   "Rint",  "Round",    "Rsqrt",   "Selu", "Sigmoid", "Sign",  "Reciprocal",
    "Sin",   "Sinh",    "Sqrt",  "Softplus", "Softsign"};
constexpr std::array<std::string_view, 4> kMoreUnary = {"Square", "Tan", "Tanh", "LeakyRelu"};
constexpr std::array<std::string_view, 25> kBroadcasting = {
    "Add",       "AddV2",       "Atan2",      "Div",          "DivNoNan",
    "FloorDiv",  "FloorMod",    "Maximum",    "Minimum",      "Mod",
    "Mul",       "MulNoNan",    "Pow",        "RealDiv",      "SquaredDifference",
    "Sub",       "TruncateDiv", "LogicalAnd", "LogicalOr",    "Less",
    "LessEqual", "Greater",     "Xdivy",      "GreaterEqual", "Xlogy"};
constexpr std::array<std::string_view, 14> kOneShape = {
    "TanhGrad",  "SigmoidGrad",   "SqrtGrad", "RsqrtGrad", "InvGrad",      "ReciprocalGrad", "ReluGrad",
    "Relu6Grad", "LeakyReluGrad", "EluGrad",  "SeluGrad",  "SoftplusGrad", "SoftsignGrad",   "AddN"};
constexpr std::array<std::string_view, 8> kUpdates = {"ApplyAdam",
                                                      "ApplyGradientDescent",
                                                      "ApplyKerasMomentum",
                                                      "ApplyMomentum",
                                                      "ResourceApplyAdam",
                                                      "ResourceApplyGradientDescent",
                                                      "ResourceApplyKerasMomentum",
                                                      "ResourceApplyMomentum"};
constexpr std::array<std::string_view, 10> kProducts = {
    "MatMul", "BatchMatMul",          "BatchMatMulV2",       "BatchMatMulV3",         "Einsum",
    "Conv2D", "Conv2DBackpropFilter", "Conv2DBackpropInput", "DepthwiseConv2dNative", "Conv3D"};

constexpr std::array<std::string_view, 3> kBatchProducts = {"BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"};

template <size_t n>
bool IsOneOf(const std::array<std::string_view, n>& ops, std::string_view op) {
  return std::ranges::find(ops, op) != ops.end();
}

bool IsNhwc(const Node& node) { return node.StringAttr("data_format", "NHWC") == "NHWC"; }

bool IsElementWise(const Node& node) {
  const std::string_view op = node.op;
  if (IsOneOf(kUnary, op) || IsOneOf(kMoreUnary, op) || IsOneOf(kBroadcasting, op) || IsOneOf(kOneShape, op))
    return true;
  // Tensors of other shapes may be asked whether they are equal, and simply are not.
  if (op == "Equal" || op == "NotEqual") return node.BoolAttr("incompatible_shape_error", true);
  if (op == "BiasAdd") return IsNhwc(node);
  return op == "Select" || op == "SelectV2" || op == "Cast" || op == "ClipByValue" || op == "BiasAddV1";
}

bool IsReduction(std::string_view op) {
  return op == "Sum" || op == "Mean" || op == "Max" || op == "Min" || op == "Prod";
}

constexpr size_t kNamed = 6;

// The only thing that is published: no order with anything else is needed.
std::atomic<bool (*)()> hardware_runs_fused{nullptr};

// A launch of several nodes reads and writes so much beside what its updates do by themselves. It is negative
// where these find a gradient in the cache.
int64_t OperandBytes(const Graph& graph, const Schedule& schedule, const Command& command) {
  const auto nodes = schedule.FusedNodes(command);
  const auto reads = schedule.Inputs(command);
  std::vector<char> of_update(reads.size(), 0);
  std::set<NodeId> updated;  // variables
  int64_t bytes = 0;
  for (const FusedNode& node : nodes) {
    const FusionRole role = FusionRoleOf(graph.node(node.node));
    if (RunsInBlocks(role)) continue;
    for (const int input : node.inputs) {
      if (input >= 0) of_update[static_cast<size_t>(input)] = 1;
    }
    if (role != FusionRole::kUpdate) continue;
    const int variable = node.inputs[0];
    if (variable >= 0) updated.insert(schedule.RootValue(reads[static_cast<size_t>(variable)]).variable);
    const int gradient = node.inputs[static_cast<size_t>(GradientInput(graph.node(node.node).op))];
    if (gradient >= 0) continue;
    const FusedNode& maker = nodes[static_cast<size_t>(-1 - gradient)];
    bytes -= maker.shape.NumElements() * static_cast<int64_t>(ElementSize(maker.dtype));
  }
  const auto add = [&](ValueId value) {
    if (!value.exists()) return;
    const Value& root = schedule.RootValue(value);
    const bool counted = root.storage == Storage::kVariable && updated.contains(root.variable);
    if (root.storage != Storage::kResource && !counted) bytes += schedule.values[value].bytes;
  };
  for (size_t i = 0; i < reads.size(); ++i) {
    if (of_update[i] == 0) add(reads[i]);
  }
  for (const FusedNode& node : nodes) {
    if (node.output >= 0 && RunsInBlocks(FusionRoleOf(graph.node(node.node))))
      add(schedule.Outputs(command)[static_cast<size_t>(node.output)]);
  }
  return bytes;
}

}  // namespace

FusionRole FusionRoleOf(const Node& node) {
  if (node.FindAttr("_lanescope_cost") != nullptr) return FusionRole::kNone;
  if (IsOneOf(kUpdates, node.op)) return FusionRole::kUpdate;
  if (node.op == "AssignVariableOp" || node.op == "Assign") return FusionRole::kAssign;
  if (node.op == "Softmax" || node.op == "LogSoftmax") return FusionRole::kRowWise;
  if (IsOneOf(kBatchProducts, node.op)) return FusionRole::kProduct;
  if (IsReduction(node.op)) return FusionRole::kReduction;
  return IsElementWise(node) ? FusionRole::kElementWise : FusionRole::kNone;
}

bool RunsFused(const DeviceSpec& device) {
  if (!device.is_hardware()) return true;
  bool (*const runs)() = hardware_runs_fused.load(std::memory_order_relaxed);
  return runs != nullptr && runs();
}
void SetHardwareRunsFused(bool (*runs)()) { hardware_runs_fused.store(runs, std::memory_order_relaxed); }

bool RunsFusedOnHardware(const Node& node, DataType dtype) {
  constexpr std::array<std::string_view, 7> kChecked = {"Div", "FloorDiv", "FloorMod",   "Mod",
                                                        "Pow", "RealDiv",  "TruncateDiv"};
  const bool fraction = dtype == DataType::kFloat || dtype == DataType::kDouble;
  return node.op != "Digamma" && (fraction || !IsOneOf(kChecked, node.op));
}

int GradientInput(std::string_view op) {
  if (op.ends_with("Adam")) return 9;
  return op.ends_with("GradientDescent") ? 2 : 3;
}

bool CanIndex(const Node& node, std::span<const Shape> inputs, const Shape& output) {
  const int64_t elements = output.NumElements();
  const auto full = [&](const Shape& shape) { return shape.NumElements() == elements; };
  if (node.op == "BiasAdd" || node.op == "BiasAddV1") return full(inputs[0]) && inputs[1].rank() == 1;
  if (IsOneOf(kBroadcasting, node.op) || node.op == "SelectV2" || node.op == "Equal" || node.op == "NotEqual")
    return true;
  // One value for all is indexed by none.
  if (node.op == "Select" || node.op == "ClipByValue") {
    return std::ranges::all_of(inputs, [&](const Shape& s) { return full(s) || s.rank() == 0; });
  }
  return std::ranges::all_of(inputs, full);
}

int64_t RowRun(const Shape& input, const Shape& output) {
  int64_t run = 1;
  bool in_row = true;
  for (int back = 1; back <= output.rank(); ++back) {
    const int64_t of_output = output[output.rank() - back];
    const int64_t of_input = back <= input.rank() ? input[input.rank() - back] : 1;
    if (of_output == 1) continue;
    in_row = in_row && of_input == 1;
    if (in_row) {
      run *= of_output;
    } else if (of_input != of_output) {
      return 0;
    }
  }
  return run;
}

std::vector<int> BlockGroups(const Graph& graph, std::span<const FusedNode> nodes) {
  std::vector<int> group(nodes.size());
  std::iota(group.begin(), group.end(), 0);
  const auto in_blocks = [&](size_t i) { return RunsInBlocks(FusionRoleOf(graph.node(nodes[i].node))); };
  const auto first_of = [&](size_t i) {
    while (group[i] != static_cast<int>(i)) i = static_cast<size_t>(group[i]);
    return i;
  };
  const auto join = [&](size_t i, int input) {
    if (input >= 0 || !in_blocks(static_cast<size_t>(-1 - input))) return;
    const size_t a = first_of(i), b = first_of(static_cast<size_t>(-1 - input));
    group[std::max(a, b)] = static_cast<int>(std::min(a, b));
  };
  std::map<int, int> assigned;  // by the variable's input: what an assignment has written there
  for (size_t i = 0; i < nodes.size(); ++i) {
    const FusionRole role = FusionRoleOf(graph.node(nodes[i].node));
    const std::vector<int>& inputs = nodes[i].inputs;
    if (role == FusionRole::kAssign) assigned[inputs[0]] = inputs[1];
    if (RunsInBlocks(role)) std::ranges::for_each(inputs, [&](int input) { join(i, input); });
    if (role != FusionRole::kUpdate) continue;
    join(i, inputs[static_cast<size_t>(GradientInput(graph.node(nodes[i].node).op))]);
    if (const auto found = assigned.find(inputs[0]); found != assigned.end()) join(i, found->second);
  }
  for (size_t i = 0; i < nodes.size(); ++i) group[i] = static_cast<int>(first_of(i));
  return group;
}

std::string LaunchOp(const Graph& graph, const Schedule& schedule, const Command& command) {
  const auto nodes = schedule.FusedNodes(command);
  if (nodes.empty()) return graph.node(command.node).op;
  std::string ops, rest;
  size_t named = 0;
  for (size_t i = 0; i < nodes.size();) {
    const std::string& op = graph.node(nodes[i].node).op;
    size_t end = i;
    while (end < nodes.size() && graph.node(nodes[end].node).op == op) ++end;
    std::string run = op;
    if (end - i > 1) run += fmt::format("*{}", end - i);
    i = end;
    if (named < kNamed) {
      ops += (named++ == 0 ? "" : "+") + run;
    } else {
      rest += "+" + run;
    }
  }
  // Costs go by this name, so that launches which differ in what is not named are told apart.
  if (!rest.empty()) ops += fmt::format("+..{:08x}", Crc32c(rest));
  return fmt::format("fused {} ({})", ops, nodes.size());
}

std::string FusedOpOf(std::string_view signature) {
  const size_t end = signature.starts_with("fused ") ? signature.find(")(") : std::string_view::npos;
  return end == std::string_view::npos ? std::string() : std::string(signature.substr(0, end + 1));
}

std::string LaunchName(const Graph& graph, const Schedule& schedule, const Command& command) {
  const auto nodes = schedule.FusedNodes(command);
  if (nodes.empty()) return graph.node(command.node).name;
  std::string names;
  for (size_t i = 0; i < std::min(nodes.size(), kNamed); ++i)
    names += (i == 0 ? "" : "+") + graph.node(nodes[i].node).name;
  if (nodes.size() > kNamed) names += fmt::format(" and {} more", nodes.size() - kNamed);
  return names;
}

OpWork LaunchWork(const Graph& graph, const GraphInfo& info, const Schedule& schedule,
                  const Command& command) {
  OpWork work;
  std::vector<TensorInfo> inputs;
  schedule.ForNodes(command, [&](NodeId id) {
    const Node& node = graph.node(id);
    inputs.clear();
    for (const Endpoint& input : node.inputs) inputs.push_back(info.of(input));
    const OpWork one = WorkOf(node, inputs, info.outputs(id));
    work.flops += one.flops;
    // An update reads and writes the variables behind its handles, which are no operands.
    const bool counted = command.fused < 0 || FusionRoleOf(node) == FusionRole::kUpdate;
    if (counted) work.bytes += one.bytes;
  });
  if (command.fused >= 0) work.bytes += OperandBytes(graph, schedule, command);
  return work;
}

LaunchTraffic TrafficOf(const Graph& graph, const GraphInfo& info, const Schedule& schedule) {
  LaunchTraffic traffic;
  for (const Command& command : schedule.commands) {
    if (command.kind != CommandKind::kLaunch || graph.node(command.node).op == "NoOp") continue;
    const int64_t bytes = LaunchWork(graph, info, schedule, command).bytes;
    ++traffic.launches;
    traffic.bytes += bytes;
    if (IsOneOf(kProducts, graph.node(command.node).op)) traffic.product_bytes += bytes;
  }
  return traffic;
}

}  // namespace lanescope
