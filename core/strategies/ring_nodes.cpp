// SPDX-License-Identifier: Apache-2.0
// Small nodes of a ring.
#include <fmt/core.h>

#include <utility>

#include "core/strategies/ring_attention.h"

namespace lanescope {

NodeBuilder RingAttention::New(std::string_view op, const std::string& name, size_t device) {
  return conversions_.New(op, Scope(), name, device);
}
NodeBuilder RingAttention::New(std::string_view op, std::string_view name, const Block& block) {
  return New(op, fmt::format("step_{}/{}", block.step, name), block.device);
}

Endpoint RingAttention::Clone(NodeId id, std::vector<Endpoint> inputs, const Block& block) {
  Node node = step_.graph.node(id);
  node.name = fmt::format("{}step_{}/{}_{}", Scope(), block.step, node.name, block.device);
  node.device = conversions_.device(block.device);
  node.inputs = std::move(inputs);
  node.control_inputs.clear();
  node.attrs.erase("_output_shapes");
  node.attrs.erase("_class");
  return {step_.written->AddNode(std::move(node)), 0};
}

Endpoint RingAttention::Shaped(std::string_view name, Endpoint tensor, const Shape& from, const Shape& to,
                               const Block& block) {
  if (from == to) return tensor;
  return conversions_.Reshape(fmt::format("{}step_{}/", Scope(), block.step), name, tensor, to, block.device);
}

Endpoint RingAttention::Cast(std::string_view name, Endpoint tensor, DataType from, DataType to,
                             const Block& block) {
  if (from == to) return tensor;
  return New("Cast", name, block).Input(tensor).Attr("DstT", to).Build();
}

Endpoint RingAttention::Along(std::string_view name, Endpoint tensor, Shape shape, int axis, int64_t begin,
                              int64_t size, const Block& block) {
  if (begin == 0 && size == shape.dim(axis)) return tensor;
  std::vector<int64_t> begins(static_cast<size_t>(shape.rank()), 0);
  begins[static_cast<size_t>(axis)] = begin;
  shape.set_dim(axis, size);
  const std::string scope = fmt::format("{}{}_{}_{}", Scope(), name, block.device, number_++);
  const Endpoint from = step_.nodes->Numbers(scope + "_begin", begins),
                 sizes = step_.nodes->Numbers(scope + "_size", {shape.dims().begin(), shape.dims().end()});
  return New("Slice", fmt::format("{}_part_{}", name, number_), block)
      .Input(tensor)
      .Input(from)
      .Input(sizes)
      .Build();
}

Endpoint RingAttention::Padded(std::string_view name, Endpoint tensor, int rank, int axis, int64_t before,
                               int64_t behind, std::optional<float> value, const Block& block) {
  if (before == 0 && behind == 0) return tensor;
  std::vector<int64_t> paddings(static_cast<size_t>(2 * rank), 0);
  paddings[static_cast<size_t>(2 * axis)] = before;
  paddings[static_cast<size_t>(2 * axis) + 1] = behind;
  const std::string scope = fmt::format("{}{}_{}_{}", Scope(), name, block.device, number_++);
  const Endpoint by =
      step_.nodes->Constant(scope + "_paddings", Tensor::FromValues(Shape{rank, 2}, paddings));
  NodeBuilder pad = New(value ? "PadV2" : "Pad", fmt::format("{}_padded_{}", name, number_), block);
  pad.Input(tensor).Input(by);
  if (value) {
    Endpoint filled = step_.nodes->Constant(scope + "_value", Tensor::Scalar(*value));
    filled = Cast(fmt::format("{}_filled_{}", name, number_), filled, DataType::kFloat, wide_, block);
    pad.Input(filled);
  }
  return pad.Build();
}

// The rows of the block of a tensor of all rows of the device.
Endpoint RingAttention::RowsOf(std::string_view name, Endpoint tensor, const Shape& shape,
                               const Block& block) {
  return Along(name, tensor, shape, shape.rank() - 2, block.part.row, block.part.rows, block);
}
Endpoint RingAttention::AllRows(std::string_view name, Endpoint tensor, int rank, float value,
                                const Block& block) {
  return Padded(name, tensor, rank, rank - 2, block.part.row,
                blocks_.rows() - block.part.row - block.part.rows, value, block);
}

// The block's part of a tensor with rows and columns.
Shape RingAttention::ShapeIn(Endpoint of, const Block& block, bool columns) const {
  const Shape& shape = ShapeOf(of);
  return WithLast(shape, block.part.rows, columns ? block.part.columns : shape.dim(shape.rank() - 1));
}

Shape RingAttention::WithLast(Shape shape, int64_t rows, int64_t columns) {
  shape.set_dim(shape.rank() - 2, rows);
  shape.set_dim(shape.rank() - 1, columns);
  return shape;
}

// The columns of the block of keys or values, of all of its own.
Endpoint RingAttention::ColumnsOf(Endpoint of, Endpoint arrived, const Block& block) {
  const Layout layout = step_.plan.of(of);
  const Shape shape = ShapeOnDevice(ShapeOf(of), layout, static_cast<int64_t>(count_));
  return Along("tokens", arrived, shape, layout.axis, block.part.column, block.part.columns, block);
}
// And the gradients of these, with those of the block's other columns, which are 0.
Endpoint RingAttention::AllColumns(NodeId end, Endpoint gradient, const Block& block) {
  const Layout layout = LayoutOf(step_.info, a_, end);
  return Padded("of_tokens", gradient, ShapeOf({end, 0}).rank(), layout.axis, block.part.column,
                blocks_.columns() - block.part.column - block.part.columns, std::nullopt, block);
}

}  // namespace lanescope
