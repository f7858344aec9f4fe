// SPDX-License-Identifier: Apache-2.0
#include "core/graph/ops/pooling.h"

#include "core/base/error.h"
#include "core/graph/ops/common.h"
#include "core/graph/ops/op_spec.h"

namespace lanescope::ops {
namespace {

void InferPool(InferenceContext& context) {
  context.SetShape(0, PoolRule(context.node()).ResultOf(context.shape(0)));
}

void InferMaxGradient(InferenceContext& context) {
  context.SetShape(
      0, PoolRule(context.node()).MaxGradientOf(context.shape(0), context.shape(1), context.shape(2)));
}

void InferMaxSecond(InferenceContext& context) {
  context.SetShape(
      0, PoolRule(context.node()).MaxSecondOf(context.shape(0), context.shape(1), context.shape(2)));
}

void InferAvgGradient(InferenceContext& context) {
  context.SetShape(0, PoolRule(context.node()).AvgGradientOf(ShapeFromInput(context, 0), context.shape(1)));
}

// A comparison or an addition for each element of each window.
OpWork PoolCost(const Node& node, std::span<const TensorInfo> inputs, std::span<const TensorInfo> outputs) {
  return {SaturatingMul(PoolRule(node).area(), CountOf(outputs[0])), TotalBytes(inputs, outputs)};
}

// The search for each window's maximum (or the spreading of its average) and one addition.
OpWork PoolGradCost(const Node& node, std::span<const TensorInfo> inputs,
                    std::span<const TensorInfo> outputs) {
  return {SaturatingMul(PoolRule(node).area() + 1, CountOf(inputs.back())), TotalBytes(inputs, outputs)};
}

// `name` has the shape that the pooling asks for.
void CheckShape(std::string_view name, const Shape& given, const Shape& expected) {
  if (!Contradict(given, expected)) return;
  Throw(Code::kInvalidArgument, "Expected {} shape to be {}, but got {}", name, expected.ToString(),
        given.ToString());
}

}  // namespace

Shape PoolRule::ResultOf(const Shape& images) const {
  Shape result = ImageShape("tensor_in", images);
  for (const int axis : {windows_.axes().height, windows_.axes().width}) {
    result.set_dim(axis, windows_.CountAlong(axis, result[axis], size(axis)));
  }
  return result;
}

Shape PoolRule::MaxGradientOf(const Shape& images, const Shape& pooled, const Shape& gradient) const {
  const Shape result = ResultOf(images);
  CheckShape("orig_output", ImageShape("tensor_out", pooled), result);
  CheckShape("grad", ImageShape("out_backprop", gradient), result);
  return ImageShape("tensor_in", images);
}

Shape PoolRule::MaxSecondOf(const Shape& images, const Shape& pooled, const Shape& gradient) const {
  const Shape result = ResultOf(images);
  CheckShape("orig_output", ImageShape("tensor_out", pooled), result);
  CheckShape("grad", ImageShape("out_grad_backprop", gradient), ImageShape("tensor_in", images));
  return MergeShapes(result, pooled);
}

Shape PoolRule::AvgGradientOf(const Shape& sizes, const Shape& gradient) const {
  CheckShape("grad", ImageShape("out_backprop", gradient), ResultOf(sizes));
  return ImageShape("tensor_in", sizes);
}

void RegisterPoolingOps(OpRegistry& registry) {
  const OpLister op(registry);
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
      .Infer(InferMaxGradient)
      .Work(PoolGradCost);
  op("MaxPoolGradGrad(orig_input: T, orig_output: T, grad: T) -> (output: T)",
     "ksize: list(int) >= 4; strides: list(int) >= 4; padding: {'SAME', 'VALID'}; data_format: {'NHWC', "
     "'NCHW'} = 'NHWC'; T: real")
      .Infer(InferMaxSecond)
      .Work(PoolGradCost);
  op("AvgPoolGrad(orig_input_shape: int32, grad: T) -> (output: T)",
     "ksize: list(int) >= 4; strides: list(int) >= 4; padding: {'SAME', 'VALID'}; data_format: {'NHWC', "
     "'NCHW'} = 'NHWC'; T: floating")
      .Infer(InferAvgGradient)
      .Work(PoolGradCost);
}

}  // namespace lanescope::ops
