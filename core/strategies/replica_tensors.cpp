// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/replica_tensors.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/base/error.h"

namespace lanescope {
namespace {

Node MakeNode(std::string name, std::string op) {
  Node node;
  node.name = std::move(name);
  node.op = std::move(op);
  return node;
}

}  // namespace

ReplicaTensors::ReplicaTensors(const RewriteInput& input, const ReplicaPlan& plan,
                               const IdVector<NodeId, ReplicaRole>& roles, const BatchParts& batch,
                               const IdVector<NodeId, NodeId>& first, int copied)
    : graph_(input.graph),
      info_(input.info),
      plan_(plan),
      roles_(roles),
      batch_(batch),
      first_(first),
      scope_(fmt::format("{}/", plan.strategy)),
      copied_(copied) {}

NodeId ReplicaTensors::Add(Node node) {
  added_.push_back(std::move(node));
  return NodeId(static_cast<size_t>(copied_) + added_.size() - 1);
}

NodeId ReplicaTensors::AddConstant(const std::string& name, const Tensor& value) {
  Node node = MakeNode(name, "Const");
  node.attrs["dtype"] = value.dtype();
  node.attrs["value"] = std::make_shared<const TensorAttr>(TensorAttr{value, ""});
  return Add(std::move(node));
}

void ReplicaTensors::SetDevice(NodeId id, int replica, Node* node) const {
  plan_.SetDevice(id, replica, node);
}

std::string ReplicaTensors::ScopeOf(Endpoint of) const {
  return fmt::format("{}{}_{}/", scope_, graph_.node(of.node).name, of.output);
}

void ReplicaTensors::Split(const std::string& feed, int axis) {
  const NodeId fed = graph_.FindEndpoint(feed).node;
  const std::string scope = fmt::format("{}{}/", scope_, graph_.node(fed).name);
  const NodeId dimension = AddConstant(scope + "axis", Tensor::Scalar<int32_t>(axis));
  Node split = MakeNode(scope + "split", "Split");
  split.device = "/device:CPU:0";
  split.attrs["T"] = RemoveRef(info_.of({fed, 0}).dtype);
  split.attrs["num_split"] = static_cast<int64_t>(replicas());
  split.inputs = {{dimension, 0}, {first_[fed], 0}};
  splits_[fed] = Add(std::move(split));
}

Endpoint ReplicaTensors::InReplica(Endpoint of, int r) const {
  if (const auto split = splits_.find(of.node); split != splits_.end()) return {split->second, r};
  const NodeId first = first_[of.node];
  return {roles_[of.node] == ReplicaRole::kReplicated ? ReplicaAt(first, r) : first, of.output};
}

// The number of parts to a power, as a number of this type.
Endpoint ReplicaTensors::Factor(const std::string& scope, DataType type, int degree) {
  const double value = std::pow(replicas(), degree);
  if (type == DataType::kInt32)
    return {AddConstant(scope + "share", Tensor::Scalar(static_cast<int32_t>(value))), 0};
  if (type == DataType::kInt64)
    return {AddConstant(scope + "share", Tensor::Scalar(static_cast<int64_t>(value))), 0};
  if (type == DataType::kDouble) return {AddConstant(scope + "share", Tensor::Scalar(value)), 0};
  const NodeId share = AddConstant(scope + "share", Tensor::Scalar(static_cast<float>(value)));
  if (type == DataType::kFloat) return {share, 0};
  Node cast = MakeNode(scope + "share_cast", "Cast");
  cast.attrs["SrcT"] = DataType::kFloat;
  cast.attrs["DstT"] = type;
  cast.attrs["Truncate"] = false;
  cast.inputs = {{share, 0}};
  return {Add(std::move(cast)), 0};
}

// `tensor`: what stands for `of`.
Endpoint ReplicaTensors::Times(Endpoint tensor, Endpoint of, int replica, int degree,
                               const std::string& scope, const char* name) {
  if (degree == 0) return tensor;
  const DataType type = RemoveRef(info_.of(of).dtype);
  const bool is_whole = (type == DataType::kInt32 || type == DataType::kInt64) && degree > 0;
  if (!HasShares(type) && !is_whole) {
    Throw(Code::kInvalidArgument, "{}: '{}' is no float, and a part of the batch is to have a share of it",
          plan_.strategy, graph_.TensorName(of));
  }
  Node product = MakeNode(scope + name, "Mul");
  SetDevice(of.node, replica, &product);
  product.attrs["T"] = type;
  product.inputs = {tensor, Factor(scope, type, degree)};
  return {Add(std::move(product)), 0};
}

// --- inputs of replicas ---

Endpoint ReplicaTensors::Taken(NodeId reader, size_t input, int r) {
  const Endpoint of = graph_.node(reader).inputs[input];
  const BatchPart &part = batch_.of(of), &taken = batch_.Taken(reader, input);
  const Endpoint own = InReplica(of, r);
  if (part == taken || !part.is_known) return own;
  if (part.is_terms() && taken.is_same()) return OfAll(reader, of, taken);
  // A tensor that is the same in n parts is n times its own term.
  const int degree = taken.degree - part.degree - (part.is_same() && taken.is_terms() ? 1 : 0);
  if (degree == 0) return own;
  const auto [known, is_new] = taken_.try_emplace({of.node, of.output, degree, r}, Endpoint());
  if (is_new) {
    const std::string scope =
        fmt::format("{}{}/{}{}/", ScopeOf(of), degree < 0 ? "less" : "more", plan_.scope, r);
    known->second = Times(own, of, r, degree, fmt::format("{}{}_", scope, std::abs(degree)), "scaled");
  }
  return known->second;
}

// A sum over the batch as all parts read it.
Endpoint ReplicaTensors::OfAll(NodeId reader, Endpoint of, const BatchPart& taken) {
  if (const auto known = taken_.find({of.node, of.output, taken.degree, -1}); known != taken_.end())
    return known->second;
  const std::string scope = fmt::format("{}of_all_{}/", ScopeOf(of), taken.degree);
  Endpoint made;
  if (!plan_.accumulate) {
    made = Times(Sum(of, scope), of, -1, taken.degree - batch_.of(of).degree, scope, "mean");
  } else if (batch_.IsFed(of.node)) {
    made = Times(OfWholeBatch(of), of, -1, taken.degree, scope, "share_of_all");
  } else {
    Throw(Code::kInvalidArgument,
          "{}: '{}' ({}) reads '{}', which is summed over the whole batch: micro-batches come one after the "
          "other, "
          "and none knows it. A sum of labels or masks alone is known beforehand; other losses need "
          "data-parallel, "
          "fsdp or tensor-parallel",
          plan_.strategy, graph_.node(reader).name, graph_.node(reader).op, graph_.TensorName(of));
  }
  return taken_[{of.node, of.output, taken.degree, -1}] = made;
}

// The tensor of the graph without parts, of what is fed alone.
Endpoint ReplicaTensors::OfWholeBatch(Endpoint of) {
  std::set<NodeId> needed;
  std::vector<NodeId> open{of.node};
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (roles_[id] != ReplicaRole::kReplicated || of_whole_batch_.contains(id) || !needed.insert(id).second)
      continue;
    for (const Endpoint& input : graph_.node(id).inputs) open.push_back(input.node);
  }
  for (const NodeId id : graph_.TopologicalOrder()) {
    if (!needed.contains(id)) continue;
    Node node = graph_.node(id);
    node.name = fmt::format("{}whole_batch/{}", scope_, node.name);
    node.attrs.erase("_class");
    SetDevice(id, -1, &node);
    for (Endpoint& input : node.inputs) {
      const auto copy = of_whole_batch_.find(input.node);
      input.node = copy != of_whole_batch_.end() ? copy->second : first_[input.node];
    }
    of_whole_batch_[id] = Add(std::move(node));
  }
  return {of_whole_batch_.at(of.node), of.output};
}

