// SPDX-License-Identifier: Apache-2.0
#include "core/graph/ops/volume.h"

#include "core/base/error.h"
#include "core/graph/ops/common.h"
#include "core/graph/ops/op_spec.h"

namespace lanescope::ops {
namespace {

// Windows of more cells than this are nonsense.
constexpr int64_t kMaxWindow = int64_t{1} << 20;

VolumeAxes VolumeAxesOf(const Node& node) {
  const std::string format = node.StringAttr("data_format", "NDHWC");
  if (format == "NDHWC") return {};
  if (format == "NCDHW") return {0, {2, 3, 4}, 1};
  Throw(Code::kUnimplemented, "data format {} (NDHWC and NCDHW are supported)", format);
}

// Along depth, height and width; those of batch and channels are 1.
std::array<int64_t, 3> CellSizesOf(const Node& node, std::string_view attr) {
  if (node.FindAttr(attr) == nullptr) return {1, 1, 1};
  const std::vector<int64_t>& list = node.IntListAttr(attr);
  if (list.size() != 5)
    Throw(Code::kInvalidArgument, "attribute '{}' needs 5 numbers, not {}", attr, list.size());
  for (const int64_t size : list) CheckExtent(attr, size, 1);
  const VolumeAxes axes = VolumeAxesOf(node);
  if (list[static_cast<size_t>(axes.batch)] != 1 || list[static_cast<size_t>(axes.channel)] != 1) {
    Throw(Code::kUnimplemented, "{} over the batch or the channels", attr);
  }
  std::array<int64_t, 3> sizes;
  for (size_t d = 0; d < 3; ++d) sizes[d] = list[static_cast<size_t>(axes.cells[d])];
  return sizes;
}

void CheckVolumeShape(std::string_view name, const Shape& given, const Shape& expected) {
  if (!Contradict(VolumeShape(name, given), expected)) return;
  Throw(Code::kInvalidArgument, "Expected {} shape to be {}, but got {}", name, expected.ToString(),
        given.ToString());
}

void InferVolumeConvolution(InferenceContext& context) {
  context.SetShape(0, VolumeConvolutionRule(context.node()).ResultOf(context.shape(0), context.shape(1)));
}

void InferVolumesGradient(InferenceContext& context) {
  const Shape volumes = VolumeShape("input_sizes", ShapeFromInput(context, 0));
  VolumeConvolutionRule(context.node()).CheckGradient(volumes, context.shape(1), context.shape(2));
  context.SetShape(0, volumes);
}

void InferVolumeFilterGradient(InferenceContext& context) {
  const Shape filter = VolumeShape("filter_sizes", ShapeFromInput(context, 1));
  VolumeConvolutionRule(context.node()).CheckGradient(context.shape(0), filter, context.shape(2));
  context.SetShape(0, filter);
}

void InferVolumePool(InferenceContext& context) {
  context.SetShape(0, VolumePoolRule(context.node()).ResultOf(context.shape(0)));
}

void InferVolumeMaxGradient(InferenceContext& context) {
  context.SetShape(
      0, VolumePoolRule(context.node()).MaxGradientOf(context.shape(0), context.shape(1), context.shape(2)));
}

void InferVolumeMaxSecondGradient(InferenceContext& context) {
  context.SetShape(0, VolumePoolRule(context.node())
                          .MaxSecondGradientOf(context.shape(0), context.shape(1), context.shape(2)));
}

void InferVolumeAvgGradient(InferenceContext& context) {
  context.SetShape(
      0, VolumePoolRule(context.node()).AvgGradientOf(ShapeFromInput(context, 0), context.shape(1)));
}

// Every cell of the result takes a product and a sum with each weight of its channel; the gradients do the
// same products.
OpWork VolumeWork(const TensorInfo& convolved, const Shape& filter, std::span<const TensorInfo> inputs,
                  std::span<const TensorInfo> outputs) {
  int64_t weights = 0;
  if (filter.HasBound() && filter.rank() == 5) weights = SubShape(filter, 0, 4).NumElements();
  return {SaturatingMul(SaturatingMul(2, weights), CountOf(convolved)), TotalBytes(inputs, outputs)};
}

OpWork Conv3DCost(const Node&, std::span<const TensorInfo> inputs, std::span<const TensorInfo> outputs) {
  return VolumeWork(outputs[0], inputs[1].shape, inputs, outputs);
}
OpWork Conv3DBackpropInputCost(const Node&, std::span<const TensorInfo> inputs,
                               std::span<const TensorInfo> outputs) {
  return VolumeWork(inputs[2], inputs[1].shape, inputs, outputs);
}
OpWork Conv3DBackpropFilterCost(const Node&, std::span<const TensorInfo> inputs,
                                std::span<const TensorInfo> outputs) {
  return VolumeWork(inputs[2], outputs[0].shape, inputs, outputs);
}

OpWork VolumePoolCost(const Node& node, std::span<const TensorInfo> inputs,
                      std::span<const TensorInfo> outputs) {
  return {SaturatingMul(VolumePoolRule(node).cells(), CountOf(outputs[0])), TotalBytes(inputs, outputs)};
}
OpWork VolumePoolGradCost(const Node& node, std::span<const TensorInfo> inputs,
                          std::span<const TensorInfo> outputs) {
  return {SaturatingMul(VolumePoolRule(node).cells() + 1, CountOf(inputs.back())),
          TotalBytes(inputs, outputs)};
}

}  // namespace

Shape VolumeShape(std::string_view what, const Shape& shape) {
  if (!shape.known_rank()) return UnknownOfRank(5);
  if (shape.rank() == 5) return shape;
  Throw(Code::kInvalidArgument, "{} must be 5-dimensional: {}", what, shape.ToString());
}

VolumeWindows::VolumeWindows(const Node& node) : axes_(VolumeAxesOf(node)) {
  const std::array<int64_t, 3> strides = CellSizesOf(node, "strides");
  const std::array<int64_t, 3> dilations = CellSizesOf(node, "dilations");
  const bool same = node.StringAttr("padding") == "SAME";
  for (size_t d = 0; d < 3; ++d) steps_[d] = {strides[d], dilations[d], same};
}

Shape VolumeWindows::ResultOf(const Shape& volumes, const std::array<Dim, 3>& sizes) const {
  Shape result = volumes;
  for (size_t d = 0; d < 3; ++d) {
    result.set_dim(axes_.cells[d], steps_[d].Count(volumes[axes_.cells[d]], sizes[d]));
  }
  return result;
}

std::array<WindowDim, 3> VolumeWindows::Along(const Shape& volumes,
                                              const std::array<int64_t, 3>& sizes) const {
  std::array<WindowDim, 3> dims;
  for (size_t d = 0; d < 3; ++d) dims[d] = steps_[d].Along(volumes[axes_.cells[d]], sizes[d]);
  return dims;
}

Shape VolumeConvolutionRule::ResultOf(const Shape& given, const Shape& given_filter) const {
  const Shape volumes = VolumeShape("input", given);
  const Shape filter = VolumeShape("filter", given_filter);
  const int channel = windows_.axes().channel;
  const Dim depth = volumes[channel];
  if (filter[3] == 0) Throw(Code::kInvalidArgument, "filter depth must be greater than zero");
  if (IsExact(depth) && IsExact(filter[3]) && depth % filter[3] != 0) {
    Throw(Code::kInvalidArgument, "input depth must be evenly divisible by filter depth: {} vs {}", depth,
          filter[3]);
  }
  Shape result = windows_.ResultOf(volumes, {filter[0], filter[1], filter[2]});
  result.set_dim(channel, filter[4]);
  return result;
}

void VolumeConvolutionRule::CheckGradient(const Shape& volumes, const Shape& filter,
                                          const Shape& gradient) const {
  const Shape result = ResultOf(volumes, filter);
  if (!Contradict(VolumeShape("out_backprop", gradient), result)) return;
  Throw(Code::kInvalidArgument, "out_backprop has shape {}, but the convolution's output has {}",
        gradient.ToString(), result.ToString());
}

VolumePoolRule::VolumePoolRule(const Node& node) : windows_(node), sizes_(CellSizesOf(node, "ksize")) {
  if (MulDims(MulDims(sizes_[0], sizes_[1]), sizes_[2]) > kMaxWindow) {
    Throw(Code::kInvalidArgument, "windows of more than {} cells", kMaxWindow);
  }
}

Shape VolumePoolRule::ResultOf(const Shape& volumes) const {
  return windows_.ResultOf(VolumeShape("tensor_in", volumes), {sizes_[0], sizes_[1], sizes_[2]});
}

Shape VolumePoolRule::MaxGradientOf(const Shape& volumes, const Shape& pooled, const Shape& gradient) const {
  const Shape result = ResultOf(volumes);
  CheckVolumeShape("orig_output", pooled, result);
  CheckVolumeShape("grad", gradient, result);
  return VolumeShape("tensor_in", volumes);
}

Shape VolumePoolRule::MaxSecondGradientOf(const Shape& volumes, const Shape& pooled,
                                          const Shape& gradient) const {
  const Shape result = ResultOf(volumes);
  CheckVolumeShape("orig_output", pooled, result);
  CheckVolumeShape("grad", gradient, VolumeShape("tensor_in", volumes));
  return result;
}

Shape VolumePoolRule::AvgGradientOf(const Shape& sizes, const Shape& gradient) const {
  CheckVolumeShape("grad", gradient, ResultOf(sizes));
  return VolumeShape("tensor_in", sizes);
}

void RegisterVolumeOps(OpRegistry& registry) {
  const OpLister op(registry);
  op("Conv3D(input: T, filter: T) -> (output: T)",
     "T: floating; strides: list(int) >= 5; padding: {'SAME', 'VALID'}; data_format: {'NDHWC', 'NCDHW'} = "
     "'NDHWC'; dilations: list(int) = [1, 1, 1, 1, 1]")
      .Infer(InferVolumeConvolution)
      .Work(Conv3DCost);
  op("Conv3DBackpropInputV2(input_sizes: Tshape, filter: T, out_backprop: T) -> (output: T)",
     "T: floating; strides: list(int) >= 5; padding: {'SAME', 'VALID'}; data_format: {'NDHWC', 'NCDHW'} = "
     "'NDHWC'; dilations: list(int) = [1, 1, 1, 1, 1]; Tshape: index = int32")
      .Infer(InferVolumesGradient)
      .Work(Conv3DBackpropInputCost);
  op("Conv3DBackpropFilterV2(input: T, filter_sizes: int32, out_backprop: T) -> (output: T)",
     "T: floating; strides: list(int) >= 5; padding: {'SAME', 'VALID'}; data_format: {'NDHWC', 'NCDHW'} = "
     "'NDHWC'; dilations: list(int) = [1, 1, 1, 1, 1]")
      .Infer(InferVolumeFilterGradient)
      .Work(Conv3DBackpropFilterCost);
  op("MaxPool3D(input: T) -> (output: T)",
     "ksize: list(int) >= 5; strides: list(int) >= 5; padding: {'SAME', 'VALID'}; data_format: {'NDHWC', "
     "'NCDHW'} = 'NDHWC'; T: {half, bfloat16, float}")
      .Infer(InferVolumePool)
      .Work(VolumePoolCost);
  op("MaxPool3DGrad(orig_input: TInput, orig_output: TInput, grad: T) -> (output: T)",
     "ksize: list(int) >= 5; strides: list(int) >= 5; padding: {'SAME', 'VALID'}; data_format: {'NDHWC', "
     "'NCDHW'} = 'NDHWC'; T: {half, bfloat16, float} = float; TInput: {half, bfloat16, float} = float")
      .Infer(InferVolumeMaxGradient)
      .Work(VolumePoolGradCost);
  op("MaxPool3DGradGrad(orig_input: T, orig_output: T, grad: T) -> (output: T)",
     "ksize: list(int) >= 5; strides: list(int) >= 5; padding: {'SAME', 'VALID'}; data_format: {'NDHWC', "
     "'NCDHW'} = 'NDHWC'; T: {half, bfloat16, float}")
      .Infer(InferVolumeMaxSecondGradient)
      .Work(VolumePoolCost);
  op("AvgPool3D(input: T) -> (output: T)",
     "ksize: list(int) >= 5; strides: list(int) >= 5; padding: {'SAME', 'VALID'}; data_format: {'NDHWC', "
     "'NCDHW'} = 'NDHWC'; T: floating")
      .Infer(InferVolumePool)
      .Work(VolumePoolCost);
  op("AvgPool3DGrad(orig_input_shape: int32, grad: T) -> (output: T)",
     "ksize: list(int) >= 5; strides: list(int) >= 5; padding: {'SAME', 'VALID'}; data_format: {'NDHWC', "
     "'NCDHW'} = 'NDHWC'; T: floating")
      .Infer(InferVolumeAvgGradient)
      .Work(VolumePoolGradCost);
}

}  // namespace lanescope::ops
