// SPDX-License-Identifier: Apache-2.0
// Variables, variable scopes and reuse, as tf.variable_scope and tf.get_variable have them.
#include "graphs/variable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graphs/ops.h"
#include "tests/core/base/expect_error.h"

namespace lanescope::graphs {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> NamesOf(const Scope& s) {
  std::vector<std::string> names;
  for (const Node& node : s.graph().nodes()) names.push_back(node.name);
  return names;
}

TEST(Variables, GetVariableWritesTensorFlowsNodes) {
  Scope s;
  const auto gpu = s.Device("/gpu:0");
  s.GetVariable("w", {3, 1});
  EXPECT_THAT(NamesOf(s),
              ElementsAre("w/Initializer/random_uniform/shape", "w/Initializer/random_uniform/min",
                          "w/Initializer/random_uniform/max", "w/Initializer/random_uniform/RandomUniform",
                          "w/Initializer/random_uniform/sub", "w/Initializer/random_uniform/mul",
                          "w/Initializer/random_uniform", "w", "w/Assign", "w/read"));
  for (const Node& node : s.graph().nodes()) {
    EXPECT_THAT(node.StringListAttr("_class"), ElementsAre("loc:@w")) << node.name;
    // The first value is made wherever it can be; the group decides.
    EXPECT_EQ(node.device, node.name.find("Initializer") == std::string::npos ? "/device:GPU:0" : "")
        << node.name;
  }
}

TEST(Variables, ScopesNameAndShareThem) {
  Scope s;
  const Variable* made = nullptr;
  {
    const auto layer = s.VariableScope("layer");
    made = &s.GetVariable("w", {2}, {.initializer = Zeros()});
    EXPECT_EQ(made->name, "layer/w");
    EXPECT_EQ(s.graph().node(op::NoOp(s).node).name, "layer/NoOp");
    EXPECT_THAT(ErrorOf([&] { s.GetVariable("w", {2}); }),
                AllOf(HasSubstr("AlreadyExists"), HasSubstr("Variable layer/w already exists, disallowed.")));
    const auto inner = s.VariableScope("inner");
    EXPECT_EQ(s.GetVariable("w", {2}).name, "layer/inner/w");
  }
  {
    // The variable's name is the scope's; nodes go below a name of their own.
    const auto layer = s.VariableScope("layer", Reuse::kYes);
    EXPECT_EQ(&s.GetVariable("w", {2}), made);
    EXPECT_EQ(s.graph().node(op::NoOp(s).node).name, "layer_1/NoOp");
    EXPECT_THAT(ErrorOf([&] { s.GetVariable("v", {2}); }),
                AllOf(HasSubstr("NotFound"), HasSubstr("Variable layer/v does not exist")));
    EXPECT_THAT(ErrorOf([&] { s.GetVariable("w", {3}); }),
                HasSubstr("Trying to share variable layer/w, but specified shape [3] and found shape [2]."));
    EXPECT_THAT(ErrorOf([&] { s.GetVariable("w", {2}, {.dtype = DataType::kDouble}); }),
                HasSubstr("specified dtype double and found dtype float"));
    // Reuse is handed on to scopes inside.
    const auto inner = s.VariableScope("inner");
    EXPECT_EQ(s.GetVariable("w", {2}).name, "layer/inner/w");
  }
  const auto layer = s.VariableScope("layer", Reuse::kAuto);
  EXPECT_EQ(&s.GetVariable("w", {2}), made);
  EXPECT_EQ(s.GetVariable("v", {2}).name, "layer/v");
}

// As TensorFlow 2.15 names them: no name scope, and a part of a variable's name below others alone.
TEST(Variables, ScopesMayHaveAnEmptyName) {
  Scope s;
  const auto node = [&] { return s.graph().node(op::NoOp(s).node).name; };
  {
    const auto root = s.VariableScope("");
    EXPECT_EQ(s.GetVariable("w", {1}).name, "w");
    EXPECT_EQ(node(), "NoOp");
  }
  {
    const auto names = s.Name("n");
    const auto root = s.VariableScope("");
    EXPECT_EQ(s.GetVariable("x", {1}).name, "x");
    EXPECT_EQ(node(), "n/NoOp");
  }
  const auto layer = s.VariableScope("l");
  const auto nameless = s.VariableScope("");
  EXPECT_EQ(s.GetVariable("w", {1}).name, "l//w");
  EXPECT_EQ(node(), "l/NoOp");
  const auto inner = s.VariableScope("m");
  EXPECT_EQ(s.GetVariable("w", {1}).name, "l//m/w");
  EXPECT_EQ(node(), "l/m/NoOp");
}

TEST(Variables, NewOnesAreCalledAsTheirScopeSays) {
  Scope s;
  const auto names = s.Name("a");
  const Variable& first = s.NewVariable(3);
  const Variable& second = s.NewVariable(Tensor(DataType::kDouble, {2}));
  EXPECT_EQ(first.name, "a/Variable");
  EXPECT_EQ(first.dtype, DataType::kInt32);
  EXPECT_EQ(second.name, "a/Variable_1");
  EXPECT_EQ(second.shape, (lanescope::Shape{2}));
  EXPECT_EQ(s.FindVariable(second.value), &second);
  EXPECT_EQ(s.FindVariable(second.initializer), nullptr);
  EXPECT_THAT(ErrorOf([&] { s.NewVariable(op::Placeholder(s, DataType::kFloat)); }),
              HasSubstr("initial_value must have a shape specified"));
}

TEST(Variables, OneNoOpADeviceWaitsForTheInitializers) {
  Scope s;
  for (const char* device : {"/gpu:0", "/gpu:1", "/gpu:0"}) {
    const auto on = s.Device(device);
    s.NewVariable(1.0);
  }
  const Endpoint init = InitializeVariables(s);
  const Node& node = s.graph().node(init.node);
  EXPECT_EQ(node.name, "init");
  EXPECT_EQ(node.device, "");
  ASSERT_EQ(node.control_inputs.size(), 2u);
  EXPECT_EQ(s.graph().node(node.control_inputs[0]).device, "/device:GPU:0");
  EXPECT_EQ(s.graph().node(node.control_inputs[0]).control_inputs.size(), 2u);
  EXPECT_EQ(s.graph().node(node.control_inputs[1]).device, "/device:GPU:1");
}

}  // namespace
}  // namespace lanescope::graphs