// --- one tensor of the replicas' ones ---

// Where they lie in several segments, the replicas' parts of the first one come first.
Endpoint ReplicaTensors::Rows(Endpoint of, const std::string& scope, const Layout& rows) {
  const DataType type = RemoveRef(info_.of(of).dtype);
  const Endpoint axis{AddConstant(scope + "axis", Tensor::Scalar<int32_t>(rows.axis)), 0};
  std::vector<Endpoint> parts;
  for (int r = 0; r < replicas(); ++r) parts.push_back(InReplica(of, r));
  if (rows.segments > 1) {
    std::vector<Endpoint> in_segments(parts.size() * static_cast<size_t>(rows.segments));
    for (size_t r = 0; r < parts.size(); ++r) {
      Node split = MakeNode(fmt::format("{}split_{}", scope, r), "Split");
      SetDevice(of.node, static_cast<int>(r), &split);
      split.attrs["T"] = type;
      split.attrs["num_split"] = rows.segments;
      split.inputs = {axis, parts[r]};
      const NodeId pieces = Add(std::move(split));
      for (int s = 0; s < rows.segments; ++s)
        in_segments[static_cast<size_t>(s) * parts.size() + r] = {pieces, s};
    }
    parts = std::move(in_segments);
  }
  Node join = MakeNode(scope + "concat", "ConcatV2");
  SetDevice(of.node, -1, &join);
  join.attrs["T"] = type;
  join.attrs["N"] = static_cast<int64_t>(parts.size());
  join.attrs["Tidx"] = DataType::kInt32;
  join.inputs = std::move(parts);
  join.inputs.push_back(axis);
  return {Add(std::move(join)), 0};
}

