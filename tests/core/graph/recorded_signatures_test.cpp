// SPDX-License-Identifier: Apache-2.0
#include "core/graph/recorded_signatures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace lanescope {
namespace {

std::string ArgText(const ArgDef& arg) {
  const std::string type = arg.type == DataType::kInvalid ? "" : DataTypeName(arg.type);
  return arg.name + ":" + (arg.is_ref ? "ref " : "") + arg.number_attr + "*" + type + arg.type_attr +
         arg.type_list_attr;
}

std::string ArgText(const std::vector<ArgDef>& args) {
  std::string text;
  for (const ArgDef& arg : args) text += ArgText(arg) + " ";
  return text;
}

Node RecordedNode(const std::string& name, const std::string& op, std::vector<Endpoint> inputs = {}) {
  Node node;
  node.name = name;
  node.op = op;
  node.inputs = std::move(inputs);
  return node;
}

TEST(RecordedSignatures, AllAreReadable) {
  const auto names = RecordedOps();
  EXPECT_GT(names.size(), 1800u);
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  for (const std::string_view name : names) {
    const OpDef* signature = RecordedSignature(name);
    ASSERT_NE(signature, nullptr) << name;
    EXPECT_EQ(signature->name, name);
  }
  EXPECT_EQ(RecordedSignature("SomebodysOp"), nullptr);
  EXPECT_EQ(RecordedSignature(""), nullptr);
}

// Definitions here must agree with TensorFlow's own.
TEST(RecordedSignatures, DefinitionsAgree) {
  for (const std::string_view name : OpRegistry::Global().Names()) {
    const OpDef* signature = RecordedSignature(name);
    if (signature == nullptr) continue;  // of an older TensorFlow, or a Python function's
    const OpDef* def = OpRegistry::Global().Find(name);
    EXPECT_EQ(ArgText(def->inputs), ArgText(signature->inputs)) << name;
    EXPECT_EQ(ArgText(def->outputs), ArgText(signature->outputs)) << name;
  }
}

TEST(RecordedSignatures, GiveOutputsToOpsWithoutADefinition) {
  Node node = RecordedNode("trees", "BoostedTreesGetEnsembleStates", {{NodeId(0), 0}});
  std::vector<DataType> expected(5, DataType::kInt32);
  expected[0] = DataType::kInt64;
  EXPECT_EQ(OutputTypes(node), expected);
  // Attributes or inputs that do not fit: nothing is known, and nothing is thrown.
  node.inputs.clear();
  EXPECT_EQ(OutputTypes(node).size(), 1u);
  Node next = RecordedNode("n", "IteratorGetNext", {{NodeId(0), 0}});
  EXPECT_EQ(OutputTypes(next).size(), 1u);
  next.attrs["output_types"] = std::vector<DataType>{DataType::kInt64, DataType::kString};
  EXPECT_EQ(OutputTypes(next), (std::vector<DataType>{DataType::kInt64, DataType::kString}));
}

}  // namespace
}  // namespace lanescope
