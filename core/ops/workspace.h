// Scratch memory of the kernels that need some: the sizes that the memory plan reserves and the kernels use.
#pragma once

#include "core/op.h"

namespace lanescope::ops {

// Convolutions work on tiles of the im2col matrix of at most this many bytes, but on one output pixel's patch
// at least.
inline constexpr int64_t kIm2colTileBytes = int64_t{4} << 20;

// Conv2D and its two gradients: one im2col tile. Bytes.
int64_t Conv2DWorkspace(const Node& node, std::span<const TensorInfo> inputs,
                        std::span<const TensorInfo> outputs);
// MaxPoolGrad: for each output element the int64 position of its maximum. Bytes.
int64_t MaxPoolGradWorkspace(const Node& node, std::span<const TensorInfo> inputs,
                             std::span<const TensorInfo> outputs);
// Unsorted segment reductions: the rows sorted by segment (int64 first row of each segment, and one past the
// last; int64 row numbers). Bytes.
int64_t SegmentWorkspace(const Node& node, std::span<const TensorInfo> inputs,
                         std::span<const TensorInfo> outputs);

}  // namespace lanescope::ops
