// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "core/graph/graph_builder.h"
#include "core/graph/small_float_tensor.h"
#include "core/strategies/graph_strategy.h"
#include "core/strategies/strategy.h"
#include "study/workload/placing.h"
#include "tests/study/rewritten_graph.h"
#include "tests/support/paths.h"

namespace lanescope::study {
namespace {

using ::testing::HasSubstr;

std::string Sample(const std::string& name) {
  return test::SourceDir() + "/samples/graphs/" + name + ".pbtxt";
}

StepGraph Written(const Workload& workload, int gpus) {
  const RooflineCost costs;
  const Machine machine = VirtualMachine(gpus, 1);
  return ReplicateOverBatch({workload.graph(), workload.spec(), workload.info(), machine, costs});
}

// Law: the mean of the replicas' gradients is the gradient of the whole batch, so that training goes the same
// way, up to rounding.
TEST(DataParallelTest, ReplicasTrainLikeOneModel) {
  for (const auto& [name, steps] : {std::pair<const char*, int>{"polynomial", 4}, {"deepconn_single", 2}}) {
    const Workload workload{Sample(name)};
    const Machine machine = VirtualMachine(2, 1);
    const float one = LossAfter(workload, "single", machine, steps);
    const float replicas = LossAfter(workload, "data-parallel", machine, steps);
    EXPECT_NEAR(replicas / one, 1, 1e-3) << name;
  }
}

// y = x w, loss = sum(y^2) / 2, w -= dloss/dw by hand: every GPU has a replica on half of the batch, the
// variable stands once, and the gradient is the sum of the replicas' ones.
TEST(DataParallelTest, EachGpuHasAReplicaAndVariablesStandOnce) {
  GraphBuilder builder;
  const Endpoint x = builder.Placeholder("x", DataType::kFloat, Shape{kUnknownDim, 4});
  const Endpoint w =
      builder.Op("VariableV2", "w").Attr("dtype", DataType::kFloat).Attr("shape", Shape{4, 1}).Build();
  const Endpoint y = builder.Op("MatMul", "y").Input(x).Input(w).Build();
  const Endpoint gradient =
      builder.Op("MatMul", "gradient").Input(x).Input(y).Attr("transpose_a", true).Build();
  const Endpoint rate = builder.Scalar("rate", 0.5f);
  builder.Op("ApplyGradientDescent", "train/update_w/Apply").Input(w).Input(rate).Input(gradient).Build();
  RunSpec spec;
  FeedSpec feed;
  feed.shape = Shape{6, 4};
  feed.generator = "uniform";
  spec.feeds["x"] = feed;
  spec.batch_axis["x"] = 0;
  spec.fetches = {"gradient", "y"};
  spec.targets = {"train/update_w/Apply"};
  const Workload workload("by-hand", builder.Take(), spec);
  const StepGraph written = Written(workload, 2);
  const Graph& graph = written.graph;
  for (const char* node : {"replica_0/y", "replica_1/y", "replica_0/gradient", "replica_1/gradient", "w"})
    EXPECT_TRUE(graph.FindNode(node).exists()) << node;
  EXPECT_FALSE(graph.FindNode("y").exists());
  EXPECT_THAT(graph.node(graph.FindNode("replica_1/y")).device, HasSubstr("GPU:1"));
  const Workload again("again", graph, written.spec);
  EXPECT_EQ(again.info().of(graph.FindEndpoint("replica_1/y")).shape, (Shape{3, 1}));
  EXPECT_EQ(again.info().of(graph.FindEndpoint(written.spec.fetches[1])).shape, (Shape{6, 1})) << "all rows";
  const Node& update = graph.node(graph.FindNode("train/update_w/Apply"));
  EXPECT_EQ(graph.node(update.inputs[2].node).op, "AddN") << "the sum";
  EXPECT_EQ(again.info().of(graph.FindEndpoint(written.spec.fetches[0])).shape, (Shape{4, 1}));
  const Machine machine = VirtualMachine(2, 1);
  const Schedule schedule = CompileStep(Place(workload, "data-parallel", machine, RooflineCost()), machine);
  EXPECT_NO_THROW(VerifySchedule(graph, schedule));
}

// Law: a gradient of 16 bits is averaged in its own type: of 0.5 in every replica it is 0.5.
TEST(DataParallelTest, GradientsOfSixteenBitsAreAveraged) {
  GraphBuilder builder;
  const Endpoint x = builder.Placeholder("x", DataType::kFloat, Shape{kUnknownDim, 2});
  const Endpoint small = builder.Op("Cast", "small").Input(x).Attr("DstT", DataType::kBfloat16).Build();
  const Endpoint axis = builder.Const("axis", Tensor::FromValues(Shape{1}, std::vector<int32_t>{0}));
  const Endpoint mean = builder.Op("Mean", "mean").Input(small).Input(axis).Build();
  const Endpoint sum_axis = builder.Const("sum_axis", Tensor::FromValues(Shape{1}, std::vector<int32_t>{0}));
  builder.Op("Mean", "loss").Input(mean).Input(sum_axis).Build();
  RunSpec spec;
  spec.feeds["x"].shape = Shape{4, 2};
  spec.feeds["x"].values = Tensor::FromValues(Shape{4, 2}, std::vector<float>(8, 0.5f));
  spec.batch_axis["x"] = 0;
  spec.fetches = {"loss"};
  const Workload workload("small", builder.Take(), spec);
  const Machine machine = VirtualMachine(2, 1);
  RecordedRun run(Place(workload, "data-parallel", machine, RooflineCost()), machine, nullptr, {});
  run.RunToEnd(0, 1);
  const Tensor loss = run.last_fetches().front();
  EXPECT_EQ(loss.dtype(), DataType::kBfloat16);
  EXPECT_EQ(WidenedTensor(loss).data<float>()[0], 0.5f);
}

// Law: rows that are fetched are those of the replicas, one behind the other, as they are.
TEST(DataParallelTest, FetchedRowsAreThoseOfOneModel) {
  GraphBuilder builder;
  const Endpoint x = builder.Placeholder("x", DataType::kFloat, Shape{kUnknownDim, 2});
  builder.Op("Square", "y").Input(x).Build();
  RunSpec spec;
  spec.feeds["x"].shape = Shape{4, 2};
  spec.feeds["x"].generator = "uniform";
  spec.batch_axis["x"] = 0;
  spec.fetches = {"y"};
  const Workload workload("rows", builder.Take(), spec);
  const Machine machine = VirtualMachine(2, 1);
  const auto fetched = [&](const std::string& strategy) {
    RecordedRun run(Place(workload, strategy, machine, RooflineCost()), machine, nullptr, {});
    run.RunToEnd(0, 1);
    const Tensor rows = run.last_fetches().front();
    return std::vector<float>(rows.data<float>(), rows.data<float>() + rows.NumElements());
  };
  EXPECT_EQ(fetched("data-parallel"), fetched("single"));
  EXPECT_EQ(fetched("fsdp"), fetched("single"));
}

TEST(DataParallelTest, RefusesWhatItCannotSplit) {
  const Workload polynomial{Sample("polynomial")};
  EXPECT_THAT(RefusalOf([&] { Written(polynomial, 1); }), HasSubstr("fewer than two GPUs"));
  EXPECT_THAT(RefusalOf([&] { Written(polynomial, 3); }),
              HasSubstr("batch of 100 in 'x' cannot be shared out evenly over 3 GPUs; the nearest batch that "
                        "can is 99, and the nearest number of GPUs for this one is 2"));
  EXPECT_THAT(RefusalOf([&] { Written(Workload{Sample("two_towers_matmul")}, 2); }),
              HasSubstr("no batch_axis"));
  GraphBuilder builder;
  const Endpoint x = builder.Placeholder("x", DataType::kFloat, Shape{kUnknownDim, 4});
  const Endpoint shape = builder.Const("shape", Tensor::FromValues(Shape{2}, std::vector<int32_t>{6, 4}));
  builder.Op("Reshape", "y").Input(x).Input(shape).Build();
  RunSpec spec;
  spec.feeds["x"].shape = Shape{6, 4};
  spec.feeds["x"].generator = "uniform";
  spec.batch_axis["x"] = 0;
  spec.fetches = {"y"};
  const Workload fixed("fixed", builder.Take(), spec);
  EXPECT_THAT(RefusalOf([&] { Written(fixed, 2); }), HasSubstr("fixes the size of its batch"));
}

// Law: no name of a placement means a strategy that writes another graph.
TEST(DataParallelTest, IsNoPlacement) {
  const Workload workload{Sample("polynomial")};
  const Machine machine = VirtualMachine(2, 1);
  const RooflineCost costs;
  const StrategyInput input{workload.graph(), workload.info(), machine, costs, workload.placer(), nullptr};
  EXPECT_THAT(RefusalOf([&] { PlaceByStrategy("data-parallel", input); }), HasSubstr("writes another graph"));
}

}  // namespace
}  // namespace lanescope::study
