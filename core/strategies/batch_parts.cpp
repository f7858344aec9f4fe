// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/batch_parts.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "core/graph/batch_share.h"
#include "core/inputs/step_request.h"
#include "core/strategies/layout_lookups.h"
#include "core/strategies/variables_in_parts.h"

namespace lanescope {
namespace {

// Constants of more bytes are not looked at.
constexpr int64_t kMostZeros = 4096;

bool IsZero(const Tensor& value) {
  if (value.dtype() == DataType::kString || value.ByteSize() > kMostZeros) return false;
  const char* bytes = static_cast<const char*>(value.raw_data());
  return std::all_of(bytes, bytes + value.ByteSize(), [](char byte) { return byte == 0; });
}

// The shapes of the graph where a part of the batch is fed.
GraphInfo InferPart(const RewriteInput& input, const IdVector<NodeId, ReplicaRole>& roles, int count) {
  Graph graph = input.graph;
  for (const NodeId id : graph.node_ids()) {
    if (roles[id] == ReplicaRole::kReplicated) TakeBatchShare(count, &graph.node(id));
  }
  RunSpec spec = input.spec;
  for (const auto& [name, axis] : spec.batch_axis) {
    Shape& shape = spec.feeds.at(name).shape;
    shape.set_dim(axis, shape.dim(axis) / count);
  }
  return InferGraph(graph, StepRequestOf(graph, spec).feeds);
}

BatchPart Unknown() {
  BatchPart part;
  part.is_known = false;
  return part;
}

}  // namespace

BatchParts::BatchParts(const RewriteInput& input, const IdVector<NodeId, ReplicaRole>& roles, int count)
    : graph_(input.graph),
      info_(input.info),
      roles_(roles),
      count_(count),
      needed_(NodesOfStep(graph_, input.spec, StepRequestOf(graph_, input.spec))),
      fed_(graph_.num_nodes(), 0),
      zero_(graph_.num_nodes(), 0),
      parts_(graph_.num_nodes()),
      taken_(graph_.num_nodes()) {
  std::optional<GraphInfo> part;
  try {
    part = InferPart(input, roles, count);
  } catch (const Error&) {
    // The graph fixes the size of its batch, which is said when its replicas are written.
  }
  for (const NodeId id : graph_.node_ids()) {
    const bool is_open = part && roles_[id] != ReplicaRole::kUpdating;
    parts_[id].assign(std::max<size_t>(info_.outputs(id).size(), 1), is_open ? BatchPart() : Unknown());
  }
  for (const auto& [name, axis] : input.spec.batch_axis) {
    const Endpoint fed = graph_.FindEndpoint(name);
    if (part) parts_[fed.node][0].layout = InParts(axis);
  }
  for (const NodeId id : graph_.TopologicalOrder()) {
    FindFed(id);
    FindZero(id);
    if (roles_[id] != ReplicaRole::kReplicated) continue;
    for (const Endpoint& in : graph_.node(id).inputs) taken_[id].push_back(of(in));
    if (part) GoThrough(id, *part);
  }
}

void BatchParts::FindFed(NodeId id) {
  const Node& node = graph_.node(id);
  const OpDef* def = OpRegistry::Global().Find(node.op);
  const bool is_placeholder = node.op.starts_with("Placeholder");
  const bool is_pure =
      def != nullptr && !def->stateful && def->role == StateRole::kNone && !IsVariableOp(node);
  fed_[id] =
      is_placeholder || (is_pure && node.control_inputs.empty() &&
                         std::ranges::all_of(node.inputs, [&](Endpoint in) { return IsFed(in.node); }));
}

void BatchParts::FindZero(NodeId id) {
  const Node& node = graph_.node(id);
  if (node.op == "Const") {
    const auto& value = info_.of({id, 0}).value;
    zero_[id] = value != nullptr && IsZero(*value);
    return;
  }
  static constexpr std::string_view kViews[] = {"Identity", "Reshape", "BroadcastTo", "Cast", "ExpandDims"};
  const bool is_view = std::ranges::find(kViews, node.op) != std::end(kViews);
  if (node.op == "ZerosLike") zero_[id] = 1;
  if (node.op == "Fill") zero_[id] = zero_[node.inputs[1].node];
  if (is_view) zero_[id] = zero_[node.inputs[0].node];
}

std::optional<std::vector<int>> BatchParts::CutOf(const Shape& whole, const Shape& part) const {
  if (!whole.known_rank() || !whole.IsExact() || !part.known_rank() || !part.IsExact()) return std::nullopt;
  if (whole.rank() != part.rank()) return std::nullopt;
  std::vector<int> cut;
  for (int d = 0; d < whole.rank(); ++d) {
    if (whole.dim(d) != part.dim(d)) cut.push_back(d);
  }
  return cut;
}

// Integers that are known by shapes alone: they count what is in a part, as ops there have to have it.
bool BatchParts::IsSizes(NodeId id, const GraphInfo& part) const {
  const auto whole_outputs = info_.outputs(id), part_outputs = part.outputs(id);
  for (size_t k = 0; k < whole_outputs.size(); ++k) {
    const bool same_shape = whole_outputs[k].shape == part_outputs[k].shape;
    if (!NumbersOf(whole_outputs[k]) || !NumbersOf(part_outputs[k]) || !same_shape) return false;
  }
  return !whole_outputs.empty();
}

// How often the number of parts is in the size of something, which is a number to compute with. None: it is
// no such number, or follows the batch in another way.
std::optional<int> BatchParts::DegreeOfSize(NodeId cast, const GraphInfo& part) const {
  const Endpoint size = graph_.node(cast).inputs[0];
  const auto whole = NumbersOf(info_.of(size)), own = NumbersOf(part.of(size));
  constexpr int kMost = 3;
  if (!whole || !own || whole->size() != own->size()) return std::nullopt;
  for (int degree = -kMost; degree <= kMost; ++degree) {
    int64_t times = 1;
    for (int i = 0; i < std::abs(degree); ++i) times *= count_;
    const bool all = std::ranges::equal(
        *whole, *own, [&](int64_t a, int64_t b) { return degree < 0 ? a == b * times : a * times == b; });
    if (all) return degree;
  }
  return std::nullopt;
}

void BatchParts::GoThrough(NodeId id, const GraphInfo& part) {
  const Node& node = graph_.node(id);
  if (IsSizes(id, part)) return;
  BatchQuery query{.node = node,
                   .inputs = {},
                   .outputs = info_.outputs(id),
                   .parts = taken_[id],
                   .is_zero = {},
                   .is_fed = {},
                   .cut = {},
                   .count = count_};
  std::vector<TensorInfo> inputs;
  for (const Endpoint& in : node.inputs) {
    const TensorInfo& info = info_.of(in);
    inputs.push_back(info.handle != nullptr ? *info.handle : info);
    query.is_zero.push_back(zero_[in.node]);
    query.is_fed.push_back(fed_[in.node]);
  }
  query.inputs = inputs;
  for (size_t k = 0; k < query.outputs.size(); ++k)
    query.cut.push_back(CutOf(query.outputs[k].shape, part.outputs(id)[k].shape));
  const bool of_sizes =
      node.op == "Cast" && NumbersOf(info_.of(node.inputs[0])) && of(node.inputs[0]).is_same();
  if (of_sizes && query.cut[0] && query.cut[0]->empty()) {
    if (const auto degree = DegreeOfSize(id, part)) {
      parts_[id][0].degree = *degree;
      return;
    }
    if (HasShares(query.outputs[0].dtype) && needed_[id] != 0 && !problem_)
      problem_ = {id, "computes with a size that is no multiple of the batch"};
  }
  BatchChoice choice = ChooseBatchParts(query);
  if (!choice.problem.empty() && needed_[id] != 0 && !problem_) problem_ = {id, std::move(choice.problem)};
  if (needed_[id] != 0) taken_[id] = std::move(choice.inputs);
  std::ranges::move(choice.outputs, parts_[id].begin());
}

}  // namespace lanescope
