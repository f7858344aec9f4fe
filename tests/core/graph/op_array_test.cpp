// SPDX-License-Identifier: Apache-2.0
#include "tests/core/graph/op_case.h"

namespace lanescope {
namespace {

using IntList = std::vector<int64_t>;

TEST(OpArray, ReshapeFindsTheOpenDimension) {
  CheckCases({
      {"Reshape", {Float("[2,3,4]"), Ints({-1, 4})}, {}, {"[6,4]"}},
      {"Reshape", {Float("[2,3,4]"), Ints({24})}, {}, {"[24]"}},
      {"Reshape", {Float("[<=6,4]"), Ints({-1, 2})}, {}, {"[<=12,2]"}},
      {"Reshape", {Float("[?,4]"), Ints({-1, 2})}, {}, {"[?,2]"}},
      // The elements must fill the shape, so one open dimension follows from the others.
      {"Reshape", {Float("[6,4]"), Ranges({UpTo(50), Exactly(8)})}, {}, {"[3,8]"}},
      {"Reshape", {Float("[<=6,4]"), Ranges({UpTo(5), Exactly(4)})}, {}, {"[<=5,4]"}},
      {"Reshape", {Float("[<=6,4]"), Int("[3]")}, {}, {"[?,?,?]"}},
      {"Reshape", {Float("[<=6,4]"), Int("<unknown>")}, {}, {"<unknown>"}},
      {"Reshape", {Ints({1, 2, 3, 4}), Ints({2, 2})}, {}, {"[2,2]={1,2,3,4}"}},
      {"Reshape", {Float("[0,3]"), Ints({0, 5})}, {}, {"[0,5]"}},
      // As TensorFlow 2.15 gave: beside a size of 0 dimensions of 0 do not count.
      {"Reshape", {Float("[0,6]"), Ints({0, -1})}, {}, {"[0,6]"}},
      {"Reshape", {Float("[0,6]"), Ints({0, 4, -1})}, {}, {"[0,4,1]"}},
      {"Reshape", {Float("[3,0]"), Ints({-1, 0, 2})}, {}, {"[1,0,2]"}},
      {"Reshape", {Float("[0,6]"), Ints({-1, 4})}, {}, {"[0,4]"}},
  });
  CheckErrors({
      {"Reshape", {Float("[2,3]"), Ints({4})}, {}, {"a tensor with 6 values, but the requested shape has 4"}},
      {"Reshape",
       {Float("[2,3]"), Ints({-1, 4})},
       {},
       {"a tensor with 6 values, but the requested shape requires a multiple of 4"}},
      {"Reshape", {Float("[2,3]"), Ints({-1, -1})}, {}, {"Only one input size may be -1, not both 0 and 1"}},
      {"Reshape", {Float("[2,3]"), Ints({-2})}, {}, {"Size 0 must be non-negative, not -2"}},
  });
}

TEST(OpArray, RankChanges) {
  CheckCases({
      {"ExpandDims", {Float("[2,3]"), Scalar(-1)}, {}, {"[2,3,1]"}},
      {"ExpandDims", {Float("[2,3]"), Int("[]")}, {}, {"[?,?,?]"}},
      {"ExpandDims", {Ranges({UpTo(4)}), Scalar(0)}, {}, {"[1,1]~{0..4}"}},
      {"Squeeze", {Float("[2,1,3,1]")}, {}, {"[2,3]"}},
      {"Squeeze", {Float("[<=2,1,3,1]")}, {{"squeeze_dims", IntList{-1}}}, {"[<=2,1,3]"}},
      {"Squeeze", {Float("[<=2,1]")}, {}, {"<unknown>"}},
      {"Transpose", {Float("[2,<=3,4]"), Ints({2, 0, 1})}, {}, {"[4,2,<=3]"}},
      {"Transpose", {Ints({1, 2, 3, 4, 5, 6}, "[2,3]"), Ints({1, 0})}, {}, {"[3,2]={1,4,2,5,3,6}"}},
      {"Transpose", {Float("[2,3]"), Int("[2]")}, {}, {"[?,?]"}},
  });
  CheckErrors({
      {"Squeeze",
       {Float("[2,1]")},
       {{"squeeze_dims", IntList{0}}},
       {"Can not squeeze dim[0], expected a dimension of 1, got 2"}},
      {"Transpose", {Float("[2,3]"), Ints({0, 0})}, {}, {"1 is missing from {0,0}."}},
      {"ExpandDims",
       {Float("[2,3]"), Scalar(4)},
       {},
       {"Tried to expand dim index 4 for tensor with 2 dimensions."}},
  });
}

TEST(OpArray, GrowingAndFilling) {
  CheckCases({
      {"Tile", {Float("[2,<=3]"), Ints({3, 2})}, {}, {"[6,<=6]"}},
      {"Tile", {Ints({1, 2}), Ints({2})}, {}, {"[4]={1,2,1,2}"}},
      {"Tile", {Float("[2,3]"), Ranges({UpTo(5), Exactly(1)})}, {}, {"[<=10,3]"}},
      {"Pad", {Float("[2,<=3]"), Ints({1, 1, 0, 2}, "[2,2]")}, {}, {"[4,<=5]"}},
      {"Fill", {Ints({2, 3}), Float("[]")}, {}, {"[2,3]"}},
      {"Fill", {Ints({2}), Scalar(7)}, {}, {"[2]={7,7}"}},
      {"Fill", {Ranges({UpTo(9), Exactly(3)}), Float("[]")}, {}, {"[<=9,3]"}},
      {"ZerosLike", {Int("[2]")}, {}, {"[2]={0,0}"}},
      {"OnesLike", {Int("[2]")}, {}, {"[2]={1,1}"}},
      {"ZerosLike", {Float("[2]")}, {}, {"[2]"}},
      {"BroadcastTo", {Float("[3,1]"), Ints({2, 3, 4})}, {}, {"[2,3,4]"}},
      {"BroadcastTo", {Float("[]"), Ranges({UpTo(9), Exactly(3)})}, {}, {"[<=9,3]"}},
      {"OneHot", {Int("[<=8]"), Scalar(10), Float("[]"), Float("[]")}, {}, {"[<=8,10]"}},
      {"OneHot", {Int("[8]"), Scalar(10), Float("[]"), Float("[]")}, {{"axis", int64_t{0}}}, {"[10,8]"}},
  });
  CheckErrors({
      {"Fill", {Ints({2, -1}), Float("[]")}, {}, {"Dimension -1 must be >= 0"}},
      {"BroadcastTo", {Float("[3]"), Ints({4})}, {}, {"Incompatible shapes: [3] vs. [4]"}},
      {"BroadcastTo", {Float("[3]"), Ints({1})}, {}, {"Incompatible shapes: [3] vs. [1]"}},
      {"Tile", {Float("[2,3]"), Ints({1})}, {}, {"a vector of length 2 but got length 1"}},
  });
}

TEST(OpArray, ShapesAsTensors) {
  CheckCases({
      {"Shape", {Float("[2,3]")}, {}, {"[2]={2,3}"}},
      // A bound is no value.
      {"Shape", {Float("[<=2,3,?]")}, {}, {"[3]~{0..2,3,0..}"}},
      {"Shape", {Float("<unknown>")}, {}, {"[?]"}},
      {"ShapeN", {Float("[2]"), Float("[]")}, {}, {"[1]={2}", "[0]={}"}},
      {"Size", {Float("[2,3]")}, {}, {"[]={6}"}},
      {"Size", {Float("[<=2,3]")}, {}, {"[]~{0..6}"}},
      {"Rank", {Float("[?,?]")}, {}, {"[]={2}"}},
      {"Range", {Scalar(2), Scalar(11), Scalar(3)}, {}, {"[3]={2,5,8}"}},
      {"Range", {Scalar(5), Scalar(0), Scalar(-2)}, {}, {"[3]={5,3,1}"}},
      {"Range", {Scalar(0), Ranges({UpTo(9)}, "[]"), Scalar(2)}, {}, {"[<=5]~{0..8}"}},
      {"Range", {Scalar(0), Int("[]"), Scalar(2)}, {}, {"[?]"}},
      {"LinSpace", {Float("[]"), Float("[]"), Scalar(5)}, {}, {"[5]"}},
      {"InvertPermutation", {Ints({2, 0, 1})}, {}, {"[3]={1,2,0}"}},
      {"ConcatOffset", {Scalar(1), Ints({2, 3}), Ints({2, 5})}, {}, {"[2]={0,0}", "[2]={0,3}"}},
      {"BroadcastArgs", {Ints({2, 1}), Ints({3})}, {}, {"[2]={2,3}"}},
  });
  CheckErrors({
      {"InvertPermutation", {Ints({0, 0})}, {}, {"makes it no permutation"}},
      {"Range", {Scalar(0), Scalar(5), Scalar(0)}, {}, {"in steps of 0"}},
      {"Range", {Scalar(0), Scalar(5), Scalar(-1)}, {}, {"in steps of -1"}},
  });
}

// As TensorFlow: equal shapes need no sum; otherwise an axis is listed for every side that is 1 or missing
// there.
TEST(OpArray, BroadcastGradientArgs) {
  CheckCases({
      {"BroadcastGradientArgs", {Ints({2, 1}), Ints({2, 1})}, {}, {"[0]={}", "[0]={}"}},
      {"BroadcastGradientArgs", {Ints({2, 1}), Ints({1})}, {}, {"[1]={1}", "[2]={0,1}"}},
      {"BroadcastGradientArgs", {Ints({3}), Ints({2, 1})}, {}, {"[1]={0}", "[1]={1}"}},
      {"BroadcastGradientArgs", {Ints({1, 1, 1}), Ints({5})}, {}, {"[3]={0,1,2}", "[2]={0,1}"}},
      {"BroadcastGradientArgs", {Ints({}), Ints({3})}, {}, {"[1]={0}", "[0]={}"}},
      // Equal bounds are not equal sizes.
      {"BroadcastGradientArgs",
       {Ranges({UpTo(4), Exactly(2)}), Ranges({UpTo(4), Exactly(2)})},
       {},
       {"[<=2]", "[<=2]"}},
  });
}

TEST(OpArray, SlicesAndParts) {
  CheckCases({
      {"Slice", {Float("[4,<=5]"), Ints({1, 0}), Ints({2, -1})}, {}, {"[2,<=5]"}},
      {"Slice", {Ints({1, 2, 3, 4, 5, 6}, "[2,3]"), Ints({0, 1}), Ints({-1, 2})}, {}, {"[2,2]={2,3,5,6}"}},
      {"Slice", {Float("[4,5]"), Int("[2]"), Ints({2, -1})}, {}, {"[2,<=5]"}},
      {"ConcatV2", {Float("[2,3]"), Float("[<=4,3]"), Scalar(0)}, {}, {"[<=6,3]"}},
      {"ConcatV2", {Ints({1, 2}), Ints({3}), Scalar(0)}, {}, {"[3]={1,2,3}"}},
      {"ConcatV2", {Ranges({UpTo(7)}), Ints({3}), Scalar(0)}, {}, {"[2]~{0..7,3}"}},
      {"ConcatV2", {Ints({1, 2}, "[2,1]"), Ints({3, 4}, "[2,1]"), Scalar(-1)}, {}, {"[2,2]={1,3,2,4}"}},
      {"Concat", {Scalar(1), Float("[2,3]"), Float("[2,4]")}, {}, {"[2,7]"}},
      {"Split", {Scalar(0), Float("[6,3]")}, {{"num_split", int64_t{3}}}, {"[2,3]", "[2,3]", "[2,3]"}},
      {"Split", {Scalar(0), Ints({1, 2, 3, 4})}, {{"num_split", int64_t{2}}}, {"[2]={1,2}", "[2]={3,4}"}},
      {"SplitV", {Float("[6,3]"), Ints({1, -1}), Scalar(0)}, {{"num_split", int64_t{2}}}, {"[1,3]", "[5,3]"}},
      {"Pack", {Float("[2,?]"), Float("[?,3]")}, {{"axis", int64_t{-1}}}, {"[2,3,2]"}},
      {"Pack", {Scalar(4), Ranges({UpTo(3)}, "[]")}, {}, {"[2]~{4,0..3}"}},
      {"Unpack",
       {Ints({1, 2, 3, 4}, "[2,2]")},
       {{"num", int64_t{2}}, {"axis", int64_t{1}}},
       {"[2]={1,3}", "[2]={2,4}"}},
  });
  CheckErrors({
      {"Slice", {Float("[4]"), Ints({2}), Ints({3})}, {}, {"Expected size[0] in [0, 2], but got 3"}},
      {"ConcatV2",
       {Float("[2,3]"), Float("[2,4]"), Scalar(0)},
       {},
       {"ConcatOp : Dimension 1 in both shapes must be equal"}},
      {"Split",
       {Scalar(0), Float("[5]")},
       {{"num_split", int64_t{2}}},
       {"does not split into 2 equal parts"}},
      {"SplitV", {Float("[6]"), Ints({1, 2}), Scalar(0)}, {{"num_split", int64_t{2}}}, {"parts of 3 in all"}},
      {"Unpack", {Float("[3,2]")}, {{"num", int64_t{2}}}, {"contradict"}},
  });
}

std::vector<std::pair<std::string, AttrValue>> Masks(int64_t begin, int64_t end, int64_t ellipsis,
                                                     int64_t new_axis, int64_t shrink) {
  return {{"begin_mask", begin},
          {"end_mask", end},
          {"ellipsis_mask", ellipsis},
          {"new_axis_mask", new_axis},
          {"shrink_axis_mask", shrink}};
}

// Python's slices: x[1:3], x[::-1], x[..., 0], x[:, None].
TEST(OpArray, StridedSlices) {
  CheckCases({
      {"StridedSlice", {Ints({1, 2, 3, 4}), Ints({1}), Ints({3}), Ints({1})}, {}, {"[2]={2,3}"}},
      {"StridedSlice",
       {Ints({1, 2, 3, 4}), Ints({0}), Ints({0}), Ints({-2})},
       Masks(1, 1, 0, 0, 0),
       {"[2]={4,2}"}},
      {"StridedSlice",
       {Ints({1, 2, 3, 4}), Ints({-1}), Ints({0}), Ints({1})},
       Masks(0, 0, 0, 0, 1),
       {"[]={4}"}},
      {"StridedSlice",
       {Ints({1, 2, 3, 4}), Ints({2}), Ints({0}), Ints({1})},
       Masks(1, 1, 0, 0, 1),
       {"[]={3}"}},
      {"StridedSlice",
       {Float("[2,3,4]"), Ints({0, 1}), Ints({0, 2}), Ints({1, 1})},
       Masks(0, 0, 1, 0, 2),
       {"[2,3]"}},
      {"StridedSlice",
       {Float("[2,3]"), Ints({0, 0}), Ints({0, 0}), Ints({1, 1})},
       Masks(1, 1, 0, 2, 0),
       {"[2,1,3]"}},
      {"StridedSlice",
       {Float("[<=9,3]"), Ints({2}), Ints({0}), Ints({1})},
       Masks(0, 1, 0, 0, 0),
       {"[<=7,3]"}},
      {"StridedSlice",
       {Float("[<=9,3]"), Ints({0}), Ints({0}), Ints({1})},
       Masks(1, 1, 0, 0, 0),
       {"[<=9,3]"}},
      {"StridedSlice",
       {Float("[<=9,3]"), Ints({-2}), Ints({0}), Ints({1})},
       Masks(0, 1, 0, 0, 0),
       {"[<=9,3]"}},
      {"StridedSlice", {Float("[?,3]"), Ints({0}), Ints({5}), Ints({1})}, {}, {"[<=5,3]"}},
      {"StridedSlice", {Float("[9]"), Ints({0}), Ranges({UpTo(4)}), Ints({1})}, {}, {"[<=4]"}},
      {"StridedSlice",
       {Ranges({UpTo(9), Exactly(3)}), Ints({1}), Ints({2}), Ints({1})},
       Masks(0, 0, 0, 0, 1),
       {"[]={3}"}},
      {"StridedSlice",
       {Ranges({UpTo(9), Exactly(3)}), Ints({0}), Ints({1}), Ints({1})},
       Masks(0, 0, 0, 0, 1),
       {"[]~{0..9}"}},
      {"StridedSliceGrad", {Ints({4, 3}), Ints({1}), Ints({3}), Ints({1}), Float("[2,3]")}, {}, {"[4,3]"}},
  });
  CheckErrors({
      {"StridedSlice",
       {Float("[4]"), Ints({4}), Ints({5}), Ints({1})},
       Masks(0, 0, 0, 0, 1),
       {"slice index 4 of dimension 0 out of bounds."}},
      {"StridedSlice",
       {Ints({1, 2, 3, 4}), Ints({2}), Ints({0}), Ints({-1})},
       Masks(0, 0, 0, 0, 1),
       {"only stride 1 allowed on non-range indexing."}},
      {"StridedSlice", {Float("[4]"), Ints({0}), Ints({2}), Ints({0})}, {}, {"strides[0] must be non-zero"}},
      {"StridedSlice",
       {Float("[4]"), Ints({0, 0}), Ints({1, 1}), Ints({1, 1})},
       {},
       {"input has only 1 dims"}},
  });
}

TEST(OpArray, Diagonals) {
  CheckCases({
      {"Diag", {Float("[2,3]")}, {}, {"[2,3,2,3]"}},
      {"Diag", {Float("[<=4]")}, {}, {"[<=4,<=4]"}},
      {"Diag", {Float("<unknown>")}, {}, {"<unknown>"}},
      {"DiagPart", {Float("[2,3,2,3]")}, {}, {"[2,3]"}},
      {"DiagPart", {Float("[2,?,?,3]")}, {}, {"[2,3]"}},
      {"DebugGradientIdentity", {Float("[2]")}, {}, {"[2]"}},
  });
  CheckErrors({
      {"DiagPart", {Float("[2,3,2]")}, {}, {"the diagonal of a tensor of rank 3"}},
      {"DiagPart", {Float("[2,3]")}, {}, {"[2] and [3]"}},
  });
}

}  // namespace
}  // namespace lanescope
