// SPDX-License-Identifier: Apache-2.0
// Volumes, resized images and reversed sequences, each against its host kernel and the same in doubles.
#include <gtest/gtest.h>

#include "tests/exec/cuda/gpu/op_cases.h"

namespace lanescope::exec::test {
namespace {

struct VolumeSizes {
  Shape volumes, filter;
  int64_t stride, dilation;
  const char* padding;
};

const VolumeSizes kVolumes[] = {{Shape{2, 4, 5, 6, 3}, Shape{2, 3, 2, 3, 4}, 1, 1, "SAME"},
                                {Shape{2, 4, 5, 6, 3}, Shape{2, 3, 2, 3, 4}, 1, 1, "VALID"},
                                {Shape{1, 7, 6, 5, 2}, Shape{3, 2, 3, 2, 5}, 2, 1, "SAME"},
                                {Shape{1, 7, 6, 7, 2}, Shape{2, 2, 2, 2, 3}, 1, 2, "VALID"},
                                {Shape{1, 1, 4, 4, 2}, Shape{1, 1, 1, 2, 2}, 1, 1, "VALID"},
                                {Shape{0, 3, 3, 3, 2}, Shape{2, 2, 2, 2, 2}, 1, 1, "SAME"}};

Tensor DimsOf(const Shape& shape) {
  std::vector<int32_t> dims;
  for (const Dim dim : shape.dims()) dims.push_back(static_cast<int32_t>(dim));
  return Ints(dims);
}

TEST(GpuOps, ConvolutionsOfVolumes) {
  LANESCOPE_NEEDS_GPU();
  for (const VolumeSizes& s : kVolumes) {
    for (const DataType t : {kFloat, kDouble}) {
      const double within = t == kFloat ? 3e-5 : 1e-11;
      const AttrMap more = {{"strides", IntsAttr({1, s.stride, s.stride, s.stride, 1})},
                            {"dilations", IntsAttr({1, s.dilation, s.dilation, s.dilation, 1})},
                            {"padding", StringAttr(s.padding)}};
      const Tensor x = Random(t, s.volumes), filter = Random(t, s.filter, 2);
      const OpCase forward = Case("Conv3D", With(t, more), {x, filter});
      CheckOp(forward, within);
      const Tensor dy = Random(t, RunOnHost(forward)[0].shape(), 3);
      CheckOp(Case("Conv3DBackpropInputV2", With(t, more), {DimsOf(s.volumes), filter, dy}), within);
      CheckOp(Case("Conv3DBackpropFilterV2", With(t, more), {x, DimsOf(s.filter), dy}), within);
    }
  }
}

TEST(GpuOps, PoolingOfVolumes) {
  LANESCOPE_NEEDS_GPU();
  for (const VolumeSizes& s : kVolumes) {
    if (s.dilation > 1) continue;
    const AttrMap more = {{"ksize", IntsAttr({1, s.filter[0], s.filter[1], s.filter[2], 1})},
                          {"strides", IntsAttr({1, s.stride, s.stride, s.stride, 1})},
                          {"padding", StringAttr(s.padding)}};
    const Tensor x = Random(kFloat, s.volumes);
    const OpCase pool = Case("MaxPool3D", With(kFloat, more), {x});
    CheckOp(pool);
    CheckOp(Case("AvgPool3D", With(kFloat, more), {x}));
    const Tensor y = RunOnHost(pool)[0];
    const Tensor dy = Random(kFloat, y.shape(), 3);
    AttrMap with_type = With(kFloat, more);
    with_type.insert_or_assign("TInput", AttrValue(kFloat));
    CheckOp(Case("MaxPool3DGrad", with_type, {x, y, dy}));
    CheckOp(Case("MaxPool3DGradGrad", With(kFloat, more), {x, y, Random(kFloat, s.volumes, 4)}));
    CheckOp(Case("AvgPool3DGrad", With(kFloat, more), {DimsOf(s.volumes), dy}));
  }
}

TEST(GpuOps, ResizedImages) {
  LANESCOPE_NEEDS_GPU();
  const Shape images = {2, 5, 7, 3};
  for (const auto& [height, width] :
       {std::pair<int32_t, int32_t>{10, 14}, {3, 4}, {5, 7}, {1, 20}, {13, 2}}) {
    for (const auto& [corners, centers] : {std::pair{false, false}, {true, false}, {false, true}}) {
      const AttrMap more = {{"align_corners", AttrValue(corners)},
                            {"half_pixel_centers", AttrValue(centers)}};
      const Tensor x = Random(kFloat, images), dy = Random(kFloat, Shape{2, height, width, 3}, 2);
      CheckOp(Case("ResizeBilinear", With(kFloat, more), {x, Ints({height, width})}));
      CheckOp(Case("ResizeBilinearGrad", With(kFloat, more), {dy, x}), 3e-5, false);  // of floats always
      CheckOp(Case("ResizeNearestNeighbor", With(kFloat, more), {x, Ints({height, width})}));
      CheckOp(Case("ResizeNearestNeighborGrad", With(kFloat, more), {dy, Ints({5, 7})}), 3e-5);
    }
  }
}

TEST(GpuOps, ReversedSequences) {
  LANESCOPE_NEEDS_GPU();
  for (const DataType t : {kFloat, kDouble}) {
    for (const auto& [sequence, batch] : {std::pair<int64_t, int64_t>{1, 0}, {0, 1}, {2, 0}, {1, 2}}) {
      const Shape shape = {3, 4, 5};
      const AttrMap more = {{"seq_dim", IntAttr(sequence)}, {"batch_dim", IntAttr(batch)}};
      const auto of = [&](int64_t dim) { return shape[static_cast<int>(dim)]; };
      CheckOp(Case("ReverseSequence", With(t, more),
                   {Random(t, shape), IndicesBelow(of(sequence) + 1, Shape{of(batch)}, 3)}));
    }
  }
}

}  // namespace
}  // namespace lanescope::exec::test
