// SPDX-License-Identifier: Apache-2.0
// Gradients of lists of tensors, and of optionals: lists and optionals of their elements' gradients.
#include "core/base/error.h"
#include "graphs/gradients/arithmetic.h"
#include "graphs/gradients/function_gradient.h"

namespace lanescope::graphs {
namespace {

// A node on lists, called as its op.
Endpoint AddListNode(Scope& s, const std::string& op, std::vector<Endpoint> inputs, AttrMap attrs = {}) {
  return s.AddNode(MakeNode(op, op, std::move(inputs), std::move(attrs)));
}

Endpoint Int32Of(Scope& s, int32_t value) { return s.Constant(Tensor::Scalar(value)); }

Endpoint ElementShapeOf(Scope& s, Endpoint list) {
  return AddListNode(s, "TensorListElementShape", {list}, {{"shape_type", DataType::kInt32}});
}

Endpoint LengthOf(Scope& s, Endpoint list) { return AddListNode(s, "TensorListLength", {list}); }

// The shape of an element; a list as an element of another one is a scalar.
Endpoint ShapeOfElement(Scope& s, Endpoint element) {
  if (s.TypeOf(element) == DataType::kVariant)
    return s.Constant(Tensor(DataType::kInt32, lanescope::Shape{0}), "Shape");
  return ShapeTensor(s, element);
}

// The dimensions after the first.
Endpoint RowShape(Scope& s, Endpoint tensor) { return Range(s, ShapeTensor(s, tensor), 1, 0); }

Endpoint EmptyLike(Scope& s, Endpoint list, DataType type) {
  return AddListNode(s, "EmptyTensorList", {ElementShapeOf(s, list), Int32Of(s, -1)},
                     {{"element_dtype", type}, {"shape_type", DataType::kInt32}});
}

Endpoint ReserveLike(Scope& s, Endpoint list, DataType type) {
  return AddListNode(s, "TensorListReserve", {ElementShapeOf(s, list), LengthOf(s, list)},
                     {{"element_dtype", type}, {"shape_type", DataType::kInt32}});
}

DataType ElementType(const OpGradient& g) { return g.node().TypeAttr("element_dtype"); }

std::vector<Gradient> PushBackGradient(const OpGradient& g) {
  const Endpoint pop = AddListNode(g.s, "TensorListPopBack", {g.grad(), ShapeOfElement(g.s, g.in(1))},
                                   {{"element_dtype", ElementType(g)}});
  return {pop, Scope::Output(pop, 1)};
}

std::vector<Gradient> PopBackGradient(const OpGradient& g) {
  const DataType type = ElementType(g);
  const Endpoint list = g.raw_grad(0).empty() ? EmptyLike(g.s, g.out(0), type) : g.grad(0);
  const Endpoint element =
      g.raw_grad(1).empty() ? op::ZerosLike(g.s, g.out(1), {.name = "zeros_like"}) : g.grad(1);
  return {AddListNode(g.s, "TensorListPushBack", {list, element}, {{"element_dtype", type}}), {}};
}

std::vector<Gradient> StackGradient(const OpGradient& g) {
  const Endpoint grad = g.grad();
  return {AddListNode(g.s, "TensorListFromTensor", {grad, RowShape(g.s, grad)},
                      {{"element_dtype", g.type(grad)}, {"shape_type", DataType::kInt32}}),
          {}};
}

std::vector<Gradient> FromTensorGradient(const OpGradient& g) {
  const lanescope::Shape& shape = g.shape(g.in(0));
  const bool counted = shape.known_rank() && shape.rank() > 0 && IsExact(shape[0]);
  return {
      AddListNode(g.s, "TensorListStack", {g.grad(), RowShape(g.s, g.in(0))},
                  {{"element_dtype", g.type(g.in(0))}, {"num_elements", counted ? shape[0] : int64_t{-1}}}),
      {}};
}

std::vector<Gradient> GetItemGradient(const OpGradient& g) {
  const Endpoint item = g.grad();
  const Endpoint list = ReserveLike(g.s, g.in(0), g.type(item));
  return {AddListNode(g.s, "TensorListSetItem", {list, g.in(1), item}, {{"element_dtype", g.type(item)}}),
          {},
          {}};
}

std::vector<Gradient> SetItemGradient(const OpGradient& g) {
  const Endpoint list = g.grad(), index = g.in(1), item = g.in(2);
  const DataType type = g.type(item);
  const Endpoint zeros = op::ZerosLike(g.s, item, {.name = "zeros_like"});
  Endpoint of_list = AddListNode(g.s, "TensorListSetItem", {list, index, zeros}, {{"element_dtype", type}});
  const Endpoint of_item = AddListNode(g.s, "TensorListGetItem", {list, index, ShapeOfElement(g.s, item)},
                                       {{"element_dtype", type}});
  if (g.node().BoolAttr("resize_if_index_out_of_bounds", false))
    of_list = AddListNode(g.s, "TensorListResize", {of_list, LengthOf(g.s, g.in(0))});
  return {of_list, {}, of_item};
}

std::vector<Gradient> ResizeGradient(const OpGradient& g) {
  return {AddListNode(g.s, "TensorListResize", {g.grad(), LengthOf(g.s, g.in(0))}), {}};
}

std::vector<Gradient> ListGatherGradient(const OpGradient& g) {
  const Endpoint grad = g.grad();
  const DataType type = g.type(grad);
  const Endpoint list = ReserveLike(g.s, g.in(0), type);
  return {
      AddListNode(g.s, "TensorListScatterIntoExistingList", {list, grad, g.in(1)}, {{"element_dtype", type}}),
      {},
      {}};
}

Endpoint GatherRows(const OpGradient& g, Endpoint list, Endpoint tensor, Endpoint indices) {
  return AddListNode(g.s, "TensorListGather", {list, indices, RowShape(g.s, tensor)},
                     {{"element_dtype", g.type(tensor)}});
}

std::vector<Gradient> ScatterGradient(const OpGradient& g) {
  return {GatherRows(g, g.grad(), g.in(0), g.in(1))};
}

std::vector<Gradient> ScatterIntoGradient(const OpGradient& g) {
  const Endpoint zeros = op::ZerosLike(g.s, g.in(1), {.name = "zeros_like"});
  const Endpoint list = AddListNode(g.s, "TensorListScatterIntoExistingList", {g.grad(), zeros, g.in(2)},
                                    {{"element_dtype", g.type(zeros)}});
  return {list, GatherRows(g, g.grad(), g.in(1), g.in(2)), {}};
}

std::vector<Gradient> ListConcatGradient(const OpGradient& g) {
  const Endpoint grad = g.grad(0);
  return {AddListNode(g.s, "TensorListSplit", {grad, ElementShapeOf(g.s, g.in(0)), g.out(1)},
                      {{"element_dtype", g.type(grad)}, {"shape_type", DataType::kInt32}})};
}

std::vector<Gradient> ListSplitGradient(const OpGradient& g) {
  const Endpoint tail = RowShape(g.s, g.in(0));
  const Endpoint shape = op::ConcatV2(g.s, {Input({-1}), tail}, 0, {.name = "concat"});
  return {AddListNode(g.s, "TensorListConcatV2", {g.grad(), shape, g.in(2)},
                      {{"element_dtype", g.type(g.in(0))}, {"shape_type", DataType::kInt32}}),
          {},
          {}};
}

std::vector<Gradient> OptionalFromValueGradient(const OpGradient& g) {
  std::vector<DataType> types;
  std::vector<ShapeAttr> shapes;
  for (int i = 0; i < g.num_inputs(); ++i) {
    types.push_back(g.type(g.in(i)));
    shapes.push_back({g.shape(g.in(i)), ""});
  }
  const Endpoint value =
      AddListNode(g.s, "OptionalGetValue", {g.grad()}, {{"output_types", types}, {"output_shapes", shapes}});
  std::vector<Gradient> gradients;
  for (int i = 0; i < g.num_inputs(); ++i) gradients.emplace_back(Scope::Output(value, i));
  return gradients;
}

// Components that are no real numbers count as zeros.
std::vector<Gradient> OptionalGetValueGradient(const OpGradient& g) {
  std::vector<Endpoint> components;
  std::vector<DataType> types;
  for (int i = 0; i < g.num_grads(); ++i) {
    components.push_back(g.raw_grad(i).empty() ? ZerosLike(g.s, g.out(i)) : g.grad(i));
    types.push_back(g.type(components.back()));
  }
  return {AddListNode(g.s, "OptionalFromValue", components, {{"Toutput_types", types}})};
}

}  // namespace

void AddListGradients(GradientTable& table) {
  table.Add("TensorListPushBack", PushBackGradient);
  table.Add("TensorListPopBack", PopBackGradient);
  table.Add("TensorListStack", StackGradient);
  table.Add("TensorListFromTensor", FromTensorGradient);
  table.Add("TensorListGetItem", GetItemGradient);
  table.Add("TensorListSetItem", SetItemGradient);
  table.Add("TensorListResize", ResizeGradient);
  table.Add("TensorListGather", ListGatherGradient);
  table.Add("TensorListScatter", ScatterGradient);
  table.Add("TensorListScatterV2", ScatterGradient);
  table.Add("TensorListScatterIntoExistingList", ScatterIntoGradient);
  table.Add("TensorListConcat", ListConcatGradient);
  table.Add("TensorListConcatV2", ListConcatGradient);
  table.Add("TensorListSplit", ListSplitGradient);
  table.Add("OptionalFromValue", OptionalFromValueGradient);
  table.Add("OptionalGetValue", OptionalGetValueGradient);
  table.Add("OptionalHasValue", nullptr);
  table.Add("OptionalNone", nullptr);
}

}  // namespace lanescope::graphs
