// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/block_collectives.h"

#include <fmt/core.h>

#include <utility>

namespace lanescope {

NodeBuilder BlockCollectives::New(std::string_view op, const std::string& scope, std::string_view name,
                                  size_t device) {
  return nodes_.New(op, fmt::format("{}{}_{}", scope, name, device), devices_[device]);
}

std::vector<BlockCollectives::Keys> BlockCollectives::NewGroups(const std::string& scope) {
  std::vector<Keys> keys;
  for (size_t first = 0; first < count(); first += group_) {
    keys.push_back(nodes_.NewGroup(
        group_ == count() ? scope : fmt::format("{}group_{}/", scope, first / group_), group_));
  }
  return keys;
}

std::vector<Shards> BlockCollectives::Gather(const std::string& scope, const std::vector<Shards>& parts,
                                             const std::vector<Shape>& shapes,
                                             const std::vector<NodeId>& after) {
  const auto devices = static_cast<int64_t>(group_);
  const std::vector<Keys> keys = NewGroups(scope);
  std::vector<Endpoint> wanted;
  std::vector<int64_t> columns;
  for (const Shape& shape : shapes) {
    wanted.push_back(nodes_.Numbers(fmt::format("{}shape_{}", scope, wanted.size()),
                                    {shape.dims().begin(), shape.dims().end()}));
    columns.push_back(shape.NumElements() / devices);
  }
  const bool joined = parts.size() > 1;
  const Endpoint first = joined ? nodes_.Number(scope + "first", 0) : Endpoint(),
                 second = joined ? nodes_.Number(scope + "second", 1) : Endpoint(),
                 sizes = joined ? nodes_.Numbers(scope + "columns", columns) : Endpoint(),
                 rows = joined ? nodes_.Numbers(scope + "rows", {devices, -1}) : Endpoint();
  std::vector<Shards> whole(parts.size());
  for (size_t r = 0; r < count(); ++r) {
    Shards own;
    for (const Shards& each : parts) own.push_back(each[r]);
    const Endpoint part =
        joined ? New("ConcatV2", scope, "parts", r).Inputs(own).Input(first).Build() : own[0];
    NodeBuilder gather = New("CollectiveGatherV2", scope, "gather", r);
    gather.Input(part).Inputs(keys[r / group_]);
    if (after[r].exists()) gather.ControlInput(after[r]);
    Endpoint all = gather.Build();
    if (joined) {
      const Endpoint matrix = New("Reshape", scope, "matrix", r).Input(all).Input(rows).Build();
      NodeBuilder split = New("SplitV", scope, "split", r);
      split.Input(matrix).Input(sizes).Input(second);
      all = split.Attr("num_split", static_cast<int64_t>(parts.size())).Build();
    }
    for (size_t i = 0; i < parts.size(); ++i) {
      const Endpoint flat{all.node, joined ? static_cast<int>(i) : all.output};
      NodeBuilder shaped = New("Reshape", scope, fmt::format("whole_{}", i), r);
      whole[i].push_back(shaped.Input(flat).Input(wanted[i]).Build());
    }
  }
  return whole;
}

namespace {

// The end of the reduction.
const char* FinalOpOf(Total total) { return total == Total::kMean ? "Div" : "Id"; }

}  // namespace

std::vector<Endpoint> BlockCollectives::TotalOverGroups(const std::string& scope, Total total,
                                                        std::vector<Endpoint> parts) {
  const size_t groups = count() / group_;
  if (groups == 1) return parts;
  for (size_t place = 0; place < group_; ++place) {
    const Keys keys = nodes_.NewGroup(fmt::format("{}place_{}/", scope, place), groups);
    for (size_t r = place; r < count(); r += group_) {
      NodeBuilder mean = New("CollectiveReduceV2", scope, "mean", r);
      mean.Input(parts[r]).Inputs(keys).Attr("merge_op", "Add").Attr("final_op", FinalOpOf(total));
      parts[r] = mean.Build();
    }
  }
  return parts;
}

std::vector<Shards> BlockCollectives::Scatter(const std::string& scope, Total total,
                                              const std::vector<Shards>& tensors,
                                              const std::vector<int64_t>& elements,
                                              const std::vector<NodeId>& after) {
  const auto devices = static_cast<int64_t>(group_);
  const std::vector<Keys> keys = NewGroups(scope);
  std::vector<int64_t> columns;
  for (const int64_t each : elements) columns.push_back(each / devices);
  const bool joined = tensors.size() > 1;
  const Endpoint first = joined ? nodes_.Number(scope + "first", 0) : Endpoint(),
                 second = joined ? nodes_.Number(scope + "second", 1) : Endpoint(),
                 sizes = joined ? nodes_.Numbers(scope + "columns", columns) : Endpoint(),
                 rows = joined ? nodes_.Numbers(scope + "rows", {devices, -1}) : Endpoint();
  std::vector<Endpoint> scattered;
  for (size_t r = 0; r < count(); ++r) {
    Shards own;
    for (const Shards& each : tensors) {
      own.push_back(each[r]);
      if (!joined) continue;
      NodeBuilder matrix = New("Reshape", scope, fmt::format("matrix_{}", own.size() - 1), r);
      own.back() = matrix.Input(own.back()).Input(rows).Build();
    }
    const Endpoint all =
        joined ? New("ConcatV2", scope, "tensors", r).Inputs(own).Input(second).Build() : own[0];
    const Endpoint flat = nodes_.Flat(fmt::format("{}{}/", scope, r), all, devices_[r]);
    NodeBuilder scatter = New("CollectiveReduceScatterV2", scope, "scatter", r);
    scatter.Input(flat).Inputs(keys[r / group_]).Attr("merge_op", "Add").Attr("final_op", FinalOpOf(total));
    if (after[r].exists()) scatter.ControlInput(after[r]);
    scattered.push_back(scatter.Build());
  }
  std::vector<Shards> parts(tensors.size());
  for (const Endpoint part : TotalOverGroups(scope, total, std::move(scattered))) {
    const size_t r = parts[0].size();
    Endpoint pieces = part;
    if (joined) {
      NodeBuilder split = New("SplitV", scope, "split", r);
      split.Input(part).Input(sizes).Input(first);
      pieces = split.Attr("num_split", static_cast<int64_t>(tensors.size())).Build();
    }
    for (size_t i = 0; i < tensors.size(); ++i)
      parts[i].push_back({pieces.node, joined ? static_cast<int>(i) : pieces.output});
  }
  return parts;
}

}  // namespace lanescope
