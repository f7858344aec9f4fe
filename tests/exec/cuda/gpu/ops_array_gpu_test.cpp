// SPDX-License-Identifier: Apache-2.0
// Ops that move elements, with a CUDA kernel, each against its host kernel.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "tests/exec/cuda/gpu/op_cases.h"

namespace lanescope::exec::test {
namespace {

TEST(GpuOps, NewShapesAndFills) {
  LANESCOPE_NEEDS_GPU();
  const Tensor x = Random(kFloat, Shape{6, 10});
  for (const char* op : {"Identity", "Snapshot", "StopGradient", "PreventGradient"})
    CheckOp(Case(op, With(kFloat), {x}));
  CheckOp(Case("Reshape", With(kFloat, {{"Tshape", AttrValue(kInt32)}}), {x, Ints({4, -1})}));
  CheckOp(Case("ExpandDims", With(kFloat, {{"Tdim", AttrValue(kInt32)}}), {x, Number(-2)}));
  CheckOp(Case("Squeeze", With(kFloat, {{"squeeze_dims", IntsAttr({1})}}), {Random(kFloat, Shape{3, 1, 2})}));
  CheckOp(
      Case("Fill", With(kFloat, {{"index_type", AttrValue(kInt32)}}), {Ints({3, 5}), Tensor::Scalar(2.5f)}));
  for (const DataType t : {kFloat, kDouble, kInt64, kBool}) {
    CheckOp(Case("ZerosLike", With(t), {Random(t, Shape{77})}));
    CheckOp(Case("OnesLike", With(t), {Random(t, Shape{77})}));
  }
  CheckOp(Case("ZerosLike", With(kInt32), {Random(kInt32, Shape{5})}));
  CheckOp(Case("Range", {{"Tidx", AttrValue(kFloat)}},
               {Tensor::Scalar(0.5f), Tensor::Scalar(9.0f), Tensor::Scalar(0.25f)}));
  CheckOp(Case("Range", {{"Tidx", AttrValue(kInt64)}},
               {Tensor::Scalar<int64_t>(9), Tensor::Scalar<int64_t>(-9), Tensor::Scalar<int64_t>(-2)}));
  for (const int64_t axis : {-1, 0, 1}) {
    CheckOp(Case("OneHot", With(kFloat, {{"TI", AttrValue(kInt64)}, {"axis", IntAttr(axis)}}),
                 {IndicesBelow(9, Shape{4, 3}, 1), Number(7), Tensor::Scalar(2.0f), Tensor::Scalar(-1.0f)}));
  }
  CheckOp(Case("CheckNumerics", With(kFloat, {{"message", StringAttr("x")}}), {x}));
  const auto value = std::make_shared<TensorAttr>(TensorAttr{x, ""});
  CheckOp(Case("Const",
               {{"dtype", AttrValue(kFloat)}, {"value", AttrValue(std::shared_ptr<const TensorAttr>(value))}},
               {}),
          0, false);
}

TEST(GpuOps, Layout) {
  LANESCOPE_NEEDS_GPU();
  for (const DataType t : {kFloat, kDouble, kBool, kInt32}) {
    for (const auto& [shape, perm] : {std::pair<Shape, std::vector<int32_t>>{Shape{5, 7}, {1, 0}},
                                      {Shape{64, 100}, {1, 0}},
                                      {Shape{3, 40, 50}, {0, 2, 1}},
                                      {Shape{33, 2, 65}, {2, 1, 0}},
                                      {Shape{2, 3, 4, 8}, {0, 3, 1, 2}},
                                      {Shape{4, 6, 8}, {1, 0, 2}},
                                      {Shape{0, 3}, {1, 0}}}) {
      for (const char* op : {"Transpose", "ConjugateTranspose"}) {
        CheckOp(Case(op, With(t, {{"Tperm", AttrValue(kInt32)}}), {Random(t, shape), Ints(perm)}));
      }
    }
    CheckOp(
        Case("Tile", With(t, {{"Tmultiples", AttrValue(kInt32)}}), {Random(t, Shape{3, 4}), Ints({2, 3})}));
  }
  for (const char* op : {"BroadcastTo"}) {
    CheckOp(Case(op, With(kFloat, {{"Tidx", AttrValue(kInt32)}}),
                 {Random(kFloat, Shape{3, 1}), Ints({2, 3, 8})}));
    CheckOp(Case(op, With(kFloat, {{"Tidx", AttrValue(kInt32)}}), {Random(kFloat, Shape{}), Ints({1000})}));
  }
  CheckOp(Case("ReverseV2", With(kFloat, {{"Tidx", AttrValue(kInt32)}}),
               {Random(kFloat, Shape{3, 5, 4}), Ints({0, 2})}));
  CheckOp(Case("Slice", With(kFloat, {{"Index", AttrValue(kInt32)}}),
               {Random(kFloat, Shape{6, 8, 5}), Ints({1, 4, 0}), Ints({3, 4, -1})}));
  const AttrMap slice = {
      {"Index", AttrValue(kInt32)}, {"begin_mask", IntAttr(1)}, {"shrink_axis_mask", IntAttr(4)}};
  CheckOp(Case("StridedSlice", With(kFloat, slice),
               {Random(kFloat, Shape{6, 8, 5}), Ints({0, 7, 2}), Ints({5, 1, 3}), Ints({2, -3, 1})}));
  CheckOp(Case(
      "StridedSliceGrad", With(kFloat, slice),
      {Ints({6, 8, 5}), Ints({0, 7, 2}), Ints({5, 1, 3}), Ints({2, -3, 1}), Random(kFloat, Shape{3, 2})}));
  for (const int axis : {0, 1, 2}) {
    std::vector<Tensor> parts;
    for (const int64_t size : {3, 0, 4, 8}) {
      Shape shape{4, 6, 8};
      shape.set_dim(axis, size);
      parts.push_back(Random(kFloat, shape, static_cast<uint32_t>(size)));
    }
    parts.push_back(Number(axis));
    CheckOp(Case("ConcatV2", With(kFloat, {{"N", IntAttr(4)}, {"Tidx", AttrValue(kInt32)}}), parts));
    CheckOp(Case("Split", With(kFloat, {{"num_split", IntAttr(2)}}),
                 {Number(axis), Random(kFloat, Shape{4, 6, 8})}));
  }
  CheckOp(Case("SplitV", With(kFloat, {{"num_split", IntAttr(3)}, {"Tlen", AttrValue(kInt32)}}),
               {Random(kFloat, Shape{4, 9}), Ints({2, -1, 3}), Number(1)}));
  for (const int64_t axis : {0, 1, -1}) {
    std::vector<Tensor> parts;
    for (uint32_t i = 0; i < 70; ++i) parts.push_back(Random(kFloat, Shape{4, 3}, i));
    CheckOp(Case("Pack", With(kFloat, {{"N", IntAttr(70)}, {"axis", IntAttr(axis)}}), parts));
  }
  CheckOp(Case("Unpack", With(kFloat, {{"num", IntAttr(6)}, {"axis", IntAttr(1)}}),
               {Random(kFloat, Shape{4, 6, 8})}));
  const Tensor pads = Tensor::FromValues<int32_t>(Shape{2, 2}, {1, 2, 0, 3});
  CheckOp(Case("Pad", With(kFloat, {{"Tpaddings", AttrValue(kInt32)}}), {Random(kFloat, Shape{4, 5}), pads}));
  CheckOp(Case("PadV2", With(kFloat, {{"Tpaddings", AttrValue(kInt32)}}),
               {Random(kFloat, Shape{4, 5}), pads, Tensor::Scalar(7.0f)}));
  for (const char* mode : {"REFLECT", "SYMMETRIC"}) {
    CheckOp(Case("MirrorPad", With(kFloat, {{"Tpaddings", AttrValue(kInt32)}, {"mode", StringAttr(mode)}}),
                 {Random(kFloat, Shape{4, 5}), pads}));
  }
  Tensor borders(kInt32, Shape{3, 2});
  const int32_t sizes[] = {1, 2, 0, 5, 3, 0};
  std::copy(std::begin(sizes), std::end(sizes), borders.data<int32_t>());
  for (const char* mode : {"REFLECT", "SYMMETRIC"}) {
    for (const DataType t : {kFloat, kDouble}) {
      CheckOp(Case("MirrorPadGrad", With(t, {{"Tpaddings", AttrValue(kInt32)}, {"mode", StringAttr(mode)}}),
                   {Random(t, Shape{9, 40, 12}), borders}));
    }
  }
  for (const Shape& shape : {Shape{3, 3}, Shape{2, 40, 7}, Shape{0, 3, 3}, Shape{5, 0}}) {
    for (const auto& [lower, upper] : {std::pair{0, 0}, {-1, 0}, {0, -1}, {1, 0}}) {
      if (lower > shape[shape.rank() - 2]) continue;
      CheckOp(Case("MatrixBandPart", With(kFloat, {{"Tindex", AttrValue(kInt32)}}),
                   {Random(kFloat, shape), Number(lower), Number(upper)}));
    }
  }
}

TEST(GpuOps, Gathers) {
  LANESCOPE_NEEDS_GPU();
  for (const DataType index : {kInt32, kInt64}) {
    for (const int64_t inner : {1, 3, 50, 64}) {
      const AttrMap attrs = {
          {"Tparams", AttrValue(kFloat)}, {"Tindices", AttrValue(index)}, {"Taxis", AttrValue(kInt32)}};
      CheckOp(Case("GatherV2", attrs,
                   {Random(kFloat, Shape{40, inner}), IndicesBelow(40, Shape{9, 5}, 2, index), Number(0)}));
      CheckOp(Case("GatherV2", attrs,
                   {Random(kFloat, Shape{4, 7, inner}), IndicesBelow(7, Shape{9}, 2, index), Number(1)}));
    }
    CheckOp(Case("GatherNd", {{"Tparams", AttrValue(kFloat)}, {"Tindices", AttrValue(index)}},
                 {Random(kFloat, Shape{5, 5, 6}), IndicesBelow(5, Shape{7, 2}, 3, index)}));
  }
  CheckOp(Case("GatherV2",
               {{"Tparams", AttrValue(kFloat)},
                {"Tindices", AttrValue(kInt64)},
                {"Taxis", AttrValue(kInt32)},
                {"batch_dims", IntAttr(1)}},
               {Random(kFloat, Shape{3, 7, 2}), IndicesBelow(7, Shape{3, 4}, 5), Number(1)}));
}

TEST(GpuOps, UniqueAndItsKin) {
  LANESCOPE_NEEDS_GPU();
  for (const int64_t n : {0, 1, 100, 5000, 51200}) {
    for (const int64_t limit : {1, 7, 90000}) {
      for (const DataType out : {kInt32, kInt64}) {
        const AttrMap attrs = With(kInt64, {{"out_idx", AttrValue(out)}});
        CheckOp(Case("Unique", attrs, {IndicesBelow(limit, Shape{n}, 1)}));
        CheckOp(Case("UniqueWithCounts", attrs, {IndicesBelow(limit, Shape{n}, 1)}));
      }
    }
  }
  CheckOp(Case("Unique", With(kFloat, {{"out_idx", AttrValue(kInt32)}}),
               {Floats(Shape{6}, {1, -0.0f, 0, 2, 1, -3})}));
  CheckOp(Case("Where", With(kBool), {Random(kBool, Shape{30, 20})}));
  CheckOp(Case("Where", With(kFloat), {Floats(Shape{5}, {1, 0, -2, 0, 3})}));
  for (const int64_t rows : {0, 1, 500}) {
    CheckOp(Case("DynamicPartition", With(kFloat, {{"num_partitions", IntAttr(4)}}),
                 {Random(kFloat, Shape{rows, 3}), IndicesBelow(4, Shape{rows}, 2, kInt32)}));
  }
  CheckOp(
      Case("DynamicStitch", With(kFloat, {{"N", IntAttr(2)}}),
           {Ints({0, 4, 2, 4}), Ints({1, 3}), Random(kFloat, Shape{4, 6}), Random(kFloat, Shape{2, 6}, 2)}));
}

TEST(GpuOps, Segments) {
  LANESCOPE_NEEDS_GPU();
  for (const auto& [rows, inner, segments] : {std::array<int64_t, 3>{0, 3, 5},
                                              {1, 1, 1},
                                              {100, 7, 9},
                                              {5000, 50, 3000},
                                              {3000, 2, 2},
                                              {400, 1, 1000}}) {
    const AttrMap more = {{"Tindices", AttrValue(kInt32)}, {"Tnumsegments", AttrValue(kInt32)}};
    const Tensor ids = IndicesBelow(segments, Shape{rows}, 3, kInt32);
    for (const char* op : {"UnsortedSegmentSum", "UnsortedSegmentMax", "UnsortedSegmentMin"}) {
      CheckOp(Case(op, With(kFloat, more), {Random(kFloat, Shape{rows, inner}), ids, Number(segments)}), 1e-4,
              std::string(op) == "UnsortedSegmentSum");
    }
    CheckOp(Case("UnsortedSegmentProd", With(kFloat, more),
                 {Random(kFloat, Shape{rows, inner}, 1, 0.99, 1.01), ids, Number(segments)}),
            1e-3);
    if (rows == 0) continue;
    std::vector<int32_t> sorted = ListOf<int32_t>(ids);
    std::sort(sorted.begin(), sorted.end());
    for (const char* op : {"SegmentSum", "SegmentMean", "SegmentMax", "SegmentMin"}) {
      CheckOp(Case(op, With(kFloat, {{"Tindices", AttrValue(kInt32)}}),
                   {Random(kFloat, Shape{rows, inner}), Ints(sorted)}),
              1e-4);
    }
    for (const char* op : {"SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"}) {
      CheckOp(Case(op, With(kFloat, {{"Tidx", AttrValue(kInt64)}, {"Tsegmentids", AttrValue(kInt32)}}),
                   {Random(kFloat, Shape{20, inner}), IndicesBelow(20, Shape{rows}, 4), Ints(sorted)}),
              1e-4);
      CheckOp(Case(std::string(op) + "WithNumSegments",
                   With(kFloat, {{"Tidx", AttrValue(kInt64)},
                                 {"Tsegmentids", AttrValue(kInt32)},
                                 {"Tnumsegments", AttrValue(kInt32)}}),
                   {Random(kFloat, Shape{20, inner}), IndicesBelow(20, Shape{rows}, 4), Ints(sorted),
                    Number(segments + 3)}),
              1e-4);
      CheckOp(Case(std::string(op) + "Grad",
                   With(kFloat, {{"Tidx", AttrValue(kInt64)}, {"Tsegmentids", AttrValue(kInt32)}}),
                   {Random(kFloat, Shape{segments, inner}), IndicesBelow(20, Shape{rows}, 4), Ints(sorted),
                    Number(20)}),
              1e-4);
      for (const DataType index : {kInt32, kInt64}) {
        CheckOp(Case(std::string(op) + "GradV2",
                     With(kFloat, {{"Tidx", AttrValue(index)}, {"Tsegmentids", AttrValue(kInt32)}}),
                     {Random(kFloat, Shape{segments, inner}), IndicesBelow(20, Shape{rows}, 4, index),
                      Ints(sorted), Number(20)}),
                1e-4);
      }
    }
  }
  CheckOp(Case("UnsortedSegmentSum",
               With(kInt32, {{"Tindices", AttrValue(kInt64)}, {"Tnumsegments", AttrValue(kInt32)}}),
               {Random(kInt32, Shape{70, 3}, 1, -9, 9), IndicesBelow(5, Shape{70}, 2), Number(5)}));
}

}  // namespace
}  // namespace lanescope::exec::test
