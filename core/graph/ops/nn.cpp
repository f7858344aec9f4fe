// SPDX-License-Identifier: Apache-2.0
// Normalisation, bias, activations, softmax and its losses.
#include "core/graph/ops/common.h"
#include "core/graph/ops/layers.h"
#include "core/graph/ops/op_spec.h"

namespace lanescope::ops {
namespace {

void InferLrn(InferenceContext& context) {
  LrnRadius(context.node());
  std::vector<Shape> inputs;
  for (int i = 0; i < context.num_inputs(); ++i) inputs.push_back(context.shape(i));
  context.SetShape(0, LrnShape(inputs));
}

int64_t LrnWindow(const Node& node) { return 2 * LrnRadius(node) + 1; }

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

void InferBiasAdd(InferenceContext& context) {
  context.SetShape(0, BiasRule(context.node()).ResultOf(context.shape(0), context.shape(1)));
}

void InferBiasAddGrad(InferenceContext& context) {
  const Shape& shape = context.shape(0);
  context.SetShape(
      0, shape.known_rank() ? Shape{shape[BiasRule(context.node()).ChannelOf(shape)]} : UnknownOfRank(1));
}

void InferSoftmax(InferenceContext& context) {
  CheckLogits(context.shape(0));
  SameShape(context);
}

// Maximum, difference, exponential, sum, quotient.
OpWork SoftmaxCost(const Node&, std::span<const TensorInfo> inputs, std::span<const TensorInfo> outputs) {
  return {SaturatingMul(kTranscendentalFlops + 4, CountOf(outputs[0])), TotalBytes(inputs, outputs)};
}

// Loss [batch] and gradient [batch, classes]; labels are distributions, or class numbers [batch].
template <Shape (*shape)(const Shape&, const Shape&)>
void InferCrossEntropy(InferenceContext& context) {
  const Shape logits = shape(context.shape(0), context.shape(1));
  context.SetShape(0, {logits[0]});
  context.SetShape(1, logits);
}

// A softmax, a logarithm, a product and a sum for each logit.
OpWork CrossEntropyCost(const Node&, std::span<const TensorInfo> inputs,
                        std::span<const TensorInfo> outputs) {
  return {SaturatingMul(2 * kTranscendentalFlops + 6, CountOf(outputs[1])), TotalBytes(inputs, outputs)};
}

// Output 0 has the images' shape, the next `vectors` are over the channels; what follows is empty on a host.
void SetNormShapes(InferenceContext& context, const Shape& images, int channel, int vectors) {
  context.SetShape(0, images);
  for (int i = 1; i < context.num_outputs(); ++i)
    context.SetShape(i, i <= vectors ? Shape{images[channel]} : Shape{0});
}

void InferFusedBatchNorm(InferenceContext& context) {
  const BatchNormRule rule(context.node());
  SetNormShapes(
      context,
      rule.ResultOf(context.shape(0), context.shape(1), context.shape(2), context.shape(3), context.shape(4)),
      rule.channel, 4);
}

void InferFusedBatchNormGrad(InferenceContext& context) {
  const BatchNormRule rule(context.node());
  SetNormShapes(context,
                rule.GradientOf(context.shape(0), context.shape(1), context.shape(2), context.shape(3),
                                context.shape(4)),
                rule.channel, 2);
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
      .Infer(InferCrossEntropy<CrossEntropyShape>)
      .Work(CrossEntropyCost);
  op("SparseSoftmaxCrossEntropyWithLogits(features: T, labels: Tlabels) -> (loss: T, backprop: T)",
     "T: floating; Tlabels: index = int64")
      .Infer(InferCrossEntropy<SparseCrossEntropyShape>)
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
