// SPDX-License-Identifier: Apache-2.0
// Law: a step whose nodes share launches gives what it gives without, bit by bit.
#include "core/schedule/fusion.h"

#include <gtest/gtest.h>

#include <map>

#include "core/graph/graph_builder.h"
#include "core/graph/graph_io.h"
#include "core/inputs/run_spec.h"
#include "core/schedule/cost.h"
#include "core/strategies/strategy.h"
#include "tests/exec/session_harness.h"
#include "tests/support/paths.h"
#include "tests/support/random_graph.h"
#include "tests/support/sanitized.h"

namespace lanescope::exec::test {
namespace {

// Fetches of all steps, then the variables.
std::vector<Tensor> Results(const Graph& graph, const Placement& placement, const Machine& machine,
                            const RunSpec& spec, int steps, bool fuse, int* fused_launches = nullptr) {
  SessionOptions options;
  options.fuse = fuse;
  Session session(graph, placement, machine, options);
  for (const std::string& target : spec.init) session.Run({{}, {}, {target}});
  std::vector<Tensor> results;
  for (int step = 0; step < steps; ++step) {
    const RunRequest request{MakeFeeds(spec, step), spec.fetches, spec.targets};
    for (Tensor& fetched : session.Run(request).fetches) results.push_back(std::move(fetched));
    if (fused_launches != nullptr)
      *fused_launches = static_cast<int>(session.Prepare(request).schedule->fused.size());
  }
  for (const NodeId id : graph.node_ids()) {
    const Node& node = graph.node(id);
    const OpDef* def = OpRegistry::Global().Find(node.op);
    if (def == nullptr || def->role != StateRole::kVariable) continue;
    // A variable that no step has used cannot be read.
    const auto error = ErrorOf([&] { results.push_back(session.ReadVariable(node.name)); });
    EXPECT_TRUE(!error || error->code() != Code::kInternal) << node.name;
  }
  return results;
}

void ExpectSame(const std::vector<Tensor>& a, const std::vector<Tensor>& b, const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (size_t i = 0; i < a.size(); ++i) ASSERT_TRUE(BitwiseEqual(a[i], b[i])) << what << ", result " << i;
}

TEST(FusedSteps, OfEverySampleAreTheSame) {
  for (const char* name :
       {"cifar10_single", "cifar10_towers", "deepconn_single", "deepconn_dual", "deepconn_alternating",
        "polynomial", "polynomial_parallel", "random_add", "random_add_split", "two_towers_matmul"}) {
    const std::string path = lanescope::test::SourceDir() + "/samples/graphs/" + name + ".pbtxt";
    const Graph graph = ReadGraph(path);
    RunSpec spec = ReadRunSpecBeside(path);
    for (const auto& [feed, axis] : spec.batch_axis) spec.feeds.at(feed).shape.set_dim(axis, 4);
    std::vector<std::pair<Endpoint, TensorInfo>> feeds;
    for (const auto& [feed, tensor] : MakeFeeds(spec, 0)) {
      TensorInfo info;
      info.dtype = tensor.dtype();
      info.shape = tensor.shape();
      feeds.emplace_back(graph.FindEndpoint(feed), info);
    }
    const GraphInfo info = InferGraph(graph, feeds);
    const Machine machine = FastMachine(2, 2);
    const RooflineCost costs;
    for (const char* strategy : {"single", "alternating"}) {
      const Placement placement = PlaceByStrategy(strategy, {graph, info, machine, costs, {}});
      ExpectSame(Results(graph, placement, machine, spec, 2, false),
                 Results(graph, placement, machine, spec, 2, true), std::string(name) + " " + strategy);
    }
  }
}

TEST(FusedSteps, OfRandomGraphsAreTheSame) {
  int fused = 0;
  for (unsigned seed = 0; seed < 60; seed += lanescope::test::kOneCaseOf) {
    const auto random = lanescope::test::MakeRandomGraph(seed, 60, 3, seed % 3 == 0 ? 40000 : 16);
    const Machine machine = FastMachine(1 + static_cast<int>(seed % 2), 2);
    const Placement placement = lanescope::test::RandomPlacement(random.graph, machine, seed);
    RunSpec spec;
    spec.init = random.init;
    spec.fetches = random.fetches;
    spec.targets = random.targets;
    int launches = 0;
    ExpectSame(Results(random.graph, placement, machine, spec, 2, false),
               Results(random.graph, placement, machine, spec, 2, true, &launches),
               "seed " + std::to_string(seed));
    fused += launches;
  }
  EXPECT_GT(fused, 50);
}

// Decays and clipped gradients within the updates of variables of 5, 20,000 and 70,000 elements: less than a
// block, a part of one, many.
TEST(FusedSteps, OfUpdatesWithDecayAreTheSame) {
  for (const bool adam : {true, false}) {
    GraphBuilder builder;
    RunSpec spec;
    const auto number = [&](const std::string& name, float value) {
      return builder.Const(name, Tensor::Scalar(value));
    };
    const Endpoint keep = number("keep", 0.99f), rate = number("rate", 0.01f), clip = number("clip", 0.3f);
    const Endpoint beta1 = number("beta1", 0.9f), beta2 = number("beta2", 0.999f);
    const Endpoint epsilon = number("epsilon", 1e-8f);
    for (const int64_t n : {5, 20000, 70000}) {
      const std::string name = "v" + std::to_string(n);
      std::vector<Endpoint> variables;
      for (const char* slot : {"", "/m", "/v"}) {
        variables.push_back(builder.Op("VarHandleOp", name + slot)
                                .Attr("dtype", DataType::kFloat)
                                .Attr("shape", Shape{n})
                                .Attr("shared_name", name + slot)
                                .Build());
        const Endpoint first = builder.Const(name + slot + "/first", Floats(Shape{n}, 0.5f));
        builder.Op("AssignVariableOp", name + slot + "/init").Input(variables.back()).Input(first).Build();
        spec.init.push_back(name + slot + "/init");
      }
      const Endpoint gradient = builder.Placeholder(name + "/gradient", DataType::kFloat, Shape{n});
      FeedSpec& feed = spec.feeds[name + "/gradient"];
      feed.dtype = DataType::kFloat;
      feed.shape = Shape{n};
      feed.generator = "uniform";
      const Endpoint read = builder.Op("ReadVariableOp", name + "/read")
                                .Input(variables[0])
                                .Attr("dtype", DataType::kFloat)
                                .Build();
      const Endpoint kept = builder.Op("Mul", name + "/kept").Input(read).Input(keep).Build();
      const Endpoint decay =
          builder.Op("AssignVariableOp", name + "/decay").Input(variables[0]).Input(kept).Build();
      const Endpoint clipped = builder.Op("Mul", name + "/clipped").Input(gradient).Input(clip).Build();
      auto update = builder.Op(adam ? "ResourceApplyAdam" : "ResourceApplyKerasMomentum", name + "/update");
      if (adam) {
        for (const Endpoint& variable : variables) update.Input(variable);
        for (const Endpoint& input : {beta1, beta2, rate, beta1, beta2, epsilon, clipped})
          update.Input(input);
      } else {
        update.Input(variables[0]).Input(variables[1]).Input(rate).Input(clipped).Input(beta1);
      }
      update.ControlInput(decay).Build();
      spec.targets.push_back(name + "/update");
    }
    const Graph graph = builder.Take();
    const Machine machine = FastMachine(1, 2);
    const Placement placement = PlaceAll(graph, Gpu(machine, 0));
    int launches = 0;
    ExpectSame(Results(graph, placement, machine, spec, 3, false),
               Results(graph, placement, machine, spec, 3, true, &launches), adam ? "Adam" : "momentum");
    EXPECT_EQ(launches, 1);
  }
}

// In 16 bits every node rounds its results, and a fused launch keeps what was rounded.
TEST(FusedSteps, OfSmallFloatsAreTheSame) {
  for (const DataType dtype : {DataType::kHalf, DataType::kBfloat16}) {
    GraphBuilder builder;
    RunSpec spec;
    const auto op = [&](const std::string& kind, const std::string& name, std::vector<Endpoint> inputs) {
      auto node = builder.Op(kind, name);
      for (const Endpoint& input : inputs) node.Input(input);
      return node.Build();
    };
    const auto cast = [&](const std::string& name, Endpoint of, DataType to) {
      return builder.Op("Cast", name).Input(of).Attr("DstT", to).Build();
    };
    const auto feed = [&](const std::string& name, const Shape& shape) {
      FeedSpec& made = spec.feeds[name];
      made.dtype = DataType::kFloat;
      made.shape = shape;
      made.generator = "uniform";
      return cast(name + "/small", builder.Placeholder(name, DataType::kFloat, shape), dtype);
    };
    const Endpoint axis = builder.Const("axis", Tensor::FromValues<int32_t>(Shape{1}, {-1}));
    const Endpoint x = feed("x", Shape{900, 70}), bias = feed("bias", Shape{70});
    const Endpoint column = feed("column", Shape{900, 1});
    const Endpoint a = op("Tanh", "a", {op("AddV2", "biased", {x, bias})});
    const Endpoint b = op("Mul", "b", {op("Sub", "columns", {a, column}), x});
    const Endpoint chosen = op("SelectV2", "chosen", {op("Greater", "is_large", {b, x}), a, b});
    const Endpoint mean =
        builder.Op("Mean", "mean").Input(chosen).Input(axis).Attr("keep_dims", true).Build();
    const Endpoint centred = op("Sub", "centred", {chosen, mean});
    cast("result", op("Exp", "exp", {op("Softmax", "softmax", {centred})}), DataType::kFloat);
    spec.fetches = {"result:0"};
    const Graph graph = builder.Take();
    const Machine machine = FastMachine(1, 2);
    const Placement placement = PlaceAll(graph, Gpu(machine, 0));
    int launches = 0;
    ExpectSame(Results(graph, placement, machine, spec, 2, false),
               Results(graph, placement, machine, spec, 2, true, &launches),
               std::string(DataTypeName(dtype)));
    EXPECT_GE(launches, 1);
  }
}

// Each form of broadcast that the blocks know, and those that they spread out: over rows of 3, of 7,000 and
// of 50,000 elements, so that a block holds many rows, a part of one, or one that is longer than itself.
TEST(FusedSteps, OfBroadcastsAndRowsAreTheSame) {
  for (const int64_t n : {3, 7000, 50000}) {
    const int64_t rows = n > 1000 ? 3 : 2000;
    GraphBuilder builder;
    const auto feed = [&](const std::string& name, const Shape& shape) {
      return builder.Placeholder(name, DataType::kFloat, shape);
    };
    const auto op = [&](const std::string& kind, const std::string& name, std::vector<Endpoint> inputs) {
      auto node = builder.Op(kind, name);
      for (const Endpoint& input : inputs) node.Input(input);
      return node.Build();
    };
    const Endpoint x = feed("x", Shape{2, rows, n}), bias = feed("bias", Shape{n});
    const Endpoint column = feed("column", Shape{rows, 1}), middle = feed("middle", Shape{2, 1, n});
    const Endpoint axis = builder.Const("axis", Tensor::FromValues<int32_t>(Shape{1}, {-1}));
    const Endpoint half = builder.Const("half", Tensor::Scalar(0.5f));
    const Endpoint a = op("Tanh", "a", {op("AddV2", "biased", {x, bias})});
    const Endpoint b = op("Mul", "b", {op("Sub", "columns", {a, column}), middle});
    const Endpoint chosen = op("SelectV2", "chosen", {op("Greater", "is_large", {b, half}), a, b});
    const Endpoint mean =
        builder.Op("Mean", "mean").Input(chosen).Input(axis).Attr("keep_dims", true).Build();
    const Endpoint variance = builder.Op("Mean", "variance")
                                  .Input(op("SquaredDifference", "difference", {chosen, mean}))
                                  .Input(axis)
                                  .Attr("keep_dims", true)
                                  .Build();
    const Endpoint normal = op("Mul", "normal",
                               {op("Sub", "centred", {chosen, mean}),
                                op("Rsqrt", "scale", {op("AddV2", "more", {variance, half})})});
    op("Exp", "result", {op("Softmax", "softmax", {normal})});
    RunSpec spec;
    for (const auto& [name, shape] :
         {std::pair{"x", Shape{2, rows, n}}, std::pair{"bias", Shape{n}}, std::pair{"column", Shape{rows, 1}},
          std::pair{"middle", Shape{2, 1, n}}}) {
      FeedSpec& made = spec.feeds[name];
      made.dtype = DataType::kFloat;
      made.shape = shape;
      made.generator = "uniform";
    }
    const Graph graph = builder.Take();
    const Machine machine = FastMachine(1, 2);
    const Placement placement = PlaceAll(graph, Gpu(machine, 0));
    for (const std::vector<std::string>& fetches :
         {std::vector<std::string>{"result:0"}, {"result:0", "b:0", "mean:0"}}) {
      spec.fetches = fetches;
      int launches = 0;
      ExpectSame(Results(graph, placement, machine, spec, 1, false),
                 Results(graph, placement, machine, spec, 1, true, &launches), std::to_string(n));
      EXPECT_TRUE(fetches.size() > 1 || launches == 1) << n;
    }
  }
}

// Blocks that differ only in where they begin, and a shorter last one: one number for all, a row, a column, a
// mean of each row that is broadcast in its turn, and results of both sizes in memory, step after step.
TEST(FusedSteps, OfBlocksAfterTheFirstAreTheSame) {
  for (const auto& [rows, n] : {std::pair<int64_t, int64_t>{30001, 3}, {1700, 64}, {20, 7000}, {3, 50000}}) {
    GraphBuilder builder;
    RunSpec spec;
    const auto feed = [&](const std::string& name, const Shape& shape) {
      FeedSpec& made = spec.feeds[name];
      made.dtype = DataType::kFloat;
      made.shape = shape;
      made.generator = "uniform";
      return builder.Placeholder(name, DataType::kFloat, shape);
    };
    const auto op = [&](const std::string& kind, const std::string& name, std::vector<Endpoint> inputs) {
      auto node = builder.Op(kind, name);
      for (const Endpoint& input : inputs) node.Input(input);
      return node.Build();
    };
    const Endpoint x = feed("x", Shape{rows, n}), row = feed("row", Shape{n}),
                   column = feed("column", Shape{rows, 1});
    const Endpoint one = feed("one", Shape{1, 1}), half = builder.Const("half", Tensor::Scalar(0.5f));
    const Endpoint axis = builder.Const("axis", Tensor::FromValues<int32_t>(Shape{1}, {-1}));
    const Endpoint a = op("Mul", "a", {op("AddV2", "with_row", {x, row}), half});
    op("Tanh", "chain", {op("Sub", "with_column", {a, column})});
    const Endpoint mean = builder.Op("Mean", "mean")
                              .Input(op("Sub", "by_column", {x, column}))
                              .Input(axis)
                              .Attr("keep_dims", true)
                              .Build();
    op("Relu", "by_rows",
       {op("Mul", "scaled", {x, op("AddV2", "shifted", {op("Mul", "of_rows", {mean, column}), one})})});
    spec.fetches = {"chain:0", "by_rows:0", "of_rows:0"};
    const Graph graph = builder.Take();
    const Machine machine = FastMachine(1, 2);
    const Placement placement = PlaceAll(graph, Gpu(machine, 0));
    int launches = 0;
    ExpectSame(Results(graph, placement, machine, spec, 3, false),
               Results(graph, placement, machine, spec, 3, true, &launches), std::to_string(n));
    EXPECT_GE(launches, 1) << n;
  }
}

}  // namespace
}  // namespace lanescope::exec::test
