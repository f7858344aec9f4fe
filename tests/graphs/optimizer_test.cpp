// SPDX-License-Identifier: Apache-2.0
// Training steps beside those that TensorFlow's optimizers wrote and ran (tests/golden/optimizers).
#include "graphs/optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/graph/graph_io.h"
#include "core/inputs/run_spec.h"
#include "graphs/ops.h"
#include "tests/core/base/expect_error.h"
#include "tests/exec/reference_interpreter.h"
#include "tests/graphs/golden.h"
#include "tests/support/recorded_cases.h"

namespace lanescope::graphs {
namespace {

using exec::test::ReferenceInterpreter;

std::unique_ptr<Optimizer> OptimizerCalled(const std::string& name, const Input& rate) {
  if (name == "sgd") return std::make_unique<GradientDescentOptimizer>(rate);
  if (name == "momentum") return std::make_unique<MomentumOptimizer>(rate, 0.9);
  if (name == "nesterov")
    return std::make_unique<MomentumOptimizer>(rate, 0.9, MomentumOptions{.use_nesterov = true});
  if (name == "adagrad") return std::make_unique<AdagradOptimizer>(rate);
  if (name == "rmsprop") return std::make_unique<RmsPropOptimizer>(rate);
  if (name == "rmsprop_centered") {
    return std::make_unique<RmsPropOptimizer>(rate, RmsPropOptions{.momentum = 0.5, .centered = true});
  }
  return std::make_unique<AdamOptimizer>(rate);
}

Endpoint TrainingStep(Scope& s, const std::string& name) {
  const std::string how = name.substr(name.find('/') + 1);
  const Endpoint loss = s.graph().FindEndpoint("loss");
  const Input rate = how == "rate" ? Input(s.graph().FindEndpoint("rate")) : Input(0.1);
  const auto optimizer = OptimizerCalled(name.substr(0, name.find('/')), rate);
  MinimizeOptions options{.colocate_gradients_with_ops = how == "colocated"};
  for (const Variable* variable : s.variables()) {
    if (variable->name == "step") {
      options.global_step = variable;
    } else {
      options.variables.push_back(variable);
    }
  }
  if (!how.starts_with("clipped")) return optimizer->Minimize(s, loss, options);
  std::vector<GradientOf> gradients = optimizer->ComputeGradients(s, loss, options);
  if (how == "clipped_together") {
    std::vector<Gradient> all;
    for (const GradientOf& of : gradients) all.push_back(of.gradient);
    all = ClipByGlobalNorm(s, all, 0.01);
    for (size_t i = 0; i < all.size(); ++i) gradients[i].gradient = all[i];
  } else {
    for (GradientOf& of : gradients) of.gradient = ClipByNorm(s, of.gradient, 0.01);
  }
  return optimizer->ApplyGradients(s, gradients);
}

void RunCase(const Json& test) {
  const Graph theirs = ParseGraphText(test.at("graph").get<std::string>());
  Graph forward;
  for (const NodeId id : IdRange<NodeId>(test.at("forward").get<size_t>())) forward.AddNode(theirs.node(id));
  std::set<std::string> old;
  for (const Node& node : forward.nodes()) old.insert(node.name);
  Scope s(std::move(forward));
  const Endpoint train = TrainingStep(s, test.at("name").get<std::string>());
  EXPECT_EQ(s.graph().node(train.node).name, test.at("train").get<std::string>());
  std::vector<std::string> roots = {test.at("train").get<std::string>()};
  for (const Variable* variable : s.variables())
    roots.push_back(s.graph().node(variable->initializer.node).name);
  ExpectEqualNodes(s.graph(), theirs, roots, [&](const Node& node) { return !old.contains(node.name); });
  const Endpoint first = InitializeVariables(s);
  ReferenceInterpreter session(s.graph());
  session.Run({}, {}, {s.graph().node(first.node).name});
  for (int step = 0; step < 3; ++step) {
    session.Run({{"x", TensorOf(test.at("feeds").at("x"))}}, {}, {s.graph().node(train.node).name});
  }
  for (const auto& [name, value] : test.at("variables").items()) {
    ExpectNear(session.Run({}, {name})[0], TensorOf(value), 1e-5, 1e-6, name);
  }
}

TEST(Optimizers, AreTensorFlowsNodeForNodeAndStepForStep) {
  const Json cases = test::RecordedCases("optimizers/optimizers");
  ASSERT_FALSE(cases.empty());
  for (const Json& test : cases) {
    SCOPED_TRACE(test.at("name").get<std::string>());
    try {
      RunCase(test);
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

// The model of a sample graph, trained by our optimizer, is the sample graph.
void TrainAgain(const std::string& name, double rate, bool colocate) {
  SCOPED_TRACE(name);
  const std::string path = lanescope::test::SourceDir() + std::string("/samples/graphs/") + name + ".pbtxt";
  const Graph theirs = ReadGraph(path);
  const RunSpec spec = ReadRunSpecBeside(path);
  Graph forward;
  std::set<std::string> old;
  for (const Node& node : theirs.nodes()) {
    if (node.name.starts_with("gradients/")) break;
    forward.AddNode(node);
    old.insert(node.name);
  }
  Scope s(std::move(forward));
  MinimizeOptions options{.colocate_gradients_with_ops = colocate, .name = spec.targets.at(0)};
  for (const Variable* variable : s.variables()) {
    if (variable->name == "global_step") {
      options.global_step = variable;
    } else {
      options.variables.push_back(variable);
    }
  }
  const Endpoint loss = s.graph().FindEndpoint(spec.loss);
  const Endpoint train = AdamOptimizer(rate).Minimize(s, loss, options);
  ExpectEqualNodes(s.graph(), theirs, {s.graph().node(train.node).name},
                   [&](const Node& node) { return !old.contains(node.name); });
}

TEST(Optimizers, SampleGraphsComeOutAsTensorFlowWroteThem) {
  TrainAgain("polynomial", 0.1, false);
  TrainAgain("polynomial_parallel", 0.1, true);
  TrainAgain("deepconn_single", 1e-4, false);
  TrainAgain("deepconn_dual", 1e-4, false);
  TrainAgain("deepconn_dual_colocated", 1e-4, true);
  TrainAgain("deepconn_alternating_colocated", 1e-4, true);
}

TEST(Optimizers, WhatCannotBeTrainedIsNamed) {
  Scope s;
  const Variable& w = s.GetVariable("w", {2});
  const Endpoint x = op::Placeholder(s, DataType::kFloat, {.name = "x", .shape = {}});
  EXPECT_THAT(ErrorOf([&] { AdamOptimizer(0.1).Minimize(s, x); }),
              testing::HasSubstr("No gradients provided for any variable: w."));
  EXPECT_THAT(ErrorOf([&] { AdagradOptimizer(0.1, {.initial_accumulator_value = 0}); }),
              testing::HasSubstr("must be positive"));
  Scope empty;
  const Endpoint y = op::Const(empty, 1.0);
  EXPECT_THAT(ErrorOf([&] { AdamOptimizer(0.1).Minimize(empty, y); }),
              testing::HasSubstr("No variables to optimize."));
  EXPECT_EQ(w.name, "w");
}

}  // namespace
}  // namespace lanescope::graphs
