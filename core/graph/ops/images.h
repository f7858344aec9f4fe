// SPDX-License-Identifier: Apache-2.0
// Results of ops that rearrange or resize images, for inference and kernels. Shapes may be open. All throw
// InvalidArgument, in TensorFlow's words, for what does not fit.
#pragma once

#include "core/graph/ops/fold.h"
#include "core/graph/ops/window.h"

namespace lanescope::ops {

// DepthToSpace and SpaceToDepth: a square of `block` x `block` pixels is the channels of one.
class BlockRule {
 public:
  explicit BlockRule(const Node& node);

  const ImageAxes& axes() const { return axes_; }
  int64_t block() const { return block_; }
  bool to_space() const { return to_space_; }
  Shape ResultOf(const Shape& images) const;

 private:
  ImageAxes axes_;
  int64_t block_;
  bool to_space_;
};

// How pixels of a resized image lie on those of the image; images are in the NHWC format.
class ResizeRule {
 public:
  explicit ResizeRule(const Node& node);

  bool align_corners() const { return align_corners_; }
  bool half_pixel_centers() const { return half_pixel_centers_; }
  // `sizes`: height and width of the result, which replace those of `images`.
  Shape ResultOf(const Shape& images, const Numbers& sizes) const;
  // The gradient of a bilinear resize has the shape of the image.
  Shape ImagesOf(const Shape& gradient, const Shape& images) const;

 private:
  bool align_corners_, half_pixel_centers_;
};

// ReverseSequence: of each row of the batch the first `lengths[row]` elements are reversed.
class SequenceRule {
 public:
  explicit SequenceRule(const Node& node);

  int64_t sequence() const { return sequence_; }
  int64_t batch() const { return batch_; }
  Shape ResultOf(const Shape& input, const Shape& lengths) const;

 private:
  int64_t sequence_, batch_;
};

}  // namespace lanescope::ops
