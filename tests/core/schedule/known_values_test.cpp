// SPDX-License-Identifier: Apache-2.0
// Values that are known before the step: nothing computes them, and who reads them still waits for what their
// nodes wait for.
#include <gtest/gtest.h>

#include "core/graph/graph_builder.h"
#include "core/schedule/schedule.h"
#include "tests/core/schedule/compiled.h"

namespace lanescope {
namespace {

using test::CompileChecked;
using test::Everywhere;
using test::Floats;
using test::Gpu;
using test::LaunchOf;
using test::Precedes;
using test::RequestFor;
using test::TwoGpus;

// Law: shape arithmetic over exact shapes costs no command.
TEST(Compile, FoldsShapeArithmetic) {
  GraphBuilder builder;
  const Endpoint x = builder.Placeholder("x", DataType::kFloat, Shape{4, 6});
  const Endpoint shape = builder.Op("Shape", "shape").Input(x).Build();
  const Endpoint axis = builder.Const("axis", Tensor::FromValues<int32_t>(Shape{1}, {0}));
  const Endpoint size = builder.Op("Prod", "size").Input(shape).Input(axis).Attr("keep_dims", true).Build();
  const Endpoint flat = builder.Op("Reshape", "flat").Input(x).Input(size).Build();
  builder.Op("Neg", "y").Input(flat).Build();
  const Graph& graph = builder.graph();
  CompileRequest request = RequestFor(graph, {"y"}, {});
  request.feeds.push_back({x, Floats(Shape{4, 6})});
  const Schedule schedule = CompileChecked(graph, request, Everywhere(graph, TwoGpus().host()), TwoGpus());
  ASSERT_EQ(schedule.commands.size(), 1u);
  EXPECT_EQ(schedule.values[schedule.fetches[0]].shape, (Shape{24}));
}

// Law: who reads a constant waits for what the constant waits for, on its own device and on others.
TEST(Compile, ReadersOfAConstantWaitForItsControlInputs) {
  GraphBuilder builder;
  const Endpoint x = builder.Placeholder("x", DataType::kFloat, Shape{8});
  const Endpoint first = builder.Op("Exp", "first").Input(x).Build();
  const Endpoint late = builder.Op("Const", "late")
                            .Attr("dtype", DataType::kFloat)
                            .Attr("value", Tensor::FromValues<float>(Shape{8}, std::vector<float>(8, 1.0f)))
                            .ControlInput(first.node)
                            .Build();
  const Endpoint here = builder.Op("Neg", "here").Input(late).Build();
  const Endpoint there = builder.Op("Square", "there").Input(late).Build();
  const Graph& graph = builder.graph();
  CompileRequest request = RequestFor(graph, {"here", "there"}, {"first"});
  request.feeds.push_back({x, Floats(Shape{8})});
  Placement placement = Everywhere(graph, Gpu(0));
  placement.device[there.node] = Gpu(1);
  const Schedule schedule = CompileChecked(graph, request, placement, TwoGpus());
  for (const Endpoint reader : {here, there}) {
    const CommandId launch = LaunchOf(graph, schedule, graph.node(reader.node).name);
    ASSERT_TRUE(launch.exists());
    EXPECT_TRUE(Precedes(schedule, LaunchOf(graph, schedule, "first"), launch));
  }
}

// "update" adds to a variable; who waits for "updated" waits for it.
NodeId UpdatedVariable(GraphBuilder* builder) {
  const Endpoint v =
      builder->Op("VariableV2", "v").Attr("dtype", DataType::kFloat).Attr("shape", Shape{}).Build();
  const Endpoint one = builder->Scalar("one", 1.0f);
  const Endpoint update = builder->Op("AssignAdd", "update").Input(v).Input(one).Build();
  return builder->Op("NoOp", "updated").ControlInput(update.node).Build().node;
}

// Law: who reads a value that is known before the step waits for what its node waits for, and for what the
// constants wait for that it is computed from, but for nothing of which it has the shape alone.
TEST(Compile, ReadersOfAFoldedNodeWaitForItsControlInputs) {
  GraphBuilder builder;
  const Endpoint x = builder.Placeholder("x", DataType::kFloat, Shape{2, 8});
  const NodeId updated = UpdatedVariable(&builder);
  const Endpoint unread = builder.Op("Exp", "unread").Input(x).Build();
  const Endpoint shape = builder.Op("Shape", "shape").Input(unread).ControlInput(updated).Build();
  const Endpoint late = builder.Op("Const", "late")
                            .Attr("dtype", DataType::kInt32)
                            .Attr("value", Tensor::FromValues<int32_t>(Shape{2}, {0, 0}))
                            .ControlInput(updated)
                            .Build();
  const Endpoint zero = builder.Const("zero", Tensor::FromValues<int32_t>(Shape{2}, {0, 0}));
  const Endpoint of_shape = builder.Op("AddV2", "of_shape").Input(shape).Input(zero).Build();
  const Endpoint of_late = builder.Op("AddV2", "of_late").Input(late).Input(zero).Build();
  const Endpoint from_late = builder.Op("AddV2", "from_late").Input(of_late).Input(zero).Build();
  const Endpoint here = builder.Op("Reshape", "here").Input(x).Input(of_shape).Build();
  builder.Op("Neg", "here/neg").Input(here).Build();
  const Endpoint there = builder.Op("Slice", "there").Input(x).Input(from_late).Input(of_shape).Build();
  builder.Op("NoOp", "group").ControlInput(from_late.node).Build();
  builder.Op("Square", "behind").Input(x).ControlInput(builder.graph().FindNode("group")).Build();
  const Graph& graph = builder.graph();
  CompileRequest request = RequestFor(graph, {"here/neg", "there", "behind"}, {});
  request.feeds.push_back({x, Floats(Shape{2, 8})});
  Placement placement = Everywhere(graph, Gpu(0));
  placement.device[there.node] = Gpu(1);
  const Schedule schedule = CompileChecked(graph, request, placement, TwoGpus());
  const CommandId update = LaunchOf(graph, schedule, "update");
  ASSERT_TRUE(update.exists());
  for (const char* reader : {"here/neg", "there", "behind"}) {
    const CommandId launch = LaunchOf(graph, schedule, reader);
    ASSERT_TRUE(launch.exists()) << reader;
    EXPECT_TRUE(Precedes(schedule, update, launch)) << reader;
  }
  for (const char* folded : {"unread", "shape", "of_shape", "of_late", "from_late"})
    EXPECT_FALSE(LaunchOf(graph, schedule, folded).exists()) << folded;
}

// Law: a fetch of a known value runs what its node waits for.
TEST(Compile, AFetchOfAFoldedNodeRunsItsControlInputs) {
  GraphBuilder builder;
  const NodeId updated = UpdatedVariable(&builder);
  const Endpoint two = builder.Const("two", Tensor::FromValues<int32_t>(Shape{}, {2}));
  builder.Op("Identity", "y").Input(two).ControlInput(updated).Build();
  const Graph& graph = builder.graph();
  const Schedule schedule =
      CompileChecked(graph, RequestFor(graph, {"y"}, {}), Everywhere(graph, Gpu(0)), TwoGpus());
  EXPECT_TRUE(LaunchOf(graph, schedule, "update").exists());
  EXPECT_FALSE(LaunchOf(graph, schedule, "y").exists());
}

// Law: of a node of several outputs those that are known are read without it, but not before what it waits
// for, and what it computes the others from is not wanted.
TEST(Compile, ReadersOfOneKnownOutputWaitForTheNodesControlInputs) {
  GraphBuilder builder;
  const Endpoint x = builder.Placeholder("x", DataType::kFloat, Shape{8});
  const NodeId updated = UpdatedVariable(&builder);
  const Endpoint unfed = builder.Placeholder("unfed", DataType::kFloat, Shape::Unknown());
  const Endpoint shapes =
      builder.Op("ShapeN", "shapes").Inputs(std::vector{x, unfed}).ControlInput(updated).Build();
  const Endpoint flat = builder.Op("Reshape", "flat").Input(x).Input(shapes).Build();
  builder.Op("Neg", "y").Input(flat).Build();
  const Graph& graph = builder.graph();
  CompileRequest request = RequestFor(graph, {"y"}, {});
  request.feeds.push_back({x, Floats(Shape{8})});
  const Schedule schedule = CompileChecked(graph, request, Everywhere(graph, Gpu(0)), TwoGpus());
  EXPECT_FALSE(LaunchOf(graph, schedule, "shapes").exists());
  ASSERT_TRUE(LaunchOf(graph, schedule, "update").exists());
  EXPECT_TRUE(Precedes(schedule, LaunchOf(graph, schedule, "update"), LaunchOf(graph, schedule, "y")));
}

}  // namespace
}  // namespace lanescope
