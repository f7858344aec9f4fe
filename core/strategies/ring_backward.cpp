// SPDX-License-Identifier: Apache-2.0
// The backward pass of attention in a ring.
#include <fmt/core.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/strategies/ring_attention.h"

namespace lanescope {

// The exponentials of the block as parts of the whole row's, in the shape of one of the graph's tensors.
Endpoint RingAttention::ShareOfRow(const Block& block) {
  const Shape all = WithLast(ShapeOf({a_.softmax, 0}), blocks_.rows(), 1);
  const Endpoint greatest = RowsOf("final_greatest", greatest_[block.device], all, block),
                 sums = RowsOf("final_sums", sums_[block.device], all, block);
  const Endpoint less = New("Sub", "share_less", block).Input(block.greatest).Input(greatest).Build();
  const Endpoint share = New("Exp", "share", block).Input(less).Build();
  const Endpoint scale = New("RealDiv", "share_of_row", block).Input(share).Input(sums).Build();
  return New("Mul", "probabilities", block).Input(block.exponentials).Input(scale).Build();
}

Endpoint RingAttention::Probabilities(Endpoint of, const Block& block) {
  return Shaped(fmt::format("probabilities_{}", number_++), block.made.at(a_.softmax),
                ShapeIn({a_.softmax, 0}, block), ShapeIn(of, block), block);
}

std::map<NodeId, char> RingAttention::BehindRowSums() const {
  std::map<NodeId, char> behind;
  for (const NodeId id : a_.behind) {
    for (const Endpoint& input : step_.graph.node(id).inputs) {
      const auto found = a_.tensors.find(input.node);
      const bool is_sum = found != a_.tensors.end() && found->second == AttentionTensor::kRowSums;
      if (is_sum || behind.contains(input.node)) behind[id] = 1;
    }
  }
  return behind;
}

// The sums of probabilities times their gradients are those of results times theirs (Dao et al.,
// "FlashAttention", 2022, equation 4); without the results, they are added up block by block.
void RingAttention::FindRowSums(const std::map<NodeId, char>& behind) {
  const Layout layout = step_.plan.of(a_.gradients).inputs[0];
  const Shape all = ShapeOf({a_.gradients, 0});
  const int rank = all.rank();
  if (behind.empty()) return;
  if (a_.result.exists()) {
    for (size_t r = 0; r < count_; ++r) {
      const Block block = RowsOfDevice(r);
      const Endpoint gradient = Cast("wide_gradient", step_.in(layout, a_.gradient)[r], type_, wide_, block);
      const Endpoint times = New("Mul", "result_times", block).Input(gradient).Input(joined_[r]).Build();
      const Endpoint last = step_.nodes->Number(fmt::format("{}row_axis_{}", Scope(), r), rank - 1);
      const Endpoint sum =
          New("Sum", "row_sums", block).Input(times).Input(last).Attr("keep_dims", true).Build();
      row_sums_[r] = Cast("narrow_row_sums", sum, wide_, type_, block);
    }
    return;
  }
  const auto found = std::ranges::find_if(
      a_.tensors, [](const auto& each) { return each.second == AttentionTensor::kRowSums; });
  const NodeId times = step_.graph.node(found->first).inputs[0].node;
  for (const Block& block : seen_) {
    const Endpoint last =
        step_.nodes->Number(fmt::format("{}row_axis_{}_{}", Scope(), block.step, block.device), rank - 1);
    const Shape from = ShapeIn({times, 0}, block), to = WithLast(all, block.part.rows, block.part.columns);
    const Endpoint shaped = Shaped("row_terms", block.made.at(times), from, to, block);
    Endpoint sum = New("Sum", "row_sum", block).Input(shaped).Input(last).Attr("keep_dims", true).Build();
    sum = Padded("row_sum", sum, rank, rank - 2, block.part.row,
                 blocks_.rows() - block.part.row - block.part.rows, std::nullopt, block);
    Endpoint& joined = row_sums_[block.device];
    joined = joined.node.exists() ? New("AddV2", "row_sums", block).Input(joined).Input(sum).Build() : sum;
  }
}

std::map<NodeId, Shards> RingAttention::WriteBackward() {
  const Layout of_gradient = step_.plan.of(a_.gradients).inputs[0];
  const Shards gradients = step_.in(of_gradient, a_.gradient);
  const Shape gradient_shape = ShapeOnDevice(ShapeOf(a_.gradient), of_gradient, static_cast<int64_t>(count_));
  const Traveller keys = TravellerOf(a_.keys), values = TravellerOf(a_.values);
  const auto again = [&](const Traveller& traveller, const std::string& what) {
    Shards later;
    const Shards own = step_.in(step_.plan.of(traveller.source), traveller.source);
    for (size_t r = 0; r < count_; ++r) {
      later.push_back(
          New("Identity", what + "_later", r).Input(own[r]).ControlInput(gradients[r].node).Build());
    }
    return GoRound(what, later);
  };
  const std::vector<Shards> all_keys = again(keys, "keys_again"), all_values = again(values, "values_again");
  const std::map<NodeId, char> behind = BehindRowSums();
  std::map<std::pair<size_t, size_t>, Endpoint> rows_of_gradient;
  for (Block& block : seen_) {
    block.made[a_.softmax] = Cast("narrow_probabilities", ShareOfRow(block), wide_, type_, block);
    const Endpoint rows = RowsOf("gradient", gradients[block.device], gradient_shape, block);
    rows_of_gradient[{block.device, block.of}] = rows;
    const Endpoint arrived = Arrived(values, all_values[block.step][block.device], "values_again_of", block);
    block.made[a_.gradients] = Clone(a_.gradients, {rows, ColumnsOf(a_.values, arrived, block)}, block);
    WriteRegion(a_.behind, false, &block);
  }
  FindRowSums(behind);
  std::map<std::pair<size_t, size_t>, Endpoint> of_keys, of_values;
  Shards of_queries(count_);
  for (Block& block : seen_) {
    WriteRegion(a_.behind, true, &block);
    const std::pair at{block.device, block.of};
    const Node& to_values = step_.graph.node(a_.of_values);
    of_values[at] = AllColumns(
        a_.of_values,
        Clone(a_.of_values, {Probabilities(to_values.inputs[0], block), rows_of_gradient.at(at)}, block),
        block);
    const Endpoint arrived = Arrived(keys, all_keys[block.step][block.device], "keys_again_of", block);
    const Node& to_queries = step_.graph.node(a_.of_queries);
    Endpoint own =
        Clone(a_.of_queries, {InputOf(a_.of_queries, 0, block), ColumnsOf(a_.keys, arrived, block)}, block);
    LANESCOPE_CHECK(to_queries.inputs.size() == 2);
    const int rank = ShapeOf({a_.of_queries, 0}).rank();
    own = Padded("of_queries", own, rank, rank - 2, block.part.row,
                 blocks_.rows() - block.part.row - block.part.rows, std::nullopt, block);
    Endpoint& sum = of_queries[block.device];
    sum = sum.node.exists() ? New("AddV2", "of_queries", block).Input(sum).Input(own).Build() : own;
    const size_t first = a_.keys_are_turned ? 0 : 1;  // the queries' place
    std::vector<Endpoint> inputs(2);
    inputs[1 - first] = InputOf(a_.of_keys, 1 - first, block);
    inputs[first] = QueriesOf(first, block);
    of_keys[at] = AllColumns(a_.of_keys, Clone(a_.of_keys, inputs, block), block);
  }
  return {{a_.of_values, GoHome("of_values", of_values, "")},
          {a_.of_queries, of_queries},
          {a_.of_keys, GoHome("of_keys", of_keys, "")}};
}

// The queries that the gradient of keys is made of.
Endpoint RingAttention::QueriesOf(size_t input, const Block& block) {
  const Layout layout = step_.plan.of(a_.of_keys).inputs[input];
  const Endpoint of = step_.graph.node(a_.of_keys).inputs[input];
  const Shape shape = ShapeOnDevice(ShapeOf(of), layout, static_cast<int64_t>(count_));
  return RowsOf("queries_again", step_.in(layout, of)[block.device], shape, block);
}

}  // namespace lanescope
