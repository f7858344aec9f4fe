// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/layout_rules.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "core/strategies/attention_heads.h"
#include "core/strategies/layout_lookups.h"
#include "core/strategies/variables_in_parts.h"

namespace lanescope {
namespace {

using Choices = std::vector<LayoutChoice>;

// --- element by element ---

// Sums, of which terms can be summed each by itself.
bool IsSumOfTerms(const std::string& op) {
  return op == "AddV2" || op == "Add" || op == "AddN" || op == "Sub" || op == "Neg" || op == "Identity";
}

// Inputs are broadcast to the output's shape; the last axes lie over each other.
std::optional<LayoutChoice> CutOutput(const LayoutQuery& query, const Layout& cut) {
  const Shape& to = query.outputs[0].shape;
  if (!CanBeCut(to, cut.axis, cut.segments, query.devices)) return std::nullopt;
  LayoutChoice choice{.inputs = {}, .outputs = {cut}};
  for (const TensorInfo& input : query.inputs) {
    if (!input.shape.known_rank()) return std::nullopt;
    const int axis = cut.axis - (to.rank() - input.shape.rank());
    const bool is_broadcast = axis < 0 || input.shape.dim(axis) == 1;
    choice.inputs.push_back(is_broadcast ? kWhole : InParts(axis, cut.segments));
  }
  return choice;
}

Choices ElementWise(const LayoutQuery& query) {
  Choices choices;
  if (query.outputs.empty() || !query.outputs[0].shape.known_rank()) return choices;
  if (IsSumOfTerms(query.node.op) && std::ranges::all_of(query.layouts, &Layout::terms) &&
      std::ranges::all_of(query.inputs,
                          [&](const TensorInfo& in) { return in.shape == query.outputs[0].shape; }))
    choices.push_back({query.layouts, {kTerms}});
  const auto add = [&](const Layout& cut) {
    if (auto choice = CutOutput(query, cut)) choices.push_back(std::move(*choice));
  };
  for (size_t i = 0; i < query.layouts.size(); ++i) {
    if (!query.layouts[i].parts() || !query.inputs[i].shape.known_rank()) continue;
    const int lead = query.outputs[0].shape.rank() - query.inputs[i].shape.rank();
    add(InParts(lead + query.layouts[i].axis, query.layouts[i].segments));
  }
  for (const Layout& asked : query.asked) add(asked);
  return choices;
}

// --- other shapes of the same elements ---

// The module whose gradient a node below "gradients/" serves: people know it by name. Other nodes are
// themselves.
std::string_view ForwardName(std::string_view node) {
  constexpr std::string_view kGradients = "gradients/";
  const size_t begin = node.find(kGradients);
  if (begin == std::string_view::npos || (begin > 0 && node[begin - 1] != '/')) return node;
  const std::string_view forward = node.substr(begin + kGradients.size());
  return forward.substr(0, forward.rfind('/'));
}

// An axis that is heads times their size, taken apart: the heads have to divide.
void CheckHeads(const LayoutQuery& query, const Shape& from, const Shape& to, const Layout& parts) {
  if (query.by_tokens) return;
  int64_t before = 1, rows = 1;
  for (int d = 0; d < parts.axis; ++d) rows *= from.dim(d);
  for (int d = 0; d < to.rank() && before <= rows; before *= to.dim(d), ++d) {
    const int64_t heads = to.dim(d);
    if (before != rows || heads <= 1 || heads % query.devices == 0 || from.dim(parts.axis) % heads != 0)
      continue;
    RefuseHeads(query.by, ForwardName(query.node.name), heads, heads, heads, query.devices);
  }
}

Choices OtherShape(const LayoutQuery& query) {
  const Shape &from = query.inputs[0].shape, &to = query.outputs[0].shape;
  if (!from.known_rank() || !from.IsExact() || !to.known_rank() || !to.IsExact()) return {};
  Choices choices;
  const auto add = [&](const Layout& in, const Layout& out) {
    LayoutChoice choice{.inputs = std::vector<Layout>(query.inputs.size()), .outputs = {out}};
    choice.inputs[0] = in;
    choices.push_back(std::move(choice));
  };
  const Layout& layout = query.layouts[0];
  if (layout.terms()) add(kTerms, kTerms);
  if (layout.parts()) {
    if (const auto out = Reshaped(from, layout, to, query.devices))
      add(layout, *out);
    else
      CheckHeads(query, from, to, layout);
  }
  for (const Layout& asked : query.asked) {
    if (!CanBeCut(to, asked.axis, asked.segments, query.devices)) continue;
    if (const auto in = Reshaped(to, asked, from, query.devices)) add(*in, asked);
  }
  return choices;
}

Choices Transposed(const LayoutQuery& query) {
  const auto order = NumbersOf(query.inputs[1]);
  if (!order) return {};
  Choices choices;
  const auto out = std::ranges::find(*order, query.layouts[0].axis);
  if (query.layouts[0].terms()) choices.push_back({{kTerms, kWhole}, {kTerms}});
  if (query.layouts[0].parts() && out != order->end())
    choices.push_back({{query.layouts[0], kWhole},
                       {InParts(static_cast<int>(out - order->begin()), query.layouts[0].segments)}});
  for (const Layout& asked : query.asked) {
    if (static_cast<size_t>(asked.axis) >= order->size()) continue;
    const auto axis = static_cast<int>((*order)[static_cast<size_t>(asked.axis)]);
    choices.push_back({{InParts(axis, asked.segments), kWhole}, {asked}});
  }
  return choices;
}

// --- products ---

// A product of matrices behind any number of axes that are the same.
Choices Product(const LayoutQuery& query) {
  const Shape &a = query.inputs[0].shape, &b = query.inputs[1].shape, &c = query.outputs[0].shape;
  if (query.inputs.size() != 2 || !a.known_rank() || !b.known_rank() || a.rank() != b.rank() || a.rank() < 2)
    return {};
  const int last = a.rank() - 1;
  const bool turned_a = query.node.BoolAttr("transpose_a", query.node.BoolAttr("adj_x", false)),
             turned_b = query.node.BoolAttr("transpose_b", query.node.BoolAttr("adj_y", false));
  const int a_rows = turned_a ? last : last - 1, a_inner = turned_a ? last - 1 : last,
            b_inner = turned_b ? last : last - 1, b_columns = turned_b ? last - 1 : last;
  Choices choices;
  const auto batch = [&](int axis, int64_t segments) {
    const auto of = [&](const Shape& shape) {
      return shape.dim(axis) == c.dim(axis) ? InParts(axis, segments) : kWhole;
    };
    choices.push_back({{of(a), of(b)}, {InParts(axis, segments)}});
  };
  const auto rows = [&](int64_t segments) {
    choices.push_back({{InParts(a_rows, segments), kWhole}, {InParts(last - 1, segments)}});
  };
  const auto columns = [&](int64_t segments) {
    choices.push_back({{kWhole, InParts(b_columns, segments)}, {InParts(last, segments)}});
  };
  const auto inner = [&](int64_t segments) {
    choices.push_back({{InParts(a_inner, segments), InParts(b_inner, segments)}, {kTerms}});
  };
  const auto follow = [&](const Layout& layout, int own, const auto& cut_own, int own_inner) {
    if (!layout.parts()) return;
    if (layout.axis == own) cut_own(layout.segments);
    if (layout.axis == own_inner) inner(layout.segments);
    if (layout.axis < last - 1) batch(layout.axis, layout.segments);
  };
  // Tokens are gathered before a matrix that is cut by columns.
  const auto gathers = [&](const Layout& layout, int own_inner) {
    if (!layout.parts()) return true;
    return query.by == SplitBy::kMatricesAndTokens && layout.axis != own_inner;
  };
  if (query.open[1] != 0 && gathers(query.layouts[0], a_inner)) columns(query.segments);
  if (query.open[0] != 0 && gathers(query.layouts[1], b_inner)) rows(query.segments);
  follow(query.layouts[0], a_rows, rows, a_inner);
  follow(query.layouts[1], b_columns, columns, b_inner);
  if (query.by != SplitBy::kTokens) return choices;
  for (const Layout& asked : query.asked) {
    if (asked.axis == last - 1) rows(asked.segments);
    if (asked.axis < last - 1) batch(asked.axis, asked.segments);
  }
  return choices;
}

// --- along axes ---

// Every axis but those that the op works along stays cut: softmax, normalizations by the last axis.
Choices AlongLast(const LayoutQuery& query) {
  if (!query.layouts[0].parts()) return {};
  const bool last = query.layouts[0].axis == query.inputs[0].shape.rank() - 1;
  if (last && query.node.op != "LogSoftmax" && query.node.op != "Softmax") return {};
  if (last && query.layouts[0].segments != 1) return {};
  return {{{query.layouts[0]}, {query.layouts[0]}}};
}

Choices Reduction(const LayoutQuery& query) {
  const Shape& from = query.inputs[0].shape;
  const auto reduced = NumbersOf(query.inputs[1]);
  const Layout& layout = query.layouts[0];
  if (!reduced || !from.known_rank() || !from.IsExact()) return {};
  const bool adds = query.node.op == "Sum" || query.node.op == "Mean";
  if (layout.terms() && adds) return {{{kTerms, kWhole}, {kTerms}}};
  std::set<int> gone;
  for (const int64_t each : *reduced) gone.insert(static_cast<int>(each < 0 ? each + from.rank() : each));
  const bool keeps = query.node.BoolAttr("keep_dims", false);
  const auto behind = [&](int axis) {
    const auto before = std::ranges::count_if(gone, [&](int each) { return each < axis; });
    return keeps ? axis : axis - static_cast<int>(before);
  };
  Choices choices;
  if (layout.parts() && gone.contains(layout.axis)) {
    if (adds) choices.push_back({{layout, kWhole}, {kTerms}});
    return choices;
  }
  if (layout.parts()) choices.push_back({{layout, kWhole}, {InParts(behind(layout.axis), layout.segments)}});
  for (const Layout& asked : query.asked) {
    for (int axis = 0; axis < from.rank(); ++axis) {
      if (!gone.contains(axis) && behind(axis) == asked.axis)
        choices.push_back({{InParts(axis, asked.segments), kWhole}, {asked}});
    }
  }
  return choices;
}

// The sum over all axes but the last.
Choices BiasGradient(const LayoutQuery& query) {
  const Layout& layout = query.layouts[0];
  if (layout.terms()) return {{{kTerms}, {kTerms}}};
  if (!layout.parts() || query.node.StringAttr("data_format", "NHWC") != "NHWC") return {};
  const bool last = layout.axis == query.inputs[0].shape.rank() - 1;
  return {{{layout}, {last ? InParts(0, layout.segments) : kTerms}}};
}

Choices SumOfSquares(const LayoutQuery& query) {
  if (!query.layouts[0].parts()) return {};
  return {{{query.layouts[0]}, {kTerms}}};
}

Choices Broadcast(const LayoutQuery& query) {
  const Shape &from = query.inputs[0].shape, &to = query.outputs[0].shape;
  if (!from.known_rank() || !to.known_rank() || !to.IsExact()) return {};
  Choices choices;
  const auto add = [&](const Layout& out) {
    if (!CanBeCut(to, out.axis, out.segments, query.devices)) return;
    const int axis = out.axis - (to.rank() - from.rank());
    const bool grows = axis < 0 || from.dim(axis) != to.dim(out.axis);
    choices.push_back({{grows ? kWhole : InParts(axis, out.segments), kWhole}, {out}});
  };
  const Layout& layout = query.layouts[0];
  if (layout.parts()) add(InParts(layout.axis + to.rank() - from.rank(), layout.segments));
  for (const Layout& asked : query.asked) add(asked);
  return choices;
}

Choices Filled(const LayoutQuery& query) {
  Choices choices;
  for (const Layout& asked : query.asked) {
    if (CanBeCut(query.outputs[0].shape, asked.axis, asked.segments, query.devices))
      choices.push_back({{kWhole, kWhole}, {asked}});
  }
  return choices;
}

// --- collectives that join groups, at each place of a group by itself ---

Choices AllReduced(const LayoutQuery& query) {
  if (!query.layouts[0].parts()) return {};
  return {{{query.layouts[0]}, {query.layouts[0]}}};
}

// The tensors of so many members, one behind the other: the parts are of each of them.
std::optional<int64_t> TimesLonger(const Shape& longer, const Shape& shorter) {
  if (!longer.known_rank() || !shorter.known_rank() || longer.rank() == 0 || shorter.rank() != longer.rank())
    return std::nullopt;
  if (!longer.IsExact() || !shorter.IsExact() || shorter.dim(0) == 0) return std::nullopt;
  return longer.dim(0) / shorter.dim(0);
}

Choices Gathered(const LayoutQuery& query) {
  const auto members = TimesLonger(query.outputs[0].shape, query.inputs[0].shape);
  const Layout& layout = query.layouts[0];
  if (!layout.parts() || !members) return {};
  LayoutChoice choice{.inputs = std::vector<Layout>(query.inputs.size()), .outputs = {layout}};
  choice.inputs[0] = layout;
  if (layout.axis == 0) choice.outputs[0].segments *= *members;
  return {choice};
}

Choices ScatteredSum(const LayoutQuery& query) {
  const auto members = TimesLonger(query.inputs[0].shape, query.outputs[0].shape);
  const Layout& layout = query.layouts[0];
  if (!layout.parts() || !members) return {};
  LayoutChoice choice{.inputs = std::vector<Layout>(query.inputs.size()), .outputs = {layout}};
  choice.inputs[0] = layout;
  if (layout.axis == 0) {
    if (layout.segments % *members != 0) return {};
    choice.outputs[0].segments /= *members;
  }
  return {choice};
}

// --- by names ---

const std::map<std::string_view, Choices (*)(const LayoutQuery&), std::less<>>& Table() {
  static const std::map<std::string_view, Choices (*)(const LayoutQuery&), std::less<>> kTable = {
      {"Reshape", &OtherShape},
      {"Squeeze", &OtherShape},
      {"ExpandDims", &OtherShape},
      {"Transpose", &Transposed},
      {"MatMul", &Product},
      {"BatchMatMul", &Product},
      {"BatchMatMulV2", &Product},
      {"Softmax", &AlongLast},
      {"LogSoftmax", &AlongLast},
      {"Sum", &Reduction},
      {"Mean", &Reduction},
      {"Max", &Reduction},
      {"Min", &Reduction},
      {"Prod", &Reduction},
      {"BiasAddGrad", &BiasGradient},
      {"L2Loss", &SumOfSquares},
      {"BroadcastTo", &Broadcast},
      {"Fill", &Filled},
      {"Split", &SplitChoices},
      {"SplitV", &SplitChoices},
      {"ConcatV2", &ConcatChoices},
      {"Pack", &PackChoices},
      {"StridedSlice", &SliceChoices},
      {"StridedSliceGrad", &SliceGradientChoices},
      {"GatherV2", &GatherChoices},
      {"ResourceGather", &GatherChoices},
      {"GatherNd", &GatherNdChoices},
      {"UnsortedSegmentSum", &SegmentSumChoices},
      {"OneHot", &OneHotChoices},
      {"NcclAllReduce", &AllReduced},
      {"CollectiveGatherV2", &Gathered},
      {"CollectiveReduceScatterV2", &ScatteredSum},
  };
  return kTable;
}

bool IsElementWise(const Node& node) {
  static const std::set<std::string_view> kOthers = {
      "Less",  "LessEqual", "Greater", "GreaterEqual", "Equal",    "NotEqual",     "SelectV2",
      "IsNan", "IsFinite",  "IsInf",   "ZerosLike",    "OnesLike", "StopGradient", "PreventGradient"};
  if (node.op.starts_with("BiasAdd")) return node.StringAttr("data_format", "NHWC") == "NHWC";
  return kOthers.contains(node.op) || IsElementwise(node);
}

// Known by its cost alone.
bool IsCostOfElements(const Node& node) {
  static const std::set<std::string_view> kOps = {
      "AtenSilu", "AtenSiluBackward", "AtenGelu", "AtenGeluBackward", "AtenPow", "AtenThresholdBackward"};
  return kOps.contains(node.op);
}

}  // namespace

bool ReadsShapeAlone(const Node& node) {
  return node.op == "Shape" || node.op == "Size" || node.op == "Rank";
}

std::vector<LayoutChoice> LayoutChoices(const LayoutQuery& query) {
  Choices choices;
  if (query.node.FindAttr("_lanescope_cost") != nullptr)
    choices = IsCostOfElements(query.node) ? ElementWise(query) : CostOnlyChoices(query);
  else if (const auto rule = Table().find(query.node.op); rule != Table().end())
    choices = rule->second(query);
  else if (IsElementWise(query.node))
    choices = ElementWise(query);
  std::erase_if(choices, [&](const LayoutChoice& choice) {
    for (size_t i = 0; i < choice.inputs.size(); ++i) {
      const Layout& layout = choice.inputs[i];
      if (layout.parts() && !CanBeCut(query.inputs[i].shape, layout.axis, layout.segments, query.devices))
        return true;
    }
    return false;
  });
  return choices;
}

}  // namespace lanescope