Endpoint ReplicaTensors::Sum(Endpoint of, const std::string& scope) {
  const auto [known, is_new] = sums_.try_emplace({of.node, of.output}, Endpoint());
  if (!is_new) return known->second;
  const DataType type = RemoveRef(info_.of(of).dtype);
  if (!plan_.accumulate) {
    Node join = MakeNode(scope + "sum", "AddN");
    SetDevice(of.node, -1, &join);
    join.attrs["T"] = type;
    join.attrs["N"] = static_cast<int64_t>(replicas());
    for (int r = 0; r < replicas(); ++r) join.inputs.push_back(InReplica(of, r));
    return known->second = {Add(std::move(join)), 0};
  }
  Endpoint sum = InReplica(of, 0);
  for (int r = 1; r < replicas(); ++r) {
    Node add = MakeNode(fmt::format("{}sum_{}", scope, r), "Add");
    SetDevice(of.node, -1, &add);
    add.attrs["T"] = type;
    add.inputs = {sum, InReplica(of, r)};
    sum = {Add(std::move(add)), 0};
  }
  return known->second = sum;
}

Endpoint ReplicaTensors::Joined(Endpoint of, Otherwise otherwise) {
  if (batch_.of(of).is_known) otherwise = Otherwise::kMean;  // it does not matter
  const std::tuple key{of.node, of.output, otherwise};
  if (const auto known = joins_.find(key); known != joins_.end()) return known->second;
  return joins_[key] = Write(of, otherwise);
}

Endpoint ReplicaTensors::Write(Endpoint of, Otherwise otherwise) {
  const BatchPart& part = batch_.of(of);
  const bool is_integer = !HasShares(RemoveRef(info_.of(of).dtype));
  const std::string scope = ScopeOf(of);
  if (part.is_rows()) return Times(Rows(of, scope, part.layout), of, -1, -part.degree, scope, "mean");
  if (part.is_terms()) return Times(Sum(of, scope), of, -1, -part.degree, scope, "mean");
  if (part.is_same() && is_integer) return InReplica(of, 0);
  if (otherwise == Otherwise::kRows) return Rows(of, scope + "rows/", InParts(0));
  const Endpoint joined = otherwise == Otherwise::kShares ? Rows(of, scope, InParts(0)) : Sum(of, scope);
  return Times(joined, of, -1, is_integer ? 0 : -1 - part.degree, scope, "mean");
}

}  // namespace lanescope
