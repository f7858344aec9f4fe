// SPDX-License-Identifier: Apache-2.0
#include "core/graph/ops/images.h"

#include "core/base/error.h"
#include "core/graph/ops/common.h"
#include "core/graph/ops/op_spec.h"

namespace lanescope::ops {
namespace {

// Blocks beyond this are nonsense, and their squares still fit.
constexpr int64_t kMaxBlock = int64_t{1} << 30;

void InferBlocks(InferenceContext& context) {
  context.SetShape(0, BlockRule(context.node()).ResultOf(context.shape(0)));
}

void InferResize(InferenceContext& context) {
  context.SetShape(0, ResizeRule(context.node()).ResultOf(context.shape(0), NumbersOf(context, 1)));
}

void InferBilinearGradient(InferenceContext& context) {
  context.SetShape(0, ResizeRule(context.node()).ImagesOf(context.shape(0), context.shape(1)));
}

void InferReverseSequence(InferenceContext& context) {
  context.SetShape(0, SequenceRule(context.node()).ResultOf(context.shape(0), context.shape(1)));
}

// Three interpolations a pixel, each of three operations.
constexpr int64_t kBilinearFlops = 9;

OpWork BilinearGradientWork(const Node&, std::span<const TensorInfo> inputs,
                            std::span<const TensorInfo> outputs) {
  return {SaturatingMul(kBilinearFlops, CountOf(inputs[0])), TotalBytes(inputs, outputs)};
}

// One addition for each pixel of the gradient.
OpWork NearestGradientWork(const Node&, std::span<const TensorInfo> inputs,
                           std::span<const TensorInfo> outputs) {
  return {CountOf(inputs[0]), TotalBytes(inputs, outputs)};
}

}  // namespace

BlockRule::BlockRule(const Node& node)
    : axes_(AxesOf(node)), block_(node.IntAttr("block_size")), to_space_(node.op == "DepthToSpace") {
  if (block_ < 2 || block_ > kMaxBlock) {
    Throw(Code::kInvalidArgument, "block_size should be between 2 and {}, but was: {}", kMaxBlock, block_);
  }
}

Shape BlockRule::ResultOf(const Shape& given) const {
  Shape images = ImageShape("images", given);
  const int64_t square = block_ * block_;
  if (to_space_) {
    const Dim depth = images[axes_.channel];
    if (IsExact(depth) && depth % square != 0) {
      Throw(Code::kInvalidArgument, "Input depth dimension {} should be divisible by: {}", depth, square);
    }
    images.set_dim(axes_.channel, MapDim(depth, [&](int64_t n) { return n / square; }));
    for (const int axis : {axes_.height, axes_.width}) images.set_dim(axis, MulDims(images[axis], block_));
    return images;
  }
  for (const int axis : {axes_.height, axes_.width}) {
    const Dim size = images[axis];
    if (IsExact(size) && size % block_ != 0) {
      Throw(Code::kInvalidArgument, "Image {} {} should be divisible by block_size: {}",
            axis == axes_.height ? "height" : "width", size, block_);
    }
    images.set_dim(axis, MapDim(size, [&](int64_t n) { return n / block_; }));
  }
  images.set_dim(axes_.channel, MulDims(images[axes_.channel], square));
  return images;
}

ResizeRule::ResizeRule(const Node& node)
    : align_corners_(node.BoolAttr("align_corners", false)),
      half_pixel_centers_(node.BoolAttr("half_pixel_centers", false)) {
  if (align_corners_ && half_pixel_centers_) {
    Throw(Code::kInvalidArgument, "If half_pixel_centers is True, align_corners must be False.");
  }
}

Shape ResizeRule::ResultOf(const Shape& given, const Numbers& sizes) const {
  Shape images = ImageShape("input", given);
  if (Contradict(sizes.shape, Shape{2})) {
    Throw(Code::kInvalidArgument, "shape_t must be a vector of two elements, not {}", sizes.shape.ToString());
  }
  for (const int axis : {1, 2}) {
    const Dim before = images[axis];
    images.set_dim(axis, kUnknownDim);
    if (before == 0) Throw(Code::kInvalidArgument, "input image must be of non-zero size");
    if (!sizes.elements) continue;
    const ValueRange& size = (*sizes.elements)[static_cast<size_t>(axis - 1)];
    if (size.high <= 0) Throw(Code::kInvalidArgument, "output dimensions must be positive");
    if (size.exact() || size.low >= 0) images.set_dim(axis, DimOfRange(size));
  }
  return images;
}

Shape ResizeRule::ImagesOf(const Shape& gradient, const Shape& given) const {
  const Shape grads = ImageShape("input_grad", gradient);
  const Shape images = ImageShape("original_image", given);
  for (const int axis : {0, 3}) {
    if (!Contradict(grads[axis], images[axis])) continue;
    Throw(Code::kInvalidArgument, "the gradient has shape {}, but the image {}", grads.ToString(),
          images.ToString());
  }
  for (const int axis : {1, 2}) {
    if (grads[axis] == 0 || images[axis] == 0)
      Throw(Code::kInvalidArgument, "input image must be of non-zero size");
  }
  return images;
}

SequenceRule::SequenceRule(const Node& node)
    : sequence_(node.IntAttr("seq_dim")), batch_(node.IntAttr("batch_dim", 0)) {
  if (sequence_ == batch_) Throw(Code::kInvalidArgument, "batch_dim == seq_dim == {}", sequence_);
}

Shape SequenceRule::ResultOf(const Shape& input, const Shape& lengths) const {
  if (lengths.known_rank() && lengths.rank() != 1) {
    Throw(Code::kInvalidArgument, "seq_lens input must be 1-dim, not {}", lengths.rank());
  }
  if (!input.known_rank()) return input;
  const auto check = [&](std::string_view name, int64_t dim) {
    if (dim >= 0 && dim < input.rank()) return;
    Throw(Code::kInvalidArgument, "{} must be < input rank ( {} vs. {})", name, dim, input.rank());
  };
  check("seq_dim", sequence_);
  check("batch_dim", batch_);
  const Dim rows = input[static_cast<int>(batch_)];
  if (lengths.known_rank() && Contradict(lengths[0], rows)) {
    Throw(Code::kInvalidArgument, "Length of seq_lens != input.dims({}), ({} vs. {})", batch_, lengths[0],
          rows);
  }
  return input;
}

void RegisterImageOps(OpRegistry& registry) {
  const OpLister op(registry);
  op("DepthToSpace(input: T) -> (output: T)",
     "T: type; block_size: int >= 2; data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'")
      .Infer(InferBlocks);
  op("SpaceToDepth(input: T) -> (output: T)",
     "T: type; block_size: int >= 2; data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'")
      .Infer(InferBlocks);
  op("ResizeBilinear(images: T, size: int32) -> (resized_images: float)",
     "T: {int8, uint8, int16, uint16, index, floating}; align_corners: bool = false; half_pixel_centers: "
     "bool = false")
      .Infer(InferResize)
      .Work(ElementCost(kBilinearFlops));
  op("ResizeBilinearGrad(grads: float, original_image: T) -> (output: T)",
     "T: floating; align_corners: bool = false; half_pixel_centers: bool = false")
      .Infer(InferBilinearGradient)
      .Work(BilinearGradientWork);
  op("ResizeNearestNeighbor(images: T, size: int32) -> (resized_images: T)",
     "T: {int8, uint8, int16, uint16, index, floating}; align_corners: bool = false; half_pixel_centers: "
     "bool = false")
      .Infer(InferResize);
  op("ResizeNearestNeighborGrad(grads: T, size: int32) -> (output: T)",
     "T: {uint8, int8, int32, floating}; align_corners: bool = false; half_pixel_centers: bool = false")
      .Infer(InferResize)
      .Work(NearestGradientWork);
  op("ReverseSequence(input: T, seq_lengths: Tlen) -> (output: T)",
     "seq_dim: int; batch_dim: int = 0; T: type; Tlen: index = int64")
      .Infer(InferReverseSequence);
}

}  // namespace lanescope::ops
