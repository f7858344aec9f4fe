// SPDX-License-Identifier: Apache-2.0
#include "tests/core/graph/op_case.h"

namespace lanescope {
namespace {

using Inputs = std::vector<Endpoint>;

Endpoint Variable(GraphBuilder& builder, const std::string& name, const Shape& shape) {
  return builder.Op("VariableV2", name).Attr("shape", shape).Attr("dtype", DataType::kFloat).Build();
}

Endpoint Handle(GraphBuilder& builder, const std::string& name, const Shape& shape) {
  return builder.Op("VarHandleOp", name).Attr("shape", shape).Attr("dtype", DataType::kFloat).Build();
}

std::string InferredShape(const GraphBuilder& builder, Endpoint endpoint) {
  return InferGraph(builder.graph(), {}).of(endpoint).shape.ToString();
}

TEST(OpState, ReferencesKeepTheVariablesShape) {
  GraphBuilder builder;
  const Endpoint v = Variable(builder, "v", {3, 4});
  const Endpoint value = builder.Placeholder("value", DataType::kFloat, Shape::Unknown());
  const Endpoint ids = builder.Placeholder("ids", DataType::kInt32, {2});
  const Endpoint rows = builder.Placeholder("rows", DataType::kFloat, {2, 4});
  const Endpoint assigned = builder.Op("Assign", "assign").Inputs(Inputs{v, value}).Build();
  const Endpoint added = builder.Op("AssignAdd", "add").Inputs(Inputs{assigned, value}).Build();
  const Endpoint scattered = builder.Op("ScatterAdd", "scatter").Inputs(Inputs{v, ids, rows}).Build();
  const Endpoint changed =
      builder.Op("Assign", "change").Inputs(Inputs{v, rows}).Attr("validate_shape", false).Build();
  EXPECT_EQ(InferredShape(builder, assigned), "[3,4]");
  EXPECT_EQ(InferredShape(builder, added), "[3,4]");
  EXPECT_EQ(InferredShape(builder, scattered), "[3,4]");
  EXPECT_EQ(InferredShape(builder, changed), "[2,4]");
  EXPECT_EQ(InferGraph(builder.graph(), {}).of(v).dtype, DataType::kFloat);
  EXPECT_EQ(OutputTypes(builder.graph().node(v.node))[0], MakeRef(DataType::kFloat));
  EXPECT_TRUE(IsRefInput(builder.graph().node(assigned.node), 0));
  EXPECT_FALSE(IsRefInput(builder.graph().node(assigned.node), 1));
}

TEST(OpState, HandlesKnowTheirVariable) {
  GraphBuilder builder;
  const Endpoint v = Handle(builder, "v", {3, 4});
  const Endpoint same = builder.Op("Identity", "same").Input(v).Build();
  const Endpoint read =
      builder.Op("ReadVariableOp", "read").Input(same).Attr("dtype", DataType::kFloat).Build();
  const Endpoint ids = builder.Placeholder("ids", DataType::kInt32, {7});
  const Endpoint rows =
      builder.Op("ResourceGather", "rows").Inputs(Inputs{v, ids}).Attr("dtype", DataType::kFloat).Build();
  EXPECT_EQ(InferredShape(builder, v), "[]");
  EXPECT_EQ(InferredShape(builder, read), "[3,4]");
  EXPECT_EQ(InferredShape(builder, rows), "[7,4]");
  EXPECT_EQ(BytesOf(InferGraph(builder.graph(), {}).of(v)), 0);
}

TEST(OpState, OptimizersCheckShapes) {
  GraphBuilder builder;
  const Endpoint v = Variable(builder, "v", {3, 4});
  const Endpoint m = Handle(builder, "m", {3, 4});
  const Endpoint rate = builder.Scalar("rate", 0.1f);
  const Endpoint good = builder.Placeholder("good", DataType::kFloat, Shape::Unknown());
  const Endpoint step = builder.Op("ApplyGradientDescent", "step").Inputs(Inputs{v, rate, good}).Build();
  EXPECT_EQ(InferredShape(builder, step), "[3,4]");
  const Endpoint bad = builder.Placeholder("bad", DataType::kFloat, {4, 3});
  builder.Op("ResourceApplyGradientDescent", "wrong").Inputs(Inputs{m, rate, bad}).Build();
  try {
    InferGraph(builder.graph(), {});
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.message(),
              "node 'wrong': ResourceApplyGradientDescent: shapes [3,4] and [4,3] contradict each other");
  }
}

TEST(OpState, RolesOfOps) {
  const OpRegistry& ops = OpRegistry::Global();
  EXPECT_EQ(ops.Find("VariableV2")->role, StateRole::kVariable);
  EXPECT_EQ(ops.Find("VarHandleOp")->role, StateRole::kVariable);
  EXPECT_EQ(ops.Find("ReadVariableOp")->role, StateRole::kRead);
  EXPECT_EQ(ops.Find("HashTableV2")->role, StateRole::kTable);
  EXPECT_EQ(ops.Find("Assign")->role, StateRole::kUpdate);
  EXPECT_EQ(ops.Find("ApplyAdam")->updates, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(ops.Find("ResourceSparseApplyMomentum")->updates, (std::vector<int>{0, 1}));
  EXPECT_EQ(ops.Find("Identity")->alias, AliasRule::kInput0);
  EXPECT_EQ(ops.Find("Assign")->alias, AliasRule::kNone);
  EXPECT_TRUE(ops.Find("Shape")->metadata);
  EXPECT_TRUE(ops.Find("Relu")->in_place);
  EXPECT_TRUE(ops.Find("LookupTableFindV2")->host_only);
  EXPECT_TRUE(ops.Find("RandomUniform")->stateful);
}

}  // namespace
}  // namespace lanescope
