// SPDX-License-Identifier: Apache-2.0
// The op functions: what they make of their arguments, and that no op is without one.
#include "graphs/ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/base/expect_error.h"

namespace lanescope::graphs {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(OpFunctions, AttributesAreGivenByName) {
  Scope s;
  const Endpoint a = op::Placeholder(s, DataType::kDouble, {.name = "a", .shape = {2, 3}});
  const Endpoint b = op::Placeholder(s, DataType::kDouble, {.name = "b", .shape = {4, 3}});
  const Endpoint c = op::MatMul(s, a, b, {.name = "c", .transpose_b = true});
  const Node& node = s.graph().node(c.node);
  EXPECT_EQ(node.op, "MatMul");
  EXPECT_EQ(node.name, "c");
  EXPECT_EQ(node.TypeAttr("T"), DataType::kDouble);
  EXPECT_TRUE(node.BoolAttr("transpose_b"));
  EXPECT_FALSE(node.BoolAttr("transpose_a"));
  EXPECT_THAT(node.inputs, ElementsAre(a, b));
  EXPECT_EQ(s.ShapeOf(c), (lanescope::Shape{2, 4}));
}

TEST(OpFunctions, NumbersBecomeConstantsOfTheOthersType) {
  Scope s;
  const Endpoint x = op::Placeholder(s, DataType::kDouble, {.name = "x", .shape = {2}});
  const Endpoint y = op::Mul(s, x, 2, {.name = "y"});
  const Node& two = s.graph().node(s.graph().node(y.node).inputs[1].node);
  EXPECT_EQ(two.name, "y/y");
  EXPECT_EQ(two.GetTensorAttr("value").dtype(), DataType::kDouble);
  EXPECT_EQ(two.GetTensorAttr("value").data<double>()[0], 2.0);
  const Endpoint reshaped = op::Reshape(s, x, {2, 1});
  EXPECT_EQ(s.ShapeOf(reshaped), (lanescope::Shape{2, 1}));
  EXPECT_EQ(s.TypeOf(s.graph().node(reshaped.node).inputs[1]), DataType::kInt32);
  // By itself a number is an int32 or a float.
  EXPECT_EQ(s.TypeOf(op::Const(s, 1)), DataType::kInt32);
  EXPECT_EQ(s.TypeOf(op::Const(s, 1.0)), DataType::kFloat);
  EXPECT_EQ(s.TypeOf(op::Const(s, "text")), DataType::kString);
  const Endpoint i = op::Const(s, 1);
  EXPECT_THAT(ErrorOf([&] { op::Mul(s, i, 2.5); }), HasSubstr("InvalidArgument: expected int32, got 2.5"));
}

TEST(OpFunctions, ResultsAreAsTheOpHasThem) {
  Scope s;
  const Endpoint x = op::Const(s, Tensor(DataType::kFloat, {4, 2}));
  const std::vector<Endpoint> halves = op::Split(s, 0, x, 2);
  ASSERT_EQ(halves.size(), 2u);
  EXPECT_EQ(s.ShapeOf(halves[1]), (lanescope::Shape{2, 2}));
  EXPECT_EQ(s.ShapeOf(op::ConcatV2(s, halves, 1)), (lanescope::Shape{2, 4}));
  const auto top = op::TopKV2(s, x, 1);
  EXPECT_EQ(s.TypeOf(top.values), DataType::kFloat);
  EXPECT_EQ(s.TypeOf(top.indices), DataType::kInt32);
  EXPECT_EQ(op::NoOp(s).output, -1);
  const Endpoint shape = op::Shape(s, x, {.out_type = DataType::kInt64});
  EXPECT_EQ(s.TypeOf(shape), DataType::kInt64);
  EXPECT_EQ(s.Info(shape).value->IntAt(0), 4);
}

TEST(OpFunctions, WhatDoesNotFitIsRefusedAndNotAdded) {
  Scope s;
  const Endpoint x = op::Const(s, Tensor(DataType::kFloat, {2, 3}));
  const Endpoint flag = op::Const(s, true);
  const int before = s.graph().num_nodes();
  EXPECT_THAT(ErrorOf([&] { op::MatMul(s, x, x, {.name = "m"}); }),
              AllOf(HasSubstr("InvalidArgument"), HasSubstr("'m'")));
  EXPECT_THAT(ErrorOf([&] { op::Neg(s, flag); }),
              AllOf(HasSubstr("bool, expected one of half"), HasSubstr("'Neg'")));
  EXPECT_THAT(ErrorOf([&] { op::Add(s, x, flag); }), HasSubstr("InvalidArgument"));
  EXPECT_THAT(ErrorOf([&] {
                op::Neg(s, Endpoint{NodeId(99), 0});
              }),
              HasSubstr("node number 99 is not in the graph"));
  EXPECT_EQ(s.graph().num_nodes(), before);
}

}  // namespace
}  // namespace lanescope::graphs
