// Matrix products, convolution and its gradients.
#include "core/base/error.h"
#include "core/graph/ops/common.h"
#include "core/graph/ops/einsum.h"
#include "core/graph/ops/op_spec.h"
#include "core/graph/ops/qr.h"
#include "core/graph/ops/shape_rules.h"
#include "core/graph/ops/window.h"

namespace lanescope::ops {
namespace {

void InferMatMul(InferenceContext& context) {
  const Shape& a = context.shape(0);
  const Shape& b = context.shape(1);
  context.SetShape(
      0, MatMulRule(context.node())
             .ResultOf(a.known_rank() ? a : UnknownOfRank(2), b.known_rank() ? b : UnknownOfRank(2)));
}

void InferBatchMatMul(InferenceContext& context) {
  const Shape& a = context.shape(0);
  const Shape& b = context.shape(1);
  if (a.known_rank() && b.known_rank()) context.SetShape(0, MatMulRule(context.node()).ResultOf(a, b));
}

// Two operations for each of the inner dimension's products.
OpWork MatMulCost(const Node& node, std::span<const TensorInfo> inputs, std::span<const TensorInfo> outputs) {
  const Shape& a = inputs[0].shape;
  const Dim inner =
      a.known_rank() && a.rank() >= 2 ? a[a.rank() - (MatMulRule(node).turn_a ? 2 : 1)] : kUnknownDim;
  const int64_t depth = HasBound(inner) ? BoundOf(inner) : 0;
  return {SaturatingMul(SaturatingMul(2, depth), CountOf(outputs[0])), TotalBytes(inputs, outputs)};
}

// Shape of the output of a convolution of `image` with an HWIO `filter`.
// Depthwise, every channel has filter[3] filters of its own.
Shape ConvolvedShape(const Node& node, const Shape& image, const Shape& filter, bool depthwise = false) {
  const ImageAxes axes = AxesOf(node);
  Shape result = UnknownOfRank(4);
  if (filter.known_rank() && !depthwise) result.set_dim(axes.channel, filter[3]);
  if (filter.known_rank() && depthwise && IsExact(filter[2]) && IsExact(filter[3])) {
    result.set_dim(axes.channel, SaturatingMul(filter[2], filter[3]));
  }
  if (!image.known_rank()) return result;
  result.set_dim(axes.batch, image[axes.batch]);
  if (!filter.known_rank()) return result;
  if (depthwise) MergeDim(image[axes.channel], filter[2]);
  if (IsExact(image[axes.channel]) && IsExact(filter[2]) &&
      (filter[2] == 0 || image[axes.channel] % filter[2] != 0)) {
    Throw(Code::kInvalidArgument, "{} channels of the input {} are no multiple of {} of the filter {}",
          image[axes.channel], image.ToString(), filter[2], filter.ToString());
  }
  const std::string padding = node.StringAttr("padding");
  for (const auto& [axis, size] : {std::pair(axes.height, filter[0]), std::pair(axes.width, filter[1])}) {
    if (IsExact(size)) result.set_dim(axis, WindowedDim(image[axis], WindowOf(node, axis, size), padding));
  }
  return result;
}

template <bool depthwise>
void InferConv2D(InferenceContext& context) {
  context.RequireRank(0, 4);
  context.RequireRank(1, 4);
  context.SetShape(0, ConvolvedShape(context.node(), context.shape(0), context.shape(1), depthwise));
}

// Height and width alone leave the channels to the filter and the batch to the gradient.
Shape GivenImage(const InferenceContext& context, bool depthwise) {
  const Shape given = ShapeFromInput(context, 0);
  if (depthwise || !given.known_rank() || given.rank() != 2) return MergeShapes(given, UnknownOfRank(4));
  const ImageAxes axes = AxesOf(context.node());
  Shape image = UnknownOfRank(4);
  image.set_dim(axes.height, given[0]);
  image.set_dim(axes.width, given[1]);
  if (context.shape(1).known_rank()) image.set_dim(axes.channel, context.shape(1)[2]);
  return image;
}

// The batch of the gradient is the input's. Checks the gradient against what the forward op gave.
template <bool depthwise>
void InferConv2DBackpropInput(InferenceContext& context) {
  context.RequireRank(1, 4);
  context.RequireRank(2, 4);
  const Shape& gradient = context.shape(2);
  Shape image = GivenImage(context, depthwise);
  const int batch = AxesOf(context.node()).batch;
  if (gradient.known_rank()) image.set_dim(batch, MergeDim(image[batch], gradient[batch]));
  MergeShapes(gradient, ConvolvedShape(context.node(), image, context.shape(1), depthwise));
  context.SetShape(0, image);
}

template <bool depthwise>
void InferConv2DBackpropFilter(InferenceContext& context) {
  context.RequireRank(0, 4);
  context.RequireRank(2, 4);
  const Shape filter = MergeShapes(ShapeFromInput(context, 1), UnknownOfRank(4));
  MergeShapes(context.shape(2), ConvolvedShape(context.node(), context.shape(0), filter, depthwise));
  context.SetShape(0, filter);
}

// Every output pixel takes a product and a sum with each weight of its channel; the gradients do the same
// products.
OpWork ConvolutionWork(const TensorInfo& convolved, const Shape& filter, std::span<const TensorInfo> inputs,
                       std::span<const TensorInfo> outputs) {
  int64_t weights = 0;
  if (filter.HasBound() && filter.rank() == 4) weights = SubShape(filter, 0, 3).NumElements();
  return {SaturatingMul(SaturatingMul(2, weights), CountOf(convolved)), TotalBytes(inputs, outputs)};
}

OpWork Conv2DCost(const Node&, std::span<const TensorInfo> inputs, std::span<const TensorInfo> outputs) {
  return ConvolutionWork(outputs[0], inputs[1].shape, inputs, outputs);
}
OpWork Conv2DBackpropInputCost(const Node&, std::span<const TensorInfo> inputs,
                               std::span<const TensorInfo> outputs) {
  return ConvolutionWork(inputs[2], inputs[1].shape, inputs, outputs);
}
OpWork Conv2DBackpropFilterCost(const Node&, std::span<const TensorInfo> inputs,
                                std::span<const TensorInfo> outputs) {
  return ConvolutionWork(inputs[2], outputs[0].shape, inputs, outputs);
}

// Every output takes a product and a sum with each tap of its filter.
OpWork DepthwiseWork(const TensorInfo& convolved, const Shape& filter, std::span<const TensorInfo> inputs,
                     std::span<const TensorInfo> outputs) {
  int64_t taps = 0;
  if (filter.HasBound() && filter.rank() == 4) taps = SubShape(filter, 0, 2).NumElements();
  return {SaturatingMul(SaturatingMul(2, taps), CountOf(convolved)), TotalBytes(inputs, outputs)};
}
OpWork DepthwiseCost(const Node&, std::span<const TensorInfo> inputs, std::span<const TensorInfo> outputs) {
  return DepthwiseWork(outputs[0], inputs[1].shape, inputs, outputs);
}
OpWork DepthwiseBackpropInputCost(const Node&, std::span<const TensorInfo> inputs,
                                  std::span<const TensorInfo> outputs) {
  return DepthwiseWork(inputs[2], inputs[1].shape, inputs, outputs);
}
OpWork DepthwiseBackpropFilterCost(const Node&, std::span<const TensorInfo> inputs,
                                   std::span<const TensorInfo> outputs) {
  return DepthwiseWork(inputs[2], outputs[0].shape, inputs, outputs);
}

// The factors of the last two dimensions.
void InferQr(InferenceContext& context) {
  const auto [q, r] = QrShapes(context.shape(0), context.node().BoolAttr("full_matrices", false));
  context.SetShape(0, q);
  context.SetShape(1, r);
}

// Of Householder reflections: 2 mn^2 - 2/3 n^3 for r, as much again for q.
OpWork QrCost(const Node&, std::span<const TensorInfo> inputs, std::span<const TensorInfo> outputs) {
  const Shape shape = inputs[0].shape.Bound();
  if (shape.NumElements() <= 0 || shape.rank() < 2) return {0, TotalBytes(inputs, outputs)};
  const auto rows = static_cast<double>(shape[shape.rank() - 2]);
  const auto columns = static_cast<double>(shape[shape.rank() - 1]);
  const double n = std::min(rows, columns), m = std::max(rows, columns);
  const double matrices = static_cast<double>(shape.NumElements()) / (rows * columns);
  return {static_cast<int64_t>(matrices * 4 * n * n * (m - n / 3)), TotalBytes(inputs, outputs)};
}

EinsumEquation EquationOf(const Node& node) {
  return ParseEinsum(node.StringAttr("equation"), static_cast<int>(node.IntAttr("N")));
}

void InferEinsum(InferenceContext& context) {
  const EinsumEquation equation = EquationOf(context.node());
  std::vector<Shape> shapes;
  for (int i = 0; i < context.num_inputs(); ++i) shapes.push_back(context.shape(i));
  context.SetShape(0, EinsumShape(equation.output, EinsumSizes(equation, shapes)));
}

// A product and a sum for every combination of all letters.
OpWork EinsumCost(const Node& node, std::span<const TensorInfo> inputs, std::span<const TensorInfo> outputs) {
  std::vector<Shape> shapes;
  for (const TensorInfo& input : inputs) shapes.push_back(input.shape);
  int64_t flops = inputs.size() > 1 ? 2 : 1;
  for (const auto& [label, size] : EinsumSizes(EquationOf(node), shapes)) {
    flops = SaturatingMul(flops, HasBound(size) ? BoundOf(size) : 0);
  }
  return {flops, TotalBytes(inputs, outputs)};
}

}  // namespace

MatMulRule::MatMulRule(const Node& node)
    : batches(node.op != "MatMul"),
      broadcasts(node.op != "BatchMatMul"),
      turn_a(node.BoolAttr(batches ? "adj_x" : "transpose_a", false)),
      turn_b(node.BoolAttr(batches ? "adj_y" : "transpose_b", false)) {}

Shape MatMulRule::ResultOf(const Shape& a, const Shape& b) const {
  const int ra = a.rank() - 2, rb = b.rank() - 2;
  if (batches ? ra < 0 || rb < 0 : ra != 0 || rb != 0) {
    Throw(Code::kInvalidArgument, "In[0] and In[1] have to be matrices{}, but they have shapes {} and {}",
          batches ? " or batches of them" : "", a.ToString(), b.ToString());
  }
  const Shape batch_a = SubShape(a, 0, ra), batch_b = SubShape(b, 0, rb);
  bool compatible = broadcasts || ra == rb;
  for (int d = 0; !broadcasts && compatible && d < ra; ++d)
    compatible = !IsExact(a[d]) || !IsExact(b[d]) || a[d] == b[d];
  if (!compatible) {
    Throw(Code::kInvalidArgument, "In[0] and In[1] must have compatible batch dimensions: {} vs. {}",
          a.ToString(), b.ToString());
  }
  const Dim inner_a = a[ra + (turn_a ? 0 : 1)], inner_b = b[rb + (turn_b ? 1 : 0)];
  if (IsExact(inner_a) && IsExact(inner_b) && inner_a != inner_b) {
    Throw(Code::kInvalidArgument, "Matrix size-incompatible: In[0]: {}, In[1]: {}", a.ToString(),
          b.ToString());
  }
  Shape result = broadcasts ? BroadcastShapes(batch_a, batch_b) : MergeShapes(batch_a, batch_b);
  result.Append(a[ra + (turn_a ? 1 : 0)]);
  result.Append(b[rb + (turn_b ? 0 : 1)]);
  return result;
}

void RegisterLinearOps(OpRegistry& registry) {
  const OpLister op(registry);
  op("MatMul(a: T, b: T) -> (product: T)",
     "transpose_a: bool = false; transpose_b: bool = false; T: {floating, complex, index, uint8, uint16, "
     "uint32, uint64}")
      .Infer(InferMatMul)
      .Work(MatMulCost);
  op("BatchMatMul(x: T, y: T) -> (output: T)",
     "T: {floating, complex, index}; adj_x: bool = false; adj_y: bool = false")
      .Infer(InferBatchMatMul)
      .Work(MatMulCost);
  op("BatchMatMulV2(x: T, y: T) -> (output: T)",
     "T: {floating, complex, index, uint8, int16, uint16, uint32, uint64}; adj_x: bool = false; adj_y: bool "
     "= false")
      .Infer(InferBatchMatMul)
      .Work(MatMulCost);
  op("BatchMatMulV3(x: Ta, y: Tb) -> (output: Tout)",
     "Ta: {floating, complex, index, uint8, int8, int16}; Tb: {floating, complex, index, uint8, int8, "
     "int16}; "
     "Tout: {floating, complex, index, int16}; adj_x: bool = false; adj_y: bool = false")
      .Infer(InferBatchMatMul)
      .Work(MatMulCost);
  op("Conv2D(input: T, filter: T) -> (output: T)",
     "T: {floating, int32}; strides: list(int); use_cudnn_on_gpu: bool = true; padding: {'SAME', 'VALID', "
     "'EXPLICIT'}; explicit_paddings: list(int) = []; data_format: {'NHWC', 'NCHW'} = 'NHWC'; dilations: "
     "list(int) = [1, 1, 1, 1]")
      .Infer(InferConv2D<false>)
      .Work(Conv2DCost);
  op("Conv2DBackpropInput(input_sizes: int32, filter: T, out_backprop: T) -> (output: T)",
     "T: {floating, int32}; strides: list(int); use_cudnn_on_gpu: bool = true; padding: {'SAME', 'VALID', "
     "'EXPLICIT'}; explicit_paddings: list(int) = []; data_format: {'NHWC', 'NCHW'} = 'NHWC'; dilations: "
     "list(int) = [1, 1, 1, 1]")
      .Infer(InferConv2DBackpropInput<false>)
      .Work(Conv2DBackpropInputCost);
  op("Conv2DBackpropFilter(input: T, filter_sizes: int32, out_backprop: T) -> (output: T)",
     "T: floating; strides: list(int); use_cudnn_on_gpu: bool = true; padding: {'SAME', 'VALID', "
     "'EXPLICIT'}; explicit_paddings: list(int) = []; data_format: {'NHWC', 'NCHW'} = 'NHWC'; dilations: "
     "list(int) = [1, 1, 1, 1]")
      .Infer(InferConv2DBackpropFilter<false>)
      .Work(Conv2DBackpropFilterCost);
  op("DepthwiseConv2dNative(input: T, filter: T) -> (output: T)",
     "T: floating; strides: list(int); padding: {'SAME', 'VALID', 'EXPLICIT'}; explicit_paddings: list(int) "
     "= []; data_format: {'NHWC', 'NCHW'} = 'NHWC'; dilations: list(int) = [1, 1, 1, 1]")
      .Infer(InferConv2D<true>)
      .Work(DepthwiseCost);
  op("DepthwiseConv2dNativeBackpropInput(input_sizes: int32, filter: T, out_backprop: T) -> (output: T)",
     "T: floating; strides: list(int); padding: {'SAME', 'VALID', 'EXPLICIT'}; explicit_paddings: list(int) "
     "= []; data_format: {'NHWC', 'NCHW'} = 'NHWC'; dilations: list(int) = [1, 1, 1, 1]")
      .Infer(InferConv2DBackpropInput<true>)
      .Work(DepthwiseBackpropInputCost);
  op("DepthwiseConv2dNativeBackpropFilter(input: T, filter_sizes: int32, out_backprop: T) -> (output: T)",
     "T: floating; strides: list(int); padding: {'SAME', 'VALID', 'EXPLICIT'}; explicit_paddings: list(int) "
     "= []; data_format: {'NHWC', 'NCHW'} = 'NHWC'; dilations: list(int) = [1, 1, 1, 1]")
      .Infer(InferConv2DBackpropFilter<true>)
      .Work(DepthwiseBackpropFilterCost);
  op("Qr(input: T) -> (q: T, r: T)", "full_matrices: bool = false; T: {floating, complex}")
      .Infer(InferQr)
      .Work(QrCost);
  op("Einsum(inputs: N * T) -> (output: T)", "equation: string; N: int >= 1; T: type")
      .Infer(InferEinsum)
      .Work(EinsumCost);
}

}  // namespace lanescope::ops
