// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/ring_attention.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <set>

#include "core/base/error.h"

namespace lanescope {
namespace {

bool IsNarrow(DataType type) { return type == DataType::kHalf || type == DataType::kBfloat16; }

// Gives elements of its input, perhaps times a number.
bool IsView(const GraphInfo& info, const Node& node) {
  static const std::set<std::string_view> kViews = {"Reshape", "Transpose",  "BroadcastTo",
                                                    "Squeeze", "ExpandDims", "Identity"};
  if (kViews.contains(node.op)) return true;
  if (node.op != "Mul") return false;
  const Shape& by = info.of(node.inputs[1]).shape;
  return by.known_rank() && by.IsExact() && by.NumElements() == 1;
}

}  // namespace

RingAttention::RingAttention(const RingStep& step, const Attention& attention, size_t devices,
                             RingOrder order)
    : step_(step),
      a_(attention),
      count_(devices),
      bounds_(step.graph, step.info),
      blocks_(step.graph, step.info, attention, devices, order, &bounds_),
      conversions_(step.conversions(attention.scores)),
      type_(step.info.of({attention.softmax, 0}).dtype),
      wide_(IsNarrow(type_) ? DataType::kFloat : type_),
      greatest_(devices),
      sums_(devices),
      joined_(devices),
      row_sums_(devices) {
  for (size_t s = 0; s < count_; ++s) {
    for (size_t r = 0; r < count_; ++r) {
      const size_t block = (r + count_ - s) % count_;
      if (const auto part = blocks_.Seen(r, block))
        seen_.push_back({.of = block,
                         .device = r,
                         .step = s,
                         .part = *part,
                         .exponentials = {},
                         .greatest = {},
                         .made = {}});
    }
  }
}

Layout RingAttention::LayoutOf(const GraphInfo& info, const Attention& attention, NodeId end) {
  const int rank = info.of({end, 0}).shape.rank();
  // The gradient of keys that lie turned: queries come first in its product.
  const bool turned = end == attention.of_keys && attention.keys_are_turned;
  return InParts(turned ? rank - 1 : rank - 2);
}

// --- what goes round ---

RingAttention::Traveller RingAttention::TravellerOf(Endpoint arrived) const {
  Traveller best{.source = arrived, .arrived = arrived, .views = {}};
  int64_t least = BytesOf(step_.info.of(arrived));
  std::vector<NodeId> views;
  for (Endpoint at = arrived; IsView(step_.info, step_.graph.node(at.node));) {
    const Endpoint before = step_.graph.node(at.node).inputs[0];
    const LayoutChoice choice = step_.plan.of(at.node);
    if (!choice.inputs[0].parts() || step_.plan.of(before) != choice.inputs[0]) break;
    views.insert(views.begin(), at.node);
    at = before;
    if (BytesOf(step_.info.of(at)) < least) {
      least = BytesOf(step_.info.of(at));
      best = {.source = at, .arrived = arrived, .views = views};
    }
  }
  return best;
}

std::vector<Shards> RingAttention::GoRound(const std::string& what, const Shards& own) {
  std::vector<Shards> arrivals{own};
  for (size_t s = 1; s < count_; ++s) {
    Shards& here = arrivals.emplace_back(count_);
    for (size_t r = 0; r < count_; ++r) {
      const size_t before = (r + count_ - 1) % count_, block = (r + count_ - s) % count_;
      if (!blocks_.IsNeededFrom(s, block)) continue;
      here[r] = New("Identity", fmt::format("step_{}/{}", s, what), r).Input(arrivals[s - 1][before]).Build();
    }
  }
  return arrivals;
}

Endpoint RingAttention::Arrived(const Traveller& traveller, Endpoint source, const std::string& what,
                                const Block& block) {
  if (block.step == 0) return step_.in(step_.plan.of(traveller.arrived), traveller.arrived)[block.device];
  Endpoint at = source;
  for (const NodeId id : traveller.views) {
    const std::string& name = step_.graph.node(id).name;
    const NodeId own = step_.in(step_.plan.of({id, 0}), {id, 0})[block.device].node;
    Node node = step_.written->node(own);
    node.name = fmt::format("{}step_{}/{}/{}_{}", Scope(), block.step, what, name, block.device);
    node.inputs[0] = at;
    node.control_inputs.clear();
    node.attrs.erase("_class");
    at = {step_.written->AddNode(std::move(node)), 0};
  }
  return at;
}

Shards RingAttention::GoHome(const std::string& what,
                             const std::map<std::pair<size_t, size_t>, Endpoint>& of_blocks,
                             const std::string& scope) {
  Shards home;
  for (size_t block = 0; block < count_; ++block) {
    Endpoint sum;
    size_t at = block;
    const auto move = [&](size_t to, size_t s) {
      if (to != at)
        sum = New("Identity", fmt::format("{}step_{}/{}_arrived", scope, s, what), to).Input(sum).Build();
      at = to;
    };
    for (size_t s = 0; s < count_; ++s) {
      const size_t r = (block + s) % count_;
      const auto own = of_blocks.find({r, block});
      if (s == 0) {
        sum = own->second;
        continue;
      }
      if (!blocks_.IsNeededFrom(s, block)) break;
      move(r, s);
      if (own == of_blocks.end()) continue;
      sum =
          New("AddV2", fmt::format("{}step_{}/{}", scope, s, what), r).Input(sum).Input(own->second).Build();
    }
    move(block, count_);
    home.push_back(sum);
  }
  return home;
}

// --- regions ---

Endpoint RingAttention::Operand(NodeId reader, size_t input, const Block& block) {
  const Endpoint of = step_.graph.node(reader).inputs[input];
  const Layout layout = step_.plan.of(reader).inputs[input];
  Endpoint tensor = step_.in(layout, of)[block.device];
  Shape shape = ShapeOnDevice(ShapeOf(of), layout, static_cast<int64_t>(count_));
  const Shape& out = ShapeOf({reader, 0});
  const int rank = shape.rank();
  if (rank >= 2 && shape.dim(rank - 2) == blocks_.rows() && layout == InParts(rank - 2)) {
    tensor = RowsOf("rows", tensor, shape, block);
    shape.set_dim(rank - 2, block.part.rows);
  }
  if (rank < 1 || shape.dim(rank - 1) == 1 || shape.dim(rank - 1) != out.dim(out.rank() - 1)) return tensor;
  std::vector<Endpoint> runs;
  for (const auto& [first, size] : blocks_.PlacesOf(block.of, block.part))
    runs.push_back(Along("columns", tensor, shape, rank - 1, first, size, block));
  if (runs.size() == 1) return runs[0];
  const std::string name = fmt::format("joined_columns_{}", number_++);
  const Endpoint axis =
      step_.nodes->Number(fmt::format("{}{}_axis_{}", Scope(), name, block.device), rank - 1);
  return New("ConcatV2", name, block).Inputs(runs).Input(axis).Build();
}

Endpoint RingAttention::InputOf(NodeId reader, size_t input, const Block& block) {
  const Endpoint of = step_.graph.node(reader).inputs[input];
  const auto found = a_.tensors.find(of.node);
  if (found == a_.tensors.end()) return Operand(reader, input, block);
  if (found->second == AttentionTensor::kProbabilities) return Probabilities(of, block);
  if (found->second != AttentionTensor::kRowSums) return block.made.at(of.node);
  const Shape from = WithLast(ShapeOf({a_.gradients, 0}), blocks_.rows(), 1), to = ShapeOf(of);
  const Endpoint rows = RowsOf("row_sums", row_sums_[block.device], from, block);
  return Shaped(fmt::format("row_sums_{}", number_++), rows, WithLast(from, block.part.rows, 1),
                WithLast(to, block.part.rows, 1), block);
}

void RingAttention::WriteRegion(const std::vector<NodeId>& region, bool behind_row_sums, Block* block) {
  const std::map<NodeId, char> behind = BehindRowSums();
  for (const NodeId id : region) {
    if (behind.contains(id) != behind_row_sums || block->made.contains(id)) continue;
    const Node& node = step_.graph.node(id);
    if (node.op == "Reshape") {
      const Endpoint tensor = InputOf(id, 0, *block);
      block->made[id] = conversions_.Reshape(fmt::format("{}step_{}/", Scope(), block->step), node.name,
                                             tensor, ShapeIn({id, 0}, *block), block->device);
      continue;
    }
    std::vector<Endpoint> inputs;
    for (size_t i = 0; i < node.inputs.size(); ++i) inputs.push_back(InputOf(id, i, *block));
    block->made[id] = Clone(id, std::move(inputs), *block);
  }
}

// --- forward ---

// The exponentials of a block's scores, less than the greatest of a row; where a row sees nothing, they are
// 0.
void RingAttention::WriteScores(Block* block, Endpoint keys) {
  const Node& product = step_.graph.node(a_.scores);
  const Layout layout = step_.plan.of(a_.scores).inputs[0];
  const Shape queries = ShapeOnDevice(ShapeOf(a_.queries), layout, static_cast<int64_t>(count_));
  const Endpoint rows = RowsOf("queries", step_.in(layout, a_.queries)[block->device], queries, *block);
  block->made[a_.scores] = Clone(a_.scores, {rows, keys}, *block);
  LANESCOPE_CHECK(product.inputs.size() == 2);
  WriteRegion(a_.before, false, block);
  const Endpoint last_scores = block->made.at(step_.graph.node(a_.softmax).inputs[0].node);
  const Endpoint scores = Cast("wide_scores", last_scores, type_, wide_, *block);
  const int rank = ShapeOf({a_.softmax, 0}).rank();
  const Endpoint last =
      step_.nodes->Number(fmt::format("{}last_{}_{}", Scope(), block->step, block->device), rank - 1);
  Endpoint lowest = step_.nodes->Constant(fmt::format("{}lowest_{}_{}", Scope(), block->step, block->device),
                                          Tensor::Scalar(std::numeric_limits<float>::lowest()));
  lowest = Cast("lowest", lowest, DataType::kFloat, wide_, *block);
  const Endpoint greatest =
      New("Max", "greatest", *block).Input(scores).Input(last).Attr("keep_dims", true).Build();
  block->greatest = New("Maximum", "greatest_seen", *block).Input(greatest).Input(lowest).Build();
  const Endpoint less = New("Sub", "shifted", *block).Input(scores).Input(block->greatest).Build();
  block->exponentials = New("Exp", "exponentials", *block).Input(less).Build();
}

void RingAttention::Join(const Block& block, Endpoint values) {
  const Shape statistics = WithLast(ShapeOf({a_.softmax, 0}), blocks_.rows(), 1);
  const int rank = statistics.rank();
  const Endpoint last =
      step_.nodes->Number(fmt::format("{}sum_{}_{}", Scope(), block.step, block.device), rank - 1);
  Endpoint sum =
      New("Sum", "sum", block).Input(block.exponentials).Input(last).Attr("keep_dims", true).Build();
  sum = AllRows("sum", sum, rank, 0, block);
  const Endpoint greatest =
      AllRows("greatest", block.greatest, rank, std::numeric_limits<float>::lowest(), block);
  Endpoint result;
  Shape of_result;
  if (values.node.exists()) {
    const Endpoint probabilities = step_.graph.node(a_.result).inputs[0];
    const Shape narrow = ShapeIn({a_.softmax, 0}, block);
    const Endpoint weights = Cast("weights", block.exponentials, wide_, type_, block);
    result = Clone(a_.result,
                   {Shaped("weights_shaped", weights, narrow, ShapeIn(probabilities, block), block), values},
                   block);
    result = Cast("wide_result", result, type_, wide_, block);
    of_result = ShapeOf({a_.result, 0});
    result = AllRows("result", result, of_result.rank(), 0, block);
  }
  Endpoint &all_greatest = greatest_[block.device], &all_sum = sums_[block.device],
           &all = joined_[block.device];
  if (!all_sum.node.exists()) {
    all_greatest = greatest;
    all_sum = sum;
    all = result;
    return;
  }
  const Endpoint higher =
      New("Maximum", "joined_greatest", block).Input(all_greatest).Input(greatest).Build();
  const auto share = [&](const char* name, Endpoint of) {
    const Endpoint less = New("Sub", fmt::format("{}_less", name), block).Input(of).Input(higher).Build();
    return New("Exp", name, block).Input(less).Build();
  };
  const Endpoint before = share("share_before", all_greatest), here = share("share_here", greatest);
  const auto join = [&](const std::string& name, Endpoint old, Endpoint added, Endpoint of_old,
                        Endpoint of_added) {
    const Endpoint a = New("Mul", name + "_before", block).Input(old).Input(of_old).Build(),
                   b = New("Mul", name + "_here", block).Input(added).Input(of_added).Build();
    return New("AddV2", name, block).Input(a).Input(b).Build();
  };
  all_sum = join("joined_sum", all_sum, sum, before, here);
  if (values.node.exists()) {
    const Shape to = WithLast(of_result, blocks_.rows(), 1);
    all = join("joined_result", all, result, Shaped("share_before_shaped", before, statistics, to, block),
               Shaped("share_here_shaped", here, statistics, to, block));
  }
  all_greatest = higher;
}

RingAttention::Block RingAttention::RowsOfDevice(size_t r) const {
  return {.of = r,
          .device = r,
          .step = count_,
          .part = {0, blocks_.rows(), 0, 0},
          .exponentials = {},
          .greatest = {},
          .made = {}};
}

// Divides as the softmax would have done before: by the sum of all exponentials, which is 0 where a row sees
// nothing. Then the result is 0.
Endpoint RingAttention::Finish(size_t r) {
  const Block block = RowsOfDevice(r);
  Endpoint least = step_.nodes->Constant(fmt::format("{}least_{}", Scope(), r),
                                         Tensor::Scalar(std::numeric_limits<float>::min()));
  least = Cast("least", least, DataType::kFloat, wide_, block);
  sums_[r] = New("Maximum", "sums", block).Input(sums_[r]).Input(least).Build();
  if (!joined_[r].node.exists()) return {};
  const Shape from = WithLast(ShapeOf({a_.softmax, 0}), blocks_.rows(), 1),
              to = WithLast(ShapeOf({a_.result, 0}), blocks_.rows(), 1);
  const Endpoint sums = Shaped("sums_shaped", sums_[r], from, to, block);
  joined_[r] = New("RealDiv", "result", block).Input(joined_[r]).Input(sums).Build();
  return Cast("narrow_result", joined_[r], wide_, type_, block);
}

std::map<NodeId, Shards> RingAttention::WriteForward() {
  const Traveller keys = TravellerOf(a_.keys), values = TravellerOf(a_.values);
  const bool has_result = a_.result.exists();
  const std::vector<Shards> all_keys = GoRound("keys", step_.in(step_.plan.of(keys.source), keys.source));
  std::vector<Shards> all_values;
  if (has_result) all_values = GoRound("values", step_.in(step_.plan.of(values.source), values.source));
  for (Block& block : seen_) {
    WriteScores(
        &block,
        ColumnsOf(a_.keys, Arrived(keys, all_keys[block.step][block.device], "keys_of", block), block));
    Endpoint arrived;
    if (has_result)
      arrived = ColumnsOf(a_.values,
                          Arrived(values, all_values[block.step][block.device], "values_of", block), block);
    Join(block, arrived);
  }
  Shards results;
  for (size_t r = 0; r < count_; ++r) results.push_back(Finish(r));
  if (!has_result) return {};
  return {{a_.result, results}};
}

}  // namespace lanescope
