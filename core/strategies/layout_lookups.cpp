// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/layout_lookups.h"

#include <algorithm>
#include <numeric>

namespace lanescope {
namespace {

using Choices = std::vector<LayoutChoice>;

// The layouts with this one at a place, and the others whole.
std::vector<Layout> OnlyAt(size_t place, size_t count, const Layout& layout) {
  std::vector<Layout> layouts(count);
  layouts[place] = layout;
  return layouts;
}

}  // namespace

std::optional<std::vector<int64_t>> NumbersOf(const TensorInfo& info) {
  const Tensor* value = info.value.get();
  if (value == nullptr) return std::nullopt;
  const auto count = static_cast<size_t>(value->NumElements());
  if (value->dtype() == DataType::kInt32)
    return std::vector<int64_t>(value->data<int32_t>(), value->data<int32_t>() + count);
  if (value->dtype() == DataType::kInt64)
    return std::vector<int64_t>(value->data<int64_t>(), value->data<int64_t>() + count);
  return std::nullopt;
}

std::optional<int> AxisOf(const TensorInfo& info, int rank) {
  const auto numbers = NumbersOf(info);
  if (!numbers || numbers->size() != 1) return std::nullopt;
  const int64_t axis = numbers->front() < 0 ? numbers->front() + rank : numbers->front();
  return axis >= 0 && axis < rank ? std::optional(static_cast<int>(axis)) : std::nullopt;
}

std::vector<LayoutChoice> SplitChoices(const LayoutQuery& query) {
  const bool by_sizes = query.node.op == "SplitV";
  const size_t of = by_sizes ? 0 : 1, by = by_sizes ? 2 : 0;
  const Layout& layout = query.layouts[of];
  const Shape& from = query.inputs[of].shape;
  const auto axis = AxisOf(query.inputs[by], from.rank());
  if (!axis) return {};
  const auto in = OnlyAt(of, query.inputs.size(), layout);
  if (layout.terms()) return {{in, std::vector(query.outputs.size(), kTerms)}};
  if (!layout.parts()) return {};
  if (*axis != layout.axis) return {{in, std::vector(query.outputs.size(), layout)}};
  const int64_t segment = from.dim(layout.axis) / layout.segments;
  LayoutChoice choice{.inputs = in, .outputs = {}};
  for (const TensorInfo& piece : query.outputs) {
    const Dim size = piece.shape.known_rank() ? piece.shape.dim(layout.axis) : kUnknownDim;
    if (!IsExact(size) || size == 0 || size % segment != 0) return {};
    choice.outputs.push_back(InParts(layout.axis, size / segment));
  }
  return {choice};
}

std::vector<LayoutChoice> ConcatChoices(const LayoutQuery& query) {
  const size_t count = query.inputs.size() - 1;
  const Shape& to = query.outputs[0].shape;
  const auto axis = AxisOf(query.inputs[count], to.rank());
  if (!axis || !to.IsExact()) return {};
  for (size_t i = 0; i < count; ++i) {
    const Layout& layout = query.layouts[i];
    if (!layout.parts()) continue;
    LayoutChoice choice;
    if (layout.axis != *axis) {
      choice.inputs.assign(count, layout);
      choice.outputs = {layout};
    } else {
      const int64_t segment = query.inputs[i].shape.dim(*axis) / layout.segments;
      for (size_t each = 0; each < count; ++each) {
        const Dim size = query.inputs[each].shape.dim(*axis);
        if (size % segment != 0) return {};
        choice.inputs.push_back(InParts(*axis, size / segment));
      }
      choice.outputs = {InParts(*axis, to.dim(*axis) / segment)};
    }
    choice.inputs.push_back(kWhole);
    return {choice};
  }
  return {};
}

std::vector<LayoutChoice> PackChoices(const LayoutQuery& query) {
  const Shape& to = query.outputs[0].shape;
  if (!to.known_rank()) return {};
  const auto given = static_cast<int>(query.node.IntAttr("axis", 0));
  const int axis = given < 0 ? given + to.rank() : given;
  const auto cut = std::ranges::find_if(query.layouts, &Layout::parts);
  if (cut == query.layouts.end()) return {};
  const Layout out = InParts(cut->axis + (axis <= cut->axis ? 1 : 0), cut->segments);
  return {{std::vector(query.inputs.size(), *cut), {out}}};
}

namespace {

// The axis that the axis of the tensor before slicing is behind it; none: it is no whole one.
std::optional<int> AxisBehindSlice(const Node& node, const Shape& before, const Shape& behind, int axis,
                                   const TensorInfo& begin, const TensorInfo& strides) {
  const auto mask = [&](const char* name) { return node.IntAttr(name, 0); };
  const auto begins = NumbersOf(begin), steps = NumbersOf(strides);
  if (!begins || !steps || mask("ellipsis_mask") != 0 || mask("new_axis_mask") != 0) return std::nullopt;
  int out = axis;
  for (int d = 0; d < axis; ++d) out -= (mask("shrink_axis_mask") >> d & 1) != 0 ? 1 : 0;
  if (static_cast<size_t>(axis) >= begins->size()) return out;
  const bool from_begin = (mask("begin_mask") >> axis & 1) != 0 || (*begins)[static_cast<size_t>(axis)] == 0;
  const bool is_whole = (mask("shrink_axis_mask") >> axis & 1) == 0 && from_begin &&
                        (*steps)[static_cast<size_t>(axis)] == 1 && out < behind.rank() &&
                        behind.dim(out) == before.dim(axis);
  return is_whole ? std::optional(out) : std::nullopt;
}

}  // namespace

std::vector<LayoutChoice> SliceChoices(const LayoutQuery& query) {
  const Layout& layout = query.layouts[0];
  const auto in = OnlyAt(0, 4, layout);
  if (layout.terms()) return {{in, {kTerms}}};
  if (!layout.parts()) return {};
  const auto out = AxisBehindSlice(query.node, query.inputs[0].shape, query.outputs[0].shape, layout.axis,
                                   query.inputs[1], query.inputs[3]);
  if (!out) return {};
  return {{in, {InParts(*out, layout.segments)}}};
}

std::vector<LayoutChoice> SliceGradientChoices(const LayoutQuery& query) {
  const Layout& layout = query.layouts[4];
  const Shape &before = query.outputs[0].shape, &behind = query.inputs[4].shape;
  if (!layout.parts() || !before.known_rank() || !before.IsExact()) return {};
  for (int axis = 0; axis < before.rank(); ++axis) {
    if (AxisBehindSlice(query.node, before, behind, axis, query.inputs[1], query.inputs[3]) != layout.axis)
      continue;
    return {{OnlyAt(4, 5, layout), {InParts(axis, layout.segments)}}};
  }
  return {};
}

std::vector<LayoutChoice> GatherChoices(const LayoutQuery& query) {
  const Shape &table = query.inputs[0].shape, &rows = query.inputs[1].shape;
  if (query.node.IntAttr("batch_dims", 0) != 0 || !table.known_rank() || !rows.known_rank()) return {};
  const auto axis = query.inputs.size() > 2 ? AxisOf(query.inputs[2], table.rank()) : std::optional(0);
  if (axis != 0) return {};
  Choices choices;
  const auto add = [&](const Layout& of_table, const Layout& of_rows, const Layout& out) {
    LayoutChoice choice{.inputs = std::vector<Layout>(query.inputs.size()), .outputs = {out}};
    choice.inputs[0] = of_table;
    choice.inputs[1] = of_rows;
    choices.push_back(std::move(choice));
  };
  const Layout& of_table = query.layouts[0];
  if (query.open[0] != 0 || (of_table == InParts(0) && query.in_a_row)) add(InParts(0), kWhole, kTerms);
  if (of_table.parts() && of_table.axis > 0)
    add(of_table, kWhole, InParts(of_table.axis - 1 + rows.rank(), of_table.segments));
  if (query.layouts[1].parts() && query.open[0] == 0) add(kWhole, query.layouts[1], query.layouts[1]);
  return choices;
}

std::vector<LayoutChoice> GatherNdChoices(const LayoutQuery& query) {
  const Shape &from = query.inputs[0].shape, &indices = query.inputs[1].shape;
  if (!indices.known_rank() || !indices.IsExact() || indices.rank() == 0) return {};
  const auto depth = static_cast<int>(indices.dim(indices.rank() - 1));
  const Layout &of = query.layouts[0], &of_indices = query.layouts[1];
  if (of.parts() && of.axis >= depth && from.known_rank())
    return {{{of, kWhole}, {InParts(of.axis - depth + indices.rank() - 1, of.segments)}}};
  if (of.parts()) return {{{of, kWhole}, {kTerms}}};
  if (of_indices.parts() && of_indices.axis < indices.rank() - 1)
    return {{{kWhole, of_indices}, {of_indices}}};
  return {};
}

std::vector<LayoutChoice> SegmentSumChoices(const LayoutQuery& query) {
  const Shape &data = query.inputs[0].shape, &ids = query.inputs[1].shape;
  if (!data.known_rank() || !ids.known_rank()) return {};
  Choices choices;
  const Layout& layout = query.layouts[0];
  for (const Layout& asked : query.asked) {
    if (asked == InParts(0) && query.in_a_row && CanBeCut(query.outputs[0].shape, 0, 1, query.devices))
      choices.push_back({{kWhole, kWhole, kWhole}, {asked}});
  }
  if (layout.parts() && layout.axis < ids.rank()) choices.push_back({{layout, layout, kWhole}, {kTerms}});
  if (layout.parts() && layout.axis >= ids.rank())
    choices.push_back({{layout, kWhole, kWhole}, {InParts(layout.axis - ids.rank() + 1, layout.segments)}});
  return choices;
}

std::vector<LayoutChoice> OneHotChoices(const LayoutQuery& query) {
  const Shape& to = query.outputs[0].shape;
  if (!to.known_rank()) return {};
  const auto given = static_cast<int>(query.node.IntAttr("axis", -1));
  const int axis = given < 0 ? to.rank() - 1 : given;
  Choices choices;
  const auto add = [&](const Layout& out) {
    LayoutChoice choice{.inputs = std::vector<Layout>(4), .outputs = {out}};
    if (out.axis == axis && (out.segments != 1 || !query.in_a_row)) return;
    if (out.axis != axis) choice.inputs[0] = InParts(out.axis - (out.axis > axis ? 1 : 0), out.segments);
    if (CanBeCut(to, out.axis, out.segments, query.devices)) choices.push_back(std::move(choice));
  };
  const Layout& layout = query.layouts[0];
  if (layout.parts()) add(InParts(layout.axis + (layout.axis >= axis ? 1 : 0), layout.segments));
  for (const Layout& asked : query.asked) add(asked);
  return choices;
}

namespace {

// By heads, which are the first or second axis behind the batch: a graph may have tensors as they lie in
// memory.
std::vector<LayoutChoice> AttentionChoices(const LayoutQuery& query) {
  const auto cut = std::ranges::find_if(query.layouts, &Layout::parts);
  if (cut == query.layouts.end()) return {};
  const Dim heads = query.inputs[static_cast<size_t>(cut - query.layouts.begin())].shape.dim(cut->axis);
  const auto of = [&](const Shape& shape) {
    for (const int axis : {1, 2}) {
      if (shape.rank() >= 3 && shape.dim(axis) == heads) return InParts(axis, cut->segments);
    }
    return kWhole;
  };
  LayoutChoice choice;
  for (size_t i = 0; i < query.inputs.size(); ++i)
    choice.inputs.push_back(query.layouts[i].parts() ? query.layouts[i] : of(query.inputs[i].shape));
  for (const TensorInfo& output : query.outputs) choice.outputs.push_back(of(output.shape));
  return {choice};
}

// By queries, of which each device has those of its tokens, and of keys and values all; the gradients of
// these are terms. Backward, gradients of the output come first.
std::vector<LayoutChoice> TokenAttentionChoices(const LayoutQuery& query) {
  const bool is_backward = query.node.op.find("Backward") != std::string::npos;
  const size_t first = is_backward ? 1 : 0;
  if (query.layouts.size() < first + 3 || !query.layouts[first].parts()) return {};
  const Layout& cut = query.layouts[first];
  const Shape& queries = query.inputs[first].shape;
  const auto of = [&](const TensorInfo& info) {
    const bool has_queries = info.shape.rank() > cut.axis &&
                             info.shape.dim(cut.axis) == queries.dim(cut.axis) &&
                             info.shape.rank() + 1 >= queries.rank();
    return has_queries ? cut : kWhole;
  };
  LayoutChoice choice;
  for (size_t i = 0; i < query.inputs.size(); ++i) {
    const bool is_keys = i == first + 1 || i == first + 2;
    choice.inputs.push_back(is_keys ? kWhole : of(query.inputs[i]));
  }
  for (size_t k = 0; k < query.outputs.size(); ++k)
    choice.outputs.push_back(is_backward && (k == 1 || k == 2) ? kTerms : of(query.outputs[k]));
  return {choice};
}

}  // namespace

std::vector<LayoutChoice> CostOnlyChoices(const LayoutQuery& query) {
  const std::string& op = query.node.op;
  if (op.starts_with("AtenScaledDotProduct"))
    return query.by == SplitBy::kTokens ? TokenAttentionChoices(query) : AttentionChoices(query);
  const auto logits = std::ranges::find(query.layouts, InParts(1));
  if (logits == query.layouts.end()) return {};
  if (op == "AtenNllLossForward") return {{OnlyAt(0, query.inputs.size(), *logits), {kTerms, kWhole}}};
  if (op == "AtenNllLossBackward") return {{OnlyAt(1, query.inputs.size(), *logits), {*logits}}};
  if (op == "AtenLogSoftmaxBackwardData" && query.outputs[0].shape.rank() == 2)
    return {{std::vector(query.inputs.size(), *logits), {*logits}}};
  return {};
}

}  // namespace lanescope
