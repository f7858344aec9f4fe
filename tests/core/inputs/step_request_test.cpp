// SPDX-License-Identifier: Apache-2.0
#include "core/inputs/step_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/graph/graph_builder.h"
#include "tests/core/base/expect_error.h"

namespace lanescope {
namespace {

using testing::HasSubstr;

Graph SplitAndBarrier() {
  GraphBuilder builder;
  const Endpoint x = builder.Placeholder("x", DataType::kFloat, Shape{4});
  const Endpoint axis = builder.Const("axis", Tensor::Scalar<int32_t>(0));
  builder.Op("Split", "split").Input(axis).Input(x).Attr("num_split", 2).Build();
  builder.Op("NoOp", "barrier").ControlInput(x).Build();
  return builder.Take();
}

std::string ErrorOfStep(const std::string& fetch, const std::string& target = "",
                        const std::string& feed = "") {
  const Graph graph = SplitAndBarrier();
  RunSpec spec;
  if (!fetch.empty()) spec.fetches = {fetch};
  if (!target.empty()) spec.targets = {target};
  if (!feed.empty()) spec.feeds = {{"x", {}}, {feed, {}}};
  return ErrorOf([&] { StepRequestOf(graph, spec); });
}

TEST(StepRequest, TakesEveryOutputThatThereIs) {
  const Graph graph = SplitAndBarrier();
  RunSpec spec;
  spec.fetches = {"split", "split:1", "x:0"};
  spec.targets = {"barrier", "split:1", "barrier:0"};
  const CompileRequest request = StepRequestOf(graph, spec);
  const NodeId split = graph.FindNode("split"), barrier = graph.FindNode("barrier");
  EXPECT_EQ(
      request.fetches,
      (std::vector<Endpoint>{
          {split, 0}, {split, 1}, {graph.FindNode("x"), 0}, {barrier, -1}, {split, -1}, {barrier, -1}}));
}

// Law: of a chain x -> mid -> y and a node beside it, a step that is fed `mid` needs mid and y, and no x.
TEST(StepRequest, NodesOfAStepEndAtItsFeeds) {
  GraphBuilder builder;
  const Endpoint x = builder.Placeholder("x", DataType::kFloat, Shape{4});
  const Endpoint mid = builder.Op("Neg", "mid").Input(x).Build();
  builder.Op("Neg", "y").Input(mid).Build();
  builder.Op("Neg", "beside").Input(x).Build();
  const Graph graph = builder.Take();
  const auto needed = [&](const std::string& fed) {
    RunSpec spec;
    spec.feeds = {{fed, {}}};
    spec.feeds.at(fed).shape = Shape{4};
    spec.fetches = {"y"};
    const auto nodes = NodesOfStep(graph, spec, StepRequestOf(graph, spec));
    std::string names;
    for (const NodeId id : graph.node_ids())
      if (nodes[id]) names += graph.node(id).name + " ";
    return names;
  };
  EXPECT_EQ(needed("x"), "x mid y ");
  EXPECT_EQ(needed("mid"), "mid y ");
  EXPECT_EQ(needed("beside"), "x mid y ");
}

// Law: what a node does not give cannot be asked for, whoever asks.
TEST(StepRequest, RefusesOutputsThatThereAreNot) {
  EXPECT_THAT(ErrorOfStep("split:2"),
              HasSubstr("'split:2' cannot be fetched: outputs of 'split' go from :0 to :1"));
  EXPECT_THAT(ErrorOfStep("x:900"), HasSubstr("'x:900' cannot be fetched: outputs of 'x' go from :0 to :0"));
  EXPECT_THAT(ErrorOfStep("x:2147483647"), HasSubstr("cannot be fetched"));
  EXPECT_THAT(ErrorOfStep("x:99999999999999999999"), HasSubstr("the graph has no tensor"));
  EXPECT_THAT(ErrorOfStep("x:-1"), HasSubstr("the graph has no tensor 'x:-1'"));
  EXPECT_THAT(ErrorOfStep("^x"),
              HasSubstr("'^x' has no output and cannot be fetched; name it as a target instead"));
  EXPECT_THAT(ErrorOfStep("barrier"), HasSubstr("'barrier' has no output and cannot be fetched"));
  EXPECT_THAT(ErrorOfStep("", "split:7"), HasSubstr("'split:7' cannot be run for its effect"));
  EXPECT_THAT(ErrorOfStep("split", "", "split:5"), HasSubstr("'split:5' cannot be fed"));
  EXPECT_THAT(ErrorOfStep("split", "", "x:0"), HasSubstr("'x' is fed twice"));
}

}  // namespace
}  // namespace lanescope
