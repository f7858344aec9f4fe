// SPDX-License-Identifier: Apache-2.0
#include "core/graph/op.h"

#include "core/graph/ops/op_spec.h"
#include "tests/core/graph/op_case.h"

namespace lanescope {
namespace {

TEST(OpSpec, ReadsSignatureAndAttributes) {
  const OpDef def = ops::ParseOpSpec(
      "Toy(var: Ref(T), values: N * T, list: L, index: int32) -> (out: Ref(T), sizes: N * int64)",
      "T: {floating, int32} = float; N: int >= 1; L: list(type) >= 0; mode: {'A', 'B'} = 'A'; "
      "ks: list(int) >= 2 = [1, -2]; rate: float = 1e-04; shape: shape = ?; keep: bool = false");
  EXPECT_EQ(def.name, "Toy");
  ASSERT_EQ(def.inputs.size(), 4u);
  EXPECT_TRUE(def.inputs[0].is_ref);
  EXPECT_EQ(def.inputs[0].type_attr, "T");
  EXPECT_EQ(def.inputs[1].number_attr, "N");
  EXPECT_EQ(def.inputs[2].type_list_attr, "L");
  EXPECT_EQ(def.inputs[3].type, DataType::kInt32);
  EXPECT_EQ(def.outputs[1].type, DataType::kInt64);
  EXPECT_EQ(def.FindAttr("T")->allowed_types.size(), 5u);
  EXPECT_EQ(std::get<DataType>(*def.FindAttr("T")->fallback), DataType::kFloat);
  EXPECT_EQ(def.FindAttr("N")->minimum, 1);
  EXPECT_FALSE(def.FindAttr("N")->fallback.has_value());
  EXPECT_EQ(def.FindAttr("mode")->allowed_strings, (std::vector<std::string>{"A", "B"}));
  EXPECT_EQ(std::get<std::vector<int64_t>>(*def.FindAttr("ks")->fallback), (std::vector<int64_t>{1, -2}));
  EXPECT_EQ(std::get<float>(*def.FindAttr("rate")->fallback), 1e-4f);
  EXPECT_FALSE(std::get<ShapeAttr>(*def.FindAttr("shape")->fallback).shape.known_rank());
}

TEST(OpSpec, RefusesMistakes) {
  EXPECT_THROW(ops::ParseOpSpec("Toy(x: T) -> (y: T)", ""), Error);
  EXPECT_THROW(ops::ParseOpSpec("Toy(x: float) - (y: float)", ""), Error);
  EXPECT_THROW(ops::ParseOpSpec("Toy() -> ()", "T: strange"), Error);
}

TEST(OpRegistry, RefusesASecondDefinition) {
  OpRegistry registry;
  registry.Register(ops::ParseOpSpec("Toy() -> ()", ""));
  EXPECT_THROW(registry.Register(ops::ParseOpSpec("Toy() -> ()", "")), Error);
  EXPECT_EQ(registry.Find("Other"), nullptr);
}

TEST(OpRegistry, EveryDefinitionWithDataInfersShapes) {
  const OpRegistry& registry = OpRegistry::Global();
  EXPECT_GT(registry.Names().size(), 300u);
  for (const std::string_view name : registry.Names()) {
    const OpDef* def = registry.Find(name);
    EXPECT_TRUE(def->outputs.empty() || def->infer != nullptr) << name;
    for (const int update : def->updates) EXPECT_LT(update, static_cast<int>(def->inputs.size())) << name;
    EXPECT_EQ(def->updates.empty(), def->role != StateRole::kUpdate) << name;
  }
}

TEST(OpTypes, FollowTheSignature) {
  Node split;
  split.name = "s";
  split.op = "Split";
  split.attrs["T"] = DataType::kInt32;
  split.attrs["num_split"] = int64_t{3};
  EXPECT_EQ(OutputTypes(split), std::vector<DataType>(3, DataType::kInt32));
  EXPECT_EQ(InputTypes(split), (std::vector<DataType>{DataType::kInt32, DataType::kInt32}));
  split.attrs["num_split"] = int64_t{1} << 40;
  EXPECT_THROW(NumOutputs(split), Error);
  Node unknown;
  unknown.op = "Strange";
  EXPECT_EQ(OutputTypes(unknown), std::vector<DataType>{DataType::kFloat});
  unknown.attrs["_output_types"] = std::vector<DataType>{DataType::kInt32, DataType::kBool};
  EXPECT_EQ(NumOutputs(unknown), 2);
}

OpWork WorkOfCase(const OpCase& op_case) {
  const auto [graph, feeds] = GraphOf(op_case);
  std::vector<TensorInfo> inputs;
  for (const In& in : op_case.inputs) inputs.push_back(in.info);
  const GraphInfo info = InferGraph(graph, feeds);
  const NodeId node = graph.FindNode("op");
  return WorkOf(graph.node(node), inputs, info.outputs(node));
}

// Two operations per multiply-add; bytes read and written.
TEST(OpWork, CountsOperationsAndBytes) {
  const OpWork product = WorkOfCase({"MatMul", {Float("[2,3]"), Float("[3,4]")}, {}, {}});
  EXPECT_EQ(product.flops, 2 * 2 * 3 * 4);
  EXPECT_EQ(product.bytes, 4 * (6 + 12 + 8));
  const OpWork convolution =
      WorkOfCase({"Conv2D",
                  {Float("[8,24,24,3]"), Float("[5,5,3,64]")},
                  {{"strides", std::vector<int64_t>{1, 2, 2, 1}}, {"padding", std::string("SAME")}},
                  {}});
  EXPECT_EQ(convolution.flops, int64_t{2} * 8 * 12 * 12 * 64 * 5 * 5 * 3);
  EXPECT_EQ(WorkOfCase({"Mul", {Float("[<=8,5]"), Float("[]")}, {}, {}}).flops, 40);
  EXPECT_EQ(WorkOfCase({"Sum", {Float("[8,5]"), Ints({0, 1})}, {}, {}}).flops, 40);
  const OpWork gather = WorkOfCase({"GatherV2", {Float("[100000,50]"), Int("[7]"), Scalar(0)}, {}, {}});
  EXPECT_EQ(gather.bytes, 7 * 4 + 2 * 7 * 50 * 4);
  const OpWork alias = WorkOfCase({"Reshape", {Float("[8,5]"), Ints({40})}, {}, {}});
  EXPECT_EQ(alias.flops + alias.bytes, 0);
}

TEST(OpWork, TakesAttributedCosts) {
  Node node;
  node.name = "n";
  node.op = "Strange";
  node.attrs["_lanescope_cost"] = std::string(R"({"ns": {"GPU": 1500, "CPU": 9000}, "flops": 1e6})");
  EXPECT_EQ(AttributedNs(node, "GPU"), 1500);
  EXPECT_EQ(AttributedNs(node, "TPU"), std::nullopt);
  EXPECT_EQ(WorkOf(node, {}, {}).flops, 1000000);
  for (const char* bad : {"", "[]", R"({"ns": 5})", R"({"ns": {"GPU": -1}})", R"({"ns": {"GPU": "fast"}})",
                          R"({"ns": {"GPU": 1e300}})"}) {
    node.attrs["_lanescope_cost"] = std::string(bad);
    EXPECT_THROW(AttributedNs(node, "GPU"), Error) << bad;
  }
}

TEST(OpBytes, ByTheBound) {
  EXPECT_EQ(BytesOf(Float("[<=8,5]").info), 160);
  EXPECT_EQ(BytesOf(Float("[?,5]").info), 0);
  EXPECT_EQ(BytesOf(Typed(DataType::kString, "[4]").info), 128);
  EXPECT_EQ(BytesOf(Typed(DataType::kResource, "[]").info), 0);
}

}  // namespace
}  // namespace lanescope
