// Pooling, normalisation, bias, activations, softmax and its losses.
#include "core/base/error.h"
#include "core/graph/ops/common.h"
#include "core/graph/ops/op_spec.h"
#include "core/graph/ops/window.h"

namespace lanescope::ops {
namespace {

const std::vector<int64_t>& WindowSizes(const Node& node) {
  const std::vector<int64_t>& sizes = node.IntListAttr("ksize");
  const ImageAxes axes = AxesOf(node);
  if (sizes.size() != 4)
    Throw(Code::kInvalidArgument, "attribute 'ksize' needs 4 numbers, not {}", sizes.size());
  if (sizes[static_cast<size_t>(axes.batch)] != 1 || sizes[static_cast<size_t>(axes.channel)] != 1) {
    Throw(Code::kUnimplemented, "pooling over the batch or the channels");
  }
  return sizes;
}

Shape PooledShape(const Node& node, const Shape& image) {
  const ImageAxes axes = AxesOf(node);
  const std::vector<int64_t>& sizes = WindowSizes(node);
  const std::string padding = node.StringAttr("padding");
  Shape result = image;
  for (const int axis : {axes.height, axes.width}) {
    const Window window = WindowOf(node, axis, sizes[static_cast<size_t>(axis)]);
    result.set_dim(axis, WindowedDim(image[axis], window, padding));
  }
  return result;
}

void InferPool(InferenceContext& context) {
  context.RequireRank(0, 4);
  const Shape& image = context.shape(0);
  context.SetShape(0, PooledShape(context.node(), image.known_rank() ? image : UnknownOfRank(4)));
}

// Inputs: the pooled image, its pool, the pool's gradient.
void InferMaxPoolGradGrad(InferenceContext& context) {
  for (int i = 0; i < 3; ++i) context.RequireRank(i, 4);
  context.SetShape(0, MergeShapes(context.shape(1), PooledShape(context.node(), context.shape(0))));
}

void InferMaxPoolGrad(InferenceContext& context) {
  for (int i = 0; i < 3; ++i) context.RequireRank(i, 4);
  const Shape& image = context.shape(0);
  if (image.known_rank()) {
    MergeShapes(MergeShapes(context.shape(1), context.shape(2)), PooledShape(context.node(), image));
  }
  context.SetShape(0, image.known_rank() ? image : UnknownOfRank(4));
}

void InferAvgPoolGrad(InferenceContext& context) {
  context.RequireRank(1, 4);
  const Shape image = MergeShapes(ShapeFromInput(context, 0), UnknownOfRank(4));
  MergeShapes(context.shape(1), PooledShape(context.node(), image));
  context.SetShape(0, image);
}

int64_t WindowArea(const Node& node) {
  const std::vector<int64_t>& sizes = WindowSizes(node);
  const ImageAxes axes = AxesOf(node);
  return SaturatingMul(sizes[static_cast<size_t>(axes.height)], sizes[static_cast<size_t>(axes.width)]);
}

// A comparison or an addition for each element of each window.
OpWork PoolCost(const Node& node, std::span<const TensorInfo> inputs, std::span<const TensorInfo> outputs) {
  return {SaturatingMul(WindowArea(node), CountOf(outputs[0])), TotalBytes(inputs, outputs)};
}

// The search for each window's maximum (or the spreading of its average) and one addition.
OpWork PoolGradCost(const Node& node, std::span<const TensorInfo> inputs,
                    std::span<const TensorInfo> outputs) {
  return {SaturatingMul(WindowArea(node) + 1, CountOf(inputs.back())), TotalBytes(inputs, outputs)};
}

void InferLrn(InferenceContext& context) {
  for (int i = 0; i < context.num_inputs(); ++i) context.RequireRank(i, 4);
  SameShapes(context);
}

int64_t LrnWindow(const Node& node) {
  const int64_t radius = node.IntAttr("depth_radius", 5);
  if (radius < 0 || radius > (int64_t{1} << 30)) {
    Throw(Code::kInvalidArgument, "attribute 'depth_radius' of {} is not between 0 and 2^30", radius);
  }
  return 2 * radius + 1;
}

// A square and an addition for each neighbour, and a power.
OpWork LrnCost(const Node& node, std::span<const TensorInfo> inputs, std::span<const TensorInfo> outputs) {
  return {SaturatingMul(2 * LrnWindow(node) + kTranscendentalFlops + 3, CountOf(outputs[0])),
          TotalBytes(inputs, outputs)};
}

// The norm again, and four operations for each neighbour.
OpWork LrnGradCost(const Node& node, std::span<const TensorInfo> inputs,
                   std::span<const TensorInfo> outputs) {
  return {SaturatingMul(6 * LrnWindow(node) + 2 * kTranscendentalFlops + 3, CountOf(outputs[0])),
          TotalBytes(inputs, outputs)};
}

// Second for NCHW, last otherwise.
int BiasAxis(const Node& node, int rank) {
  return node.StringAttr("data_format", "NHWC") == "NCHW" && rank > 2 ? 1 : rank - 1;
}

void RequireVectorOrMore(const Shape& shape) {
  if (shape.known_rank() && shape.rank() < 2) {
    Throw(Code::kInvalidArgument, "shape {} needs two dimensions at least", shape.ToString());
  }
}

void InferBiasAdd(InferenceContext& context) {
  context.RequireRank(1, 1);
  Shape shape = context.shape(0);
  RequireVectorOrMore(shape);
  if (shape.known_rank() && context.shape(1).known_rank()) {
    const int axis = BiasAxis(context.node(), shape.rank());
    shape.set_dim(axis, MergeDim(shape[axis], context.shape(1)[0]));
  }
  context.SetShape(0, shape);
}

void InferBiasAddGrad(InferenceContext& context) {
  const Shape& shape = context.shape(0);
  RequireVectorOrMore(shape);
  context.SetShape(
      0, shape.known_rank() ? Shape{shape[BiasAxis(context.node(), shape.rank())]} : UnknownOfRank(1));
}

void InferSoftmax(InferenceContext& context) {
  if (context.shape(0) == Shape{})
    Throw(Code::kInvalidArgument, "softmax of a scalar; it needs a vector at least");
  SameShape(context);
}

// Maximum, difference, exponential, sum, quotient.
OpWork SoftmaxCost(const Node&, std::span<const TensorInfo> inputs, std::span<const TensorInfo> outputs) {
  return {SaturatingMul(kTranscendentalFlops + 4, CountOf(outputs[0])), TotalBytes(inputs, outputs)};
}

// Loss [batch] and gradient [batch, classes]; labels are distributions.
void InferSoftmaxCrossEntropy(InferenceContext& context) {
  const Shape logits = MergeShapes(BroadcastShapes(context.shape(0), context.shape(1)), UnknownOfRank(2));
  context.SetShape(0, {logits[0]});
  context.SetShape(1, logits);
}

// Labels are class numbers [batch].
void InferSparseSoftmaxCrossEntropy(InferenceContext& context) {
  context.RequireRank(0, 2);
  context.RequireRank(1, 1);
  Shape logits = MergeShapes(context.shape(0), UnknownOfRank(2));
  if (context.shape(1).known_rank()) logits.set_dim(0, MergeDim(logits[0], context.shape(1)[0]));
  context.SetShape(0, {logits[0]});
  context.SetShape(1, logits);
}

// A softmax, a logarithm, a product and a sum for each logit.
OpWork CrossEntropyCost(const Node&, std::span<const TensorInfo> inputs,
                        std::span<const TensorInfo> outputs) {
  return {SaturatingMul(2 * kTranscendentalFlops + 6, CountOf(outputs[1])), TotalBytes(inputs, outputs)};
}

// Output 0 has the image's shape; the others are vectors over the channels. V3's last is empty on a host.
void InferFusedBatchNorm(InferenceContext& context) {
  context.RequireRank(0, 4);
  const Shape image = MergeShapes(context.shape(0), UnknownOfRank(4));
  const Shape channels{image[AxesOf(context.node()).channel]};
  context.SetShape(0, image);
  for (int i = 1; i < context.num_outputs(); ++i) context.SetShape(i, i < 5 ? channels : Shape{0});
}

void InferFusedBatchNormGrad(InferenceContext& context) {
  context.RequireRank(0, 4);
  context.RequireRank(1, 4);
  const Shape image = MergeShapes(MergeShapes(context.shape(0), context.shape(1)), UnknownOfRank(4));
  const Shape channels{image[AxesOf(context.node()).channel]};
  context.SetShape(0, image);
  for (int i = 1; i < context.num_outputs(); ++i) context.SetShape(i, i < 3 ? channels : Shape{0});
}

// Mean, variance and normalisation: about 8 operations for each element.
OpWork FusedBatchNormCost(const Node&, std::span<const TensorInfo> inputs,
                          std::span<const TensorInfo> outputs) {
  return {SaturatingMul(8, CountOf(inputs[0])), TotalBytes(inputs, outputs)};
}

}  // namespace

void RegisterNnOps(OpRegistry& registry) {
  const OpLister op(registry);
  const WorkFn transcendental = ElementCost(kTranscendentalFlops);
  op("MaxPool(input: T) -> (output: T)",
     "T: {floating, index, uint8, int16, int8, qint8, uint16} = float; ksize: list(int) >= 4; strides: "
     "list(int) >= 4; padding: {'SAME', 'VALID', 'EXPLICIT'}; explicit_paddings: list(int) = []; "
     "data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'")
      .Infer(InferPool)
      .Work(PoolCost);
  op("AvgPool(value: T) -> (output: T)",
     "ksize: list(int) >= 4; strides: list(int) >= 4; padding: {'SAME', 'VALID'}; data_format: {'NHWC', "
     "'NCHW'} = 'NHWC'; T: floating")
      .Infer(InferPool)
      .Work(PoolCost);
  op("MaxPoolGrad(orig_input: T, orig_output: T, grad: T) -> (output: T)",
     "ksize: list(int) >= 4; strides: list(int) >= 4; padding: {'SAME', 'VALID', 'EXPLICIT'}; "
     "explicit_paddings: list(int) = []; data_format: {'NHWC', 'NCHW'} = 'NHWC'; T: real = float")
      .Infer(InferMaxPoolGrad)
      .Work(PoolGradCost);
  op("MaxPoolGradGrad(orig_input: T, orig_output: T, grad: T) -> (output: T)",
     "ksize: list(int) >= 4; strides: list(int) >= 4; padding: {'SAME', 'VALID'}; data_format: {'NHWC', "
     "'NCHW'} = 'NHWC'; T: real")
      .Infer(InferMaxPoolGradGrad)
      .Work(PoolGradCost);
  op("AvgPoolGrad(orig_input_shape: int32, grad: T) -> (output: T)",
     "ksize: list(int) >= 4; strides: list(int) >= 4; padding: {'SAME', 'VALID'}; data_format: {'NHWC', "
     "'NCHW'} = 'NHWC'; T: floating")
      .Infer(InferAvgPoolGrad)
      .Work(PoolGradCost);
  op("LRN(input: T) -> (output: T)",
     "depth_radius: int = 5; bias: float = 1.0; alpha: float = 1.0; beta: float = 0.5; T: {float, bfloat16, "
     "half} = float")
      .Infer(InferLrn)
      .Work(LrnCost);
  op("LRNGrad(input_grads: T, input_image: T, output_image: T) -> (output: T)",
     "depth_radius: int = 5; bias: float = 1.0; alpha: float = 1.0; beta: float = 0.5; T: {float, bfloat16, "
     "half} = float")
      .Infer(InferLrn)
      .Work(LrnGradCost);
  op("BiasAdd(value: T, bias: T) -> (output: T)", "T: number; data_format: {'NHWC', 'NCHW'} = 'NHWC'")
      .Infer(InferBiasAdd)
      .InPlace();
  op("BiasAddV1(value: T, bias: T) -> (output: T)", "T: number").Infer(InferBiasAdd).InPlace();
  op("BiasAddGrad(out_backprop: T) -> (output: T)", "T: number; data_format: {'NHWC', 'NCHW'} = 'NHWC'")
      .Infer(InferBiasAddGrad)
      .Work(ReductionCost);
  op("Relu(features: T) -> (activations: T)", "T: {real, qint8}").Infer(SameShape).InPlace();
  op("Relu6(features: T) -> (activations: T)", "T: real").Infer(SameShape).InPlace();
  op("LeakyRelu(features: T) -> (activations: T)", "alpha: float = 0.2; T: floating = float")
      .Infer(SameShape)
      .InPlace();
  op("Elu(features: T) -> (activations: T)", "T: floating").Infer(SameShape).InPlace().Work(transcendental);
  op("Selu(features: T) -> (activations: T)", "T: floating").Infer(SameShape).InPlace().Work(transcendental);
  op("Softplus(features: T) -> (activations: T)", "T: floating")
      .Infer(SameShape)
      .InPlace()
      .Work(transcendental);
  op("Softsign(features: T) -> (activations: T)", "T: floating")
      .Infer(SameShape)
      .InPlace()
      .Work(transcendental);
  op("ReluGrad(gradients: T, features: T) -> (backprops: T)", "T: real")
      .Infer(SameShapes)
      .InPlace()
      .Work(ElementCost(2));
  op("Relu6Grad(gradients: T, features: T) -> (backprops: T)", "T: real")
      .Infer(SameShapes)
      .InPlace()
      .Work(ElementCost(2));
  op("LeakyReluGrad(gradients: T, features: T) -> (backprops: T)", "alpha: float = 0.2; T: floating = float")
      .Infer(SameShapes)
      .InPlace()
      .Work(ElementCost(2));
  op("EluGrad(gradients: T, outputs: T) -> (backprops: T)", "T: floating")
      .Infer(SameShapes)
      .InPlace()
      .Work(ElementCost(2));
  op("SeluGrad(gradients: T, outputs: T) -> (backprops: T)", "T: floating")
      .Infer(SameShapes)
      .InPlace()
      .Work(ElementCost(2));
  op("SoftsignGrad(gradients: T, features: T) -> (backprops: T)", "T: floating")
      .Infer(SameShapes)
      .InPlace()
      .Work(ElementCost(2));
  op("SoftplusGrad(gradients: T, features: T) -> (backprops: T)", "T: floating")
      .Infer(SameShapes)
      .InPlace()
      .Work(transcendental);
  op("Softmax(logits: T) -> (softmax: T)", "T: floating").Infer(InferSoftmax).InPlace().Work(SoftmaxCost);
  op("LogSoftmax(logits: T) -> (logsoftmax: T)", "T: floating")
      .Infer(InferSoftmax)
      .InPlace()
      .Work(SoftmaxCost);
  op("SoftmaxCrossEntropyWithLogits(features: T, labels: T) -> (loss: T, backprop: T)", "T: floating")
      .Infer(InferSoftmaxCrossEntropy)
      .Work(CrossEntropyCost);
  op("SparseSoftmaxCrossEntropyWithLogits(features: T, labels: Tlabels) -> (loss: T, backprop: T)",
     "T: floating; Tlabels: index = int64")
      .Infer(InferSparseSoftmaxCrossEntropy)
      .Work(CrossEntropyCost);
  op("FusedBatchNorm(x: T, scale: T, offset: T, mean: T, variance: T) -> (y: T, batch_mean: T, "
     "batch_variance: T, reserve_space_1: T, reserve_space_2: T)",
     "T: {float}; epsilon: float = 1e-04; exponential_avg_factor: float = 1.0; data_format: {'NHWC', 'NCHW'} "
     "= 'NHWC'; is_training: bool = true")
      .Infer(InferFusedBatchNorm)
      .Work(FusedBatchNormCost);
  op("FusedBatchNormV2(x: T, scale: U, offset: U, mean: U, variance: U) -> (y: T, batch_mean: U, "
     "batch_variance: U, reserve_space_1: U, reserve_space_2: U)",
     "T: {float, bfloat16, half}; U: {float}; epsilon: float = 1e-04; exponential_avg_factor: float = 1.0; "
     "data_format: {'NHWC', 'NCHW'} = 'NHWC'; is_training: bool = true")
      .Infer(InferFusedBatchNorm)
      .Work(FusedBatchNormCost);
  op("FusedBatchNormV3(x: T, scale: U, offset: U, mean: U, variance: U) -> (y: T, batch_mean: U, "
     "batch_variance: U, reserve_space_1: U, reserve_space_2: U, reserve_space_3: U)",
     "T: {float, bfloat16, half}; U: {float, bfloat16}; epsilon: float = 1e-04; exponential_avg_factor: "
     "float = 1.0; data_format: {'NHWC', 'NCHW', 'NDHWC', 'NCDHW'} = 'NHWC'; is_training: bool = true")
      .Infer(InferFusedBatchNorm)
      .Work(FusedBatchNormCost);
  op("FusedBatchNormGrad(y_backprop: T, x: T, scale: T, reserve_space_1: T, reserve_space_2: T) -> "
     "(x_backprop: T, scale_backprop: T, offset_backprop: T, reserve_space_3: T, reserve_space_4: T)",
     "T: {float}; epsilon: float = 1e-04; data_format: {'NHWC', 'NCHW'} = 'NHWC'; is_training: bool = true")
      .Infer(InferFusedBatchNormGrad)
      .Work(FusedBatchNormCost);
  op("FusedBatchNormGradV2(y_backprop: T, x: T, scale: float, reserve_space_1: U, reserve_space_2: U) -> "
     "(x_backprop: T, scale_backprop: U, offset_backprop: U, reserve_space_3: U, reserve_space_4: U)",
     "T: {float, bfloat16, half}; U: {float}; epsilon: float = 1e-04; data_format: {'NHWC', 'NCHW'} = "
     "'NHWC'; is_training: bool = true")
      .Infer(InferFusedBatchNormGrad)
      .Work(FusedBatchNormCost);
  op("FusedBatchNormGradV3(y_backprop: T, x: T, scale: float, reserve_space_1: U, reserve_space_2: U, "
     "reserve_space_3: U) -> (x_backprop: T, scale_backprop: U, offset_backprop: U, reserve_space_4: U, "
     "reserve_space_5: U)",
     "T: {float, bfloat16, half}; U: {float}; epsilon: float = 1e-04; data_format: {'NHWC', 'NCHW', 'NDHWC', "
     "'NCDHW'} = 'NHWC'; is_training: bool = true")
      .Infer(InferFusedBatchNormGrad)
      .Work(FusedBatchNormCost);
}

}  // namespace lanescope::ops
