// SPDX-License-Identifier: Apache-2.0
#include "tests/core/graph/op_case.h"

namespace lanescope {
namespace {

TEST(OpMath, ElementWiseShapes) {
  CheckCases({
      {"Relu", {Float("[2,<=3,?]")}, {}, {"[2,<=3,?]"}},
      {"AddV2", {Float("[2,1,4]"), Float("[3,1]")}, {}, {"[2,3,4]"}},
      {"Mul", {Float("[<=8,50]"), Float("[]")}, {}, {"[<=8,50]"}},
      {"Mul", {Float("[<=8,50]"), Float("[8,1]")}, {}, {"[8,50]"}},
      {"Less", {Float("[4]"), Float("<unknown>")}, {}, {"<unknown>"}},
      {"ReluGrad", {Float("[4,?]"), Float("[?,5]")}, {}, {"[4,5]"}},
      {"AddN", {Float("[4,?]"), Float("[?,5]"), Float("[4,5]")}, {}, {"[4,5]"}},
      {"Select", {Typed(DataType::kBool, "[4]"), Float("[4,5]"), Float("[4,5]")}, {}, {"[4,5]"}},
      {"SelectV2", {Typed(DataType::kBool, "[5]"), Float("[4,1]"), Float("[]")}, {}, {"[4,5]"}},
      {"Bitcast", {Float("[4]")}, {{"type", DataType::kUint8}}, {"[4,4]"}},
      {"Bitcast", {Typed(DataType::kUint8, "[3,4]")}, {{"type", DataType::kFloat}}, {"[3]"}},
      {"Cast", {Float("[2,?]")}, {{"DstT", DataType::kInt32}}, {"[2,?]"}},
  });
}

// Integers fold as the kernels compute: int32 wraps around, division rounds down, floats never fold.
TEST(OpMath, FoldsIntegers) {
  CheckCases({
      {"AddV2", {Ints({1, 2}), Ints({10, 20})}, {}, {"[2]={11,22}"}},
      {"AddV2", {Ints({1, 2}), Int("[2]")}, {}, {"[2]"}},
      {"Mul", {Ints({1, 2}, "[2,1]"), Ints({3, 4})}, {}, {"[2,2]={3,4,6,8}"}},
      {"Mul", {Scalar(1 << 20), Scalar(1 << 13)}, {}, {"[]={0}"}},
      {"Sub", {Scalar(-2147483647), Scalar(2)}, {}, {"[]={2147483647}"}},
      {"FloorDiv", {Ints({7, -7, 7, -7}), Ints({2, 2, -2, -2})}, {}, {"[4]={3,-4,-4,3}"}},
      {"FloorMod", {Ints({7, -7, 7, -7}), Ints({2, 2, -2, -2})}, {}, {"[4]={1,1,-1,-1}"}},
      {"TruncateDiv", {Ints({7, -7}), Ints({2, 2})}, {}, {"[2]={3,-3}"}},
      {"FloorDiv", {Scalar(1), Scalar(0)}, {}, {"[]"}},
      {"Maximum", {Ints({1, 5}), Scalar(3)}, {}, {"[2]={3,5}"}},
      {"Minimum", {Ints({1, 5}), Scalar(3)}, {}, {"[2]={1,3}"}},
      {"Neg", {Ints({1, -5})}, {}, {"[2]={-1,5}"}},
      {"Equal", {Ints({1, 5}), Scalar(5)}, {}, {"[2]={0,1}"}},
      {"GreaterEqual", {Ints({1, 5}), Scalar(5)}, {}, {"[2]={0,1}"}},
      {"Cast", {Ints({0, -3})}, {{"DstT", DataType::kBool}}, {"[2]={0,1}"}},
      {"Cast", {Ints({0, -3})}, {{"DstT", DataType::kInt64}}, {"[2]={0,-3}"}},
      {"Cast", {Ints({0, -3})}, {{"DstT", DataType::kFloat}}, {"[2]"}},
      {"AddV2", {Constant<float>(Tensor::Scalar(1.0f)), Constant<float>(Tensor::Scalar(2.0f))}, {}, {"[]"}},
      {"SelectV2", {Constant<bool>(Tensor::Scalar(true)), Ints({1, 2}), Ints({3, 4})}, {}, {"[2]={1,2}"}},
  });
}

// Ranges follow interval arithmetic; what may wrap around is unknown.
TEST(OpMath, CarriesRanges) {
  CheckCases({
      {"AddV2", {Ranges({UpTo(5), Exactly(3)}), Scalar(2)}, {}, {"[2]~{2..7,5}"}},
      {"Mul", {Ranges({UpTo(5)}), Scalar(-2)}, {}, {"[1]~{-10..0}"}},
      {"Sub", {Scalar(1), Ranges({UpTo(5)})}, {}, {"[1]~{-4..1}"}},
      {"FloorDiv", {Ranges({UpTo(5)}), Scalar(2)}, {}, {"[1]~{0..2}"}},
      {"FloorDiv", {Ranges({UpTo(5)}), Scalar(-2)}, {}, {"[1]"}},
      {"Maximum", {Ranges({UpTo(5)}), Scalar(1)}, {}, {"[1]~{1..5}"}},
      {"Less", {Ranges({UpTo(5)}), Scalar(6)}, {}, {"[1]={1}"}},
      {"Less", {Ranges({UpTo(5)}), Scalar(3)}, {}, {"[1]~{0..1}"}},
      {"AddV2", {Ranges({UpTo(2147483647)}), Scalar(1)}, {}, {"[1]"}},
      {"Mul", {Ranges({ValueRange{0, ValueRange{}.high}}), Scalar(3)}, {}, {"[1]~{0..}"}},
  });
}

TEST(OpMath, RefusesImpossibleShapes) {
  CheckErrors({
      {"AddV2", {Float("[2]"), Float("[3]")}, {}, {"[2] and [3] cannot be broadcast"}},
      {"AddN", {Float("[2]"), Float("[3]")}, {}, {"contradict"}},
      {"Select", {Typed(DataType::kBool, "[3]"), Float("[4,5]"), Float("[4,5]")}, {}, {"contradict"}},
      {"Bitcast", {Typed(DataType::kUint8, "[3,3]")}, {{"type", DataType::kFloat}}, {"last dimension of 4"}},
  });
}

TEST(OpMath, ReductionsDropOrKeepAxes) {
  const std::pair<std::string, AttrValue> keep{"keep_dims", true};
  CheckCases({
      {"Sum", {Float("[2,3,4]"), Ints({0, -1})}, {}, {"[3]"}},
      {"Mean", {Float("[2,<=3,4]"), Ints({0})}, {keep}, {"[1,<=3,4]"}},
      {"Max", {Float("[2,3]"), Ints({})}, {}, {"[2,3]"}},
      {"Sum", {Float("[2,3]"), Int("[1]")}, {}, {"<unknown>"}},
      {"Sum", {Float("[2,<=3,?]"), Int("[1]")}, {keep}, {"[<=2,<=3,?]"}},
      {"Sum", {Float("[2,3]"), Int("[0]")}, {}, {"[2,3]"}},
      {"Prod", {Ints({2, 3, 4}), Ints({0})}, {}, {"[]={24}"}},
      {"Sum", {Ints({1, 2, 3, 4, 5, 6}, "[2,3]"), Ints({0})}, {}, {"[3]={5,7,9}"}},
      {"Sum", {Ints({1, 2, 3, 4, 5, 6}, "[2,3]"), Ints({1})}, {keep}, {"[2,1]={6,15}"}},
      {"Max", {Ints({1, 7, 3}), Ints({0})}, {}, {"[]={7}"}},
      {"Min", {Ints({1, 7, -3}), Ints({0})}, {}, {"[]={-3}"}},
      {"Prod", {Ints({}), Ints({0})}, {}, {"[]={1}"}},
      {"Max", {Ints({}), Ints({0})}, {}, {"[]"}},
      {"Prod", {Ranges({UpTo(5), Exactly(3)}), Ints({0})}, {}, {"[]~{0..15}"}},
      {"ArgMax", {Float("[2,3,4]"), Scalar(-1)}, {}, {"[2,3]"}},
      {"ArgMax", {Float("[2,3,4]"), Int("[]")}, {}, {"[?,?]"}},
      {"Cumsum", {Float("[2,3]"), Scalar(0)}, {}, {"[2,3]"}},
      {"L2Loss", {Float("[2,3]")}, {}, {"[]"}},
      {"TopKV2", {Float("[2,9]"), Scalar(3)}, {}, {"[2,3]", "[2,3]"}},
  });
  CheckErrors({{"Sum",
                {Float("[2,3]"), Ints({2})},
                {},
                {"Invalid reduction dimension (2 for input with 2 dimension(s))"}}});
}

}  // namespace
}  // namespace lanescope
