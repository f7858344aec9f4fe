// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/split_nodes.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/strategies/divided_cost.h"
#include "core/strategies/layout_lookups.h"

namespace lanescope {
namespace {

void KeepAttrs(Node* node, std::initializer_list<std::string_view> kept) {
  std::erase_if(node->attrs, [&](const auto& attr) {
    return attr.first != "_class" && std::ranges::find(kept, std::string_view(attr.first)) == kept.end();
  });
}

bool IsAlong(const SplitNode& split, int axis) {
  const Layout& out = split.choice.outputs[0];
  return out.parts() && out.axis == axis;
}

}  // namespace

Shape SplitNodes::OutputShape(const SplitNode& split) const {
  return ShapeOnDevice(split.outputs[0].shape, split.choice.outputs[0], devices_);
}

std::vector<Shards> SplitNodes::Add(SplitNode* split) {
  std::vector<Shards> outputs(std::max<size_t>(split->outputs.size(), 1));
  for (Node& node : split->on_device) {
    const NodeId id = graph_.AddNode(std::move(node));
    for (size_t k = 0; k < outputs.size(); ++k) outputs[k].push_back({id, static_cast<int>(k)});
  }
  return outputs;
}

Endpoint SplitNodes::NumbersLike(const std::string& name, const Shape& values, DataType type) {
  const std::vector<int64_t> wide(values.dims().begin(), values.dims().end());
  if (type == DataType::kInt64) return nodes_.Numbers(name, wide);
  const std::vector<int32_t> narrow(wide.begin(), wide.end());
  return nodes_.Constant(name, Tensor::FromValues(Shape{static_cast<Dim>(narrow.size())}, narrow));
}

Endpoint SplitNodes::Integer(const std::string& name, int64_t value, DataType type) {
  return type == DataType::kInt64 ? nodes_.Constant(name, Tensor::Scalar(value))
                                  : nodes_.Number(name, static_cast<int32_t>(value));
}

// --- shapes and sizes ---

// The input that says the output's shape says that of a part.
void SplitNodes::GiveShape(SplitNode* split, size_t input, const char* type_attr) {
  const DataType type = split->node.TypeAttr(type_attr, DataType::kInt32);
  const Endpoint shape = NumbersLike(ScopeOf(*split) + "shape", OutputShape(*split), type);
  for (Node& node : split->on_device) node.inputs[input] = shape;
}

// An axis that a part has only one of is no reason to drop it.
void SplitNodes::BecomeReshape(SplitNode* split) {
  const Endpoint shape = NumbersLike(ScopeOf(*split) + "shape", OutputShape(*split), DataType::kInt32);
  for (Node& node : split->on_device) {
    node.op = "Reshape";
    KeepAttrs(&node, {"T"});
    node.attrs["Tshape"] = DataType::kInt32;
    node.inputs = {node.inputs[0], shape};
  }
}

void SplitNodes::SplitSizes(SplitNode* split) {
  const Layout& layout = split->choice.inputs[0];
  if (AxisOf(split->inputs[2], split->inputs[0].shape.rank()) != layout.axis) return;
  Shape sizes;
  for (const TensorInfo& piece : split->outputs) sizes.Append(piece.shape.dim(layout.axis) / devices_);
  const DataType type = split->node.TypeAttr("Tlen", DataType::kInt64);
  const Endpoint numbers = NumbersLike(ScopeOf(*split) + "sizes", sizes, type);
  for (Node& node : split->on_device) node.inputs[1] = numbers;
}

std::vector<Shards> SplitNodes::ShapeOfAll(SplitNode* split) {
  const DataType type = split->node.TypeAttr("out_type", DataType::kInt32);
  const Shape& shape = split->inputs[0].shape;
  const std::string name = ScopeOf(*split) + "value";
  const Endpoint value = split->node.op == "Shape"  ? NumbersLike(name, shape, type)
                         : split->node.op == "Size" ? Integer(name, shape.NumElements(), type)
                                                    : Integer(name, shape.rank(), type);
  return {Shards(static_cast<size_t>(devices_), value)};
}

// --- what devices add up ---

std::vector<Shards> SplitNodes::MeanTerms(SplitNode* split) {
  const DataType type = split->outputs[0].dtype;
  const std::string scope = ScopeOf(*split);
  Endpoint share = nodes_.Constant(scope + "share", Tensor::Scalar(1.0f / static_cast<float>(devices_)));
  if (type != DataType::kFloat)
    share = nodes_.New("Cast", scope + "share_cast", "").Input(share).Attr("DstT", type).Build();
  std::vector<Shards> means = Add(split);
  for (size_t r = 0; r < means[0].size(); ++r)
    means[0][r] = conversions_.New("Mul", scope, "term", r).Input(means[0][r]).Input(share).Build();
  return means;
}

Endpoint SplitNodes::IsWithin(const std::string& scope, Endpoint integers, int64_t count, DataType type,
                              size_t r) {
  const Endpoint zero = Integer(fmt::format("{}zero_{}", scope, r), 0, type),
                 end = Integer(fmt::format("{}count_{}", scope, r), count, type);
  const Endpoint from =
                     conversions_.New("GreaterEqual", scope, "from", r).Input(integers).Input(zero).Build(),
                 to = conversions_.New("Less", scope, "to", r).Input(integers).Input(end).Build();
  return conversions_.New("LogicalAnd", scope, "within", r).Input(from).Input(to).Build();
}

Endpoint SplitNodes::OrZero(const std::string& scope, Endpoint within, const Shape& within_shape,
                            Endpoint tensor, const TensorInfo& info, size_t r) {
  Shape wide = within_shape;
  while (wide.rank() < info.shape.rank()) wide.Append(1);
  const Endpoint mask = conversions_.Reshape(scope, "mask", within, wide, r);
  Endpoint zero = nodes_.Constant(fmt::format("{}nothing_{}", scope, r), Tensor::Scalar(0.0f));
  if (info.dtype != DataType::kFloat)
    zero = conversions_.New("Cast", scope, "nothing_cast", r).Input(zero).Attr("DstT", info.dtype).Build();
  return conversions_.New("SelectV2", scope, "found", r).Input(mask).Input(tensor).Input(zero).Build();
}

// Rows of other devices are nothing here.
std::vector<Shards> SplitNodes::FoundRows(SplitNode* split) {
  const std::string scope = ScopeOf(*split);
  const DataType type = split->inputs[1].dtype;
  const int64_t rows = split->inputs[0].shape.dim(0) / devices_;
  Shards within;
  for (size_t r = 0; r < split->on_device.size(); ++r) {
    Endpoint& indices = split->on_device[r].inputs[1];
    const Endpoint begin = Integer(fmt::format("{}begin_{}", scope, r), static_cast<int64_t>(r) * rows, type);
    const Endpoint here = conversions_.New("Sub", scope, "here", r).Input(indices).Input(begin).Build();
    within.push_back(IsWithin(scope, here, rows, type, r));
    const Endpoint first = Integer(fmt::format("{}first_{}", scope, r), 0, type);
    indices = conversions_.New("SelectV2", scope, "row", r).Input(within[r]).Input(here).Input(first).Build();
  }
  std::vector<Shards> found = Add(split);
  for (size_t r = 0; r < found[0].size(); ++r)
    found[0][r] = OrZero(scope, within[r], split->inputs[1].shape, found[0][r], split->outputs[0], r);
  return found;
}

// A device has its part of every segment of the axis: an index counts in the segment, from the first of the
// run, and behind the device's parts of the segments before.
std::pair<Endpoint, Endpoint> SplitNodes::PlacesInRun(const std::string& scope, const SplitNode& split,
                                                      const Run& run, size_t r) {
  const DataType type = split.inputs[1].dtype;
  const Shape &from = split.inputs[0].shape, &indices = split.inputs[1].shape;
  const Layout& layout = split.choice.inputs[0];
  const int last = indices.rank() - 1;
  const int64_t own = from.dim(layout.axis) / devices_ / layout.segments;
  Shape begin, before, sizes;
  for (int d = 0; d < static_cast<int>(indices.dim(last)); ++d) {
    const bool is_cut = d == layout.axis;
    begin.Append(is_cut ? run.first - run.at : 0);
    before.Append(is_cut ? own : 0);
    sizes.Append(is_cut ? from.dim(d) / layout.segments : from.dim(d));
  }
  const auto add = [&](const char* op, const char* name, Endpoint of, const Shape& by) {
    const Endpoint numbers = NumbersLike(fmt::format("{}{}_by_{}", scope, name, r), by, type);
    return conversions_.New(op, scope, name, r).Input(of).Input(numbers).Build();
  };
  const Endpoint places = split.on_device[r].inputs[1];
  Endpoint here = layout.segments > 1 ? add("FloorMod", "in_segment", places, sizes) : places;
  here = add("Sub", "here", here, begin);
  const Endpoint number = nodes_.Number(fmt::format("{}number_{}", scope, r), layout.axis),
                 along = nodes_.Number(fmt::format("{}along_{}", scope, r), last);
  Endpoint each =
      conversions_.New("GatherV2", scope, "each", r).Input(here).Input(number).Input(along).Build();
  if (run.at > 0) {
    const Endpoint at = Integer(fmt::format("{}at_{}", scope, r), run.at, type);
    each = conversions_.New("Sub", scope, "in_run", r).Input(each).Input(at).Build();
  }
  const Endpoint within = IsWithin(scope, each, run.size, type, r);
  if (layout.segments > 1) {
    const Endpoint segment = add("FloorDiv", "segment", places, sizes);
    const Endpoint skipped = add("Mul", "skipped", segment, before);
    here = conversions_.New("AddV2", scope, "own", r).Input(here).Input(skipped).Build();
  }
  return {here, within};
}

std::pair<Endpoint, Endpoint> SplitNodes::OwnPlaces(const SplitNode& split, size_t r) {
  const std::string scope = ScopeOf(split);
  const Layout& layout = split.choice.inputs[0];
  const int64_t own = split.inputs[0].shape.dim(layout.axis) / devices_ / layout.segments;
  const auto pieces = static_cast<int64_t>(PiecesOf(order_)), size = own / pieces;
  const auto run = [&](int64_t number) {
    const size_t piece = PieceOfDevice(order_, static_cast<size_t>(devices_), r, static_cast<size_t>(number));
    return Run{static_cast<int64_t>(piece) * size, size, number * size};
  };
  auto [here, within] = PlacesInRun(scope, split, run(0), r);
  for (int64_t number = 1; number < pieces; ++number) {
    const auto [there, is_there] =
        PlacesInRun(fmt::format("{}run_{}/", scope, number), split, run(number), r);
    Shape mask = split.inputs[1].shape;
    mask.set_dim(mask.rank() - 1, 1);
    const Endpoint shaped = conversions_.Reshape(scope, fmt::format("in_run_{}", number), is_there, mask, r);
    here = conversions_.New("SelectV2", scope, fmt::format("of_run_{}", number), r)
               .Input(shaped)
               .Input(there)
               .Input(here)
               .Build();
    within = conversions_.New("LogicalOr", scope, fmt::format("in_runs_{}", number), r)
                 .Input(within)
                 .Input(is_there)
                 .Build();
  }
  return {here, within};
}

std::vector<Shards> SplitNodes::FoundElements(SplitNode* split) {
  const std::string scope = ScopeOf(*split);
  const Shape &from = split->inputs[0].shape, &indices = split->inputs[1].shape;
  const int last = indices.rank() - 1;
  const Shape own = ShapeOnDevice(from, split->choice.inputs[0], devices_);
  Shape batch = indices, zeros, greatest;
  batch.Erase(last);
  for (int d = 0; d < static_cast<int>(indices.dim(last)); ++d) {
    zeros.Append(0);
    greatest.Append(own.dim(d) - 1);
  }
  Shards within;
  for (size_t r = 0; r < split->on_device.size(); ++r) {
    const auto [here, is_own] = OwnPlaces(*split, r);
    within.push_back(is_own);
    const auto numbers = [&](const char* name, const Shape& values) {
      return NumbersLike(fmt::format("{}{}_{}", scope, name, r), values, split->inputs[1].dtype);
    };
    const Endpoint low =
        conversions_.New("Maximum", scope, "low", r).Input(here).Input(numbers("least", zeros)).Build();
    NodeBuilder place = conversions_.New("Minimum", scope, "place", r);
    split->on_device[r].inputs[1] = place.Input(low).Input(numbers("greatest", greatest)).Build();
  }
  std::vector<Shards> found = Add(split);
  for (size_t r = 0; r < found[0].size(); ++r)
    found[0][r] = OrZero(scope, within[r], batch, found[0][r], split->outputs[0], r);
  return found;
}

// --- numbers that count from a device's first ---

void SplitNodes::ShiftOneHot(SplitNode* split) {
  const auto axis = static_cast<int>(split->node.IntAttr("axis", -1));
  const int along = axis < 0 ? split->outputs[0].shape.rank() - 1 : axis;
  if (!IsAlong(*split, along)) return;
  const std::string scope = ScopeOf(*split);
  const int64_t own = split->outputs[0].shape.dim(along) / devices_;
  const DataType type = split->inputs[0].dtype;
  const Endpoint depth = nodes_.Number(scope + "depth", static_cast<int32_t>(own));
  for (size_t r = 0; r < split->on_device.size(); ++r) {
    Node& node = split->on_device[r];
    const Endpoint begin = Integer(fmt::format("{}begin_{}", scope, r), static_cast<int64_t>(r) * own, type);
    node.inputs[0] = conversions_.New("Sub", scope, "here", r).Input(node.inputs[0]).Input(begin).Build();
    node.inputs[1] = depth;
  }
}

void SplitNodes::ShiftSegments(SplitNode* split) {
  if (!IsAlong(*split, 0) || !split->choice.inputs[0].whole()) return;
  const std::string scope = ScopeOf(*split);
  const int64_t own = split->outputs[0].shape.dim(0) / devices_;
  const DataType type = split->inputs[1].dtype;
  const Endpoint number =
      Integer(scope + "number", own, split->node.TypeAttr("Tnumsegments", DataType::kInt32));
  for (size_t r = 0; r < split->on_device.size(); ++r) {
    Node& node = split->on_device[r];
    const Endpoint begin = Integer(fmt::format("{}begin_{}", scope, r), static_cast<int64_t>(r) * own, type),
                   none = Integer(fmt::format("{}none_{}", scope, r), -1, type);
    const Endpoint here =
        conversions_.New("Sub", scope, "here", r).Input(node.inputs[1]).Input(begin).Build();
    const Endpoint within = IsWithin(scope, here, own, type, r);
    node.inputs[1] =
        conversions_.New("SelectV2", scope, "segment", r).Input(within).Input(here).Input(none).Build();
    node.inputs[2] = number;
  }
}

// --- over classes that lie on several devices ---

// The greatest logit and the sum of the exponentials are those of all devices.
std::vector<Shards> SplitNodes::SoftmaxOfParts(SplitNode* split) {
  const std::string scope = ScopeOf(*split);
  const size_t count = split->on_device.size();
  const Endpoint last = nodes_.Number(scope + "last", split->inputs[0].shape.rank() - 1);
  const auto reduced = [&](const char* op, const char* name, Endpoint of, size_t r) {
    return conversions_.New(op, scope, name, r).Input(of).Input(last).Attr("keep_dims", true).Build();
  };
  Shards greatest, shifted, exponentials, sums;
  for (size_t r = 0; r < count; ++r)
    greatest.push_back(reduced("Max", "own_greatest", split->on_device[r].inputs[0], r));
  greatest = conversions_.Greatest(scope, greatest, split->outputs[0].dtype);
  for (size_t r = 0; r < count; ++r) {
    NodeBuilder less = conversions_.New("Sub", scope, "shifted", r);
    shifted.push_back(less.Input(split->on_device[r].inputs[0]).Input(greatest[r]).Build());
    exponentials.push_back(conversions_.New("Exp", scope, "exponential", r).Input(shifted[r]).Build());
    sums.push_back(reduced("Sum", "own_sum", exponentials[r], r));
  }
  sums = conversions_.Sum(scope, sums, split->outputs[0].dtype);
  Shards result;
  for (size_t r = 0; r < count; ++r) {
    Node& node = split->on_device[r];
    const bool is_log = node.op == "LogSoftmax";
    node.op = is_log ? "Sub" : "RealDiv";
    node.inputs = {is_log ? shifted[r] : exponentials[r],
                   is_log ? conversions_.New("Log", scope, "log", r).Input(sums[r]).Build() : sums[r]};
  }
  return Add(split);
}

// --- known by their cost alone ---

void SplitNodes::ShareCost(SplitNode* split) {
  std::vector<ShapeAttr> shapes;
  for (size_t k = 0; k < split->outputs.size(); ++k)
    shapes.push_back({ShapeOnDevice(split->outputs[k].shape, split->choice.outputs[k], devices_), ""});
  const std::string cost = DividedNumbers(split->node.StringAttr("_lanescope_cost"), devices_);
  for (Node& node : split->on_device) {
    node.attrs["_lanescope_cost"] = cost;
    if (node.FindAttr("_output_shapes") != nullptr) node.attrs["_output_shapes"] = shapes;
  }
  if (split->node.op != "AtenLogSoftmaxBackwardData") return;
  // Over all classes the gradients are summed.
  const std::string scope = ScopeOf(*split);
  const Endpoint last = nodes_.Number(scope + "last", split->outputs[0].shape.rank() - 1);
  Shards sums;
  for (size_t r = 0; r < split->on_device.size(); ++r) {
    NodeBuilder sum = conversions_.New("Sum", scope, "own_sum", r);
    sums.push_back(sum.Input(split->on_device[r].inputs[0]).Input(last).Attr("keep_dims", true).Build());
  }
  sums = conversions_.Sum(scope, sums, split->outputs[0].dtype);
  for (size_t r = 0; r < sums.size(); ++r) split->on_device[r].control_inputs.push_back(sums[r].node);
}

// --- by op ---

std::vector<Shards> SplitNodes::Write(SplitNode split) {
  const std::string& op = split.node.op;
  const LayoutChoice& choice = split.choice;
  const bool any_parts = std::ranges::any_of(choice.inputs, &Layout::parts) ||
                         std::ranges::any_of(choice.outputs, &Layout::parts);
  if (!any_parts) return Add(&split);
  if (split.node.FindAttr("_lanescope_cost") != nullptr) ShareCost(&split);
  const Layout& out = choice.outputs[0];
  if (ReadsShapeAlone(split.node)) return ShapeOfAll(&split);
  if (op == "Mean" && out.terms()) return MeanTerms(&split);
  if ((op == "GatherV2" || op == "ResourceGather") && out.terms()) return FoundRows(&split);
  if (op == "GatherNd" && out.terms()) return FoundElements(&split);
  if ((op == "Softmax" || op == "LogSoftmax") && IsAlong(split, split.outputs[0].shape.rank() - 1))
    return SoftmaxOfParts(&split);
  if (op == "Reshape") GiveShape(&split, 1, "Tshape");
  if (op == "Squeeze" || op == "ExpandDims") BecomeReshape(&split);
  if (op == "BroadcastTo") GiveShape(&split, 1, "Tidx");
  if (op == "Fill") GiveShape(&split, 0, "index_type");
  if (op == "StridedSliceGrad") GiveShape(&split, 0, "Index");
  if (op == "SplitV") SplitSizes(&split);
  if (op == "OneHot") ShiftOneHot(&split);
  if (op == "UnsortedSegmentSum") ShiftSegments(&split);
  return Add(&split);
}

}  // namespace lanescope
