// SPDX-License-Identifier: Apache-2.0
// Promises of a session to its caller: names, feeds, variables, memory, errors that leave it usable.
#include "exec/run/session.h"

#include "tests/exec/session_harness.h"
#include "tests/support/thread_starts.h"

namespace lanescope::exec::test {
namespace {

// v (8 floats) starts at 1; every run of "update" adds 0.5; "read" reads it.
struct Counter {
  Counter() {
    GraphBuilder builder;
    const Endpoint v =
        builder.Op("VariableV2", "v").Attr("dtype", DataType::kFloat).Attr("shape", Shape{8}).Build();
    builder.Op("Assign", "init").Input(v).Input(builder.Const("one", Floats(Shape{8}, 1.0f))).Build();
    builder.Op("AssignAdd", "update").Input(v).Input(builder.Const("half", Floats(Shape{8}, 0.5f))).Build();
    const Endpoint read = builder.Op("Identity", "read").Input(v).Build();
    builder.Op("Neg", "negated").Input(read).Build();
    graph = builder.Take();
  }
  Graph graph;
};

class SessionTest : public ::testing::Test {
 protected:
  Session& Open(const Graph& graph) {
    placement_ = PlaceAll(graph, Gpu(machine_, 0));
    session_ = std::make_unique<Session>(graph, placement_, machine_);
    return *session_;
  }

  Machine machine_ = FastMachine(2);
  Placement placement_;
  std::unique_ptr<Session> session_;
};

TEST_F(SessionTest, VariablesLiveFromRunToRun) {
  const Counter counter;
  Session& session = Open(counter.graph);
  session.Run({{}, {}, {"init"}});
  for (int step = 0; step < 5; ++step) session.Run({{}, {}, {"update"}});
  EXPECT_TRUE(BitwiseEqual(session.ReadVariable("v"), Floats(Shape{8}, 3.5f)));
  EXPECT_TRUE(BitwiseEqual(session.Run({{}, {"negated"}, {}}).fetches[0], Floats(Shape{8}, -3.5f)));
  EXPECT_EQ(session.steps_run(), 7);
}

TEST_F(SessionTest, AnUninitializedVariableIsNamed) {
  const Counter counter;
  Session& session = Open(counter.graph);
  const std::vector<std::string> text = {"Attempting to use uninitialized value v"};
  ExpectError(Code::kFailedPrecondition, text, [&] { session.Run({{}, {"negated"}, {}}); });
  ExpectError(Code::kFailedPrecondition, text, [&] { session.Run({{}, {"v"}, {}}); });
  ExpectError(Code::kFailedPrecondition, text, [&] { session.Run({{}, {}, {"update"}}); });
  ExpectError(Code::kFailedPrecondition, {"v"}, [&] { session.ReadVariable("v"); });
  ExpectError(Code::kNotFound, {"nobody"}, [&] { session.ReadVariable("nobody"); });
  session.Run({{}, {}, {"init"}});
  EXPECT_TRUE(BitwiseEqual(session.Run({{}, {"v"}, {}}).fetches[0], Floats(Shape{8}, 1.0f)));
}

// Law: with so many threads left and no more, a session either opens and runs or says ResourceExhausted and
// leaves no thread behind; a step that had no thread did nothing, and runs once there are threads again.
// Law: "v if it is initialized, else 7" is 7 before and v afterwards, though both sides are computed.
TEST_F(SessionTest, WhatIsChosenIfItIsInitializedNeedNotBe) {
  Graph graph = Counter().graph;
  const Endpoint v = graph.FindEndpoint("v");
  graph.AddNode(NodeBuilder(&graph, "IsVariableInitialized", "is_there").Input(v).Finish());
  const Tensor sevens = Floats(Shape{8}, 7.0f);
  graph.AddNode(
      NodeBuilder(&graph, "Const", "else").Attr("dtype", DataType::kFloat).Attr("value", sevens).Finish());
  NodeBuilder chosen(&graph, "Select", "chosen");
  for (const char* input : {"is_there", "read", "else"}) chosen.Input(graph.FindEndpoint(input));
  graph.AddNode(chosen.Finish());
  Session& session = Open(graph);
  EXPECT_TRUE(BitwiseEqual(session.Run({{}, {"chosen"}, {}}).fetches[0], sevens));
  session.Run({{}, {}, {"init"}});
  EXPECT_TRUE(BitwiseEqual(session.Run({{}, {"chosen"}, {}}).fetches[0], Floats(Shape{8}, 1.0f)));
}

TEST_F(SessionTest, NoThreadLeftIsAnError) {
  machine_ = FastMachine(2, 2);
  const Counter counter;
  const RunRequest init{{}, {}, {"init"}}, update{{}, {"negated"}, {"update"}};
  const int before = lanescope::test::RunningThreads();
  int failures = 0;
  for (int left = 0, failed = 1; failed != 0; ++left) {
    failed = 0;
    {
      const lanescope::test::ThreadStarts starts(left);
      try {
        Session& session = Open(counter.graph);
        session.Run(init);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::kResourceExhausted) << error.what();
        failed = 1;
      }
      EXPECT_EQ(starts.exhausted(), failed != 0);
    }
    failures += failed;
    ASSERT_LE(failures, 50) << "it never had enough";
    if (session_ != nullptr) {
      session_->Run(init);
      EXPECT_TRUE(BitwiseEqual(session_->Run({{}, {"v"}, {}}).fetches[0], Floats(Shape{8}, 1.0f)));
    }
    session_.reset();
    EXPECT_EQ(lanescope::test::RunningThreads(), before) << left << " threads were left";
  }
  EXPECT_GE(failures, 3) << "a second worker of each virtual GPU, and a queue to drive";
}

// Law: what a fetch returns is the caller's: no later step changes it, and a step's own update comes after.
TEST_F(SessionTest, AFetchedVariableIsASnapshot) {
  const Counter counter;
  Session& session = Open(counter.graph);
  session.Run({{}, {}, {"init"}});
  const RunResult first = session.Run({{}, {"v", "read"}, {"update"}});
  session.Run({{}, {}, {"update"}});
  EXPECT_TRUE(BitwiseEqual(first.fetches[0], Floats(Shape{8}, 1.0f)));
  EXPECT_TRUE(BitwiseEqual(first.fetches[1], Floats(Shape{8}, 1.0f)));
  EXPECT_TRUE(BitwiseEqual(session.Run({{}, {"update"}, {}}).fetches[0], Floats(Shape{8}, 2.5f)));
}

struct Scaled {
  Scaled() {
    GraphBuilder builder;
    const Endpoint x = builder.Placeholder("x", DataType::kFloat, Shape{kUnknownDim, 4});
    const Endpoint y = builder.Op("Neg", "y").Input(x).Build();
    builder.Op("NoOp", "nothing").ControlInput(y).Build();
    graph = builder.Take();
  }
  Graph graph;
};

TEST_F(SessionTest, FeedsAreChecked) {
  const Scaled scaled;
  Session& session = Open(scaled.graph);
  ExpectError(Code::kInvalidArgument, {"You must feed a value for placeholder tensor 'x'"}, [&] {
    session.Run({{}, {"y"}, {}});
  });
  Tensor ints(DataType::kInt32, Shape{2, 4});
  ExpectError(Code::kInvalidArgument, {"x"}, [&] { session.Run({{{"x", ints}}, {"y"}, {}}); });
  ExpectError(Code::kInvalidArgument, {"x"}, [&] {
    session.Run({{{"x", Floats(Shape{2, 5}, 1)}}, {"y"}, {}});
  });
  ExpectError(Code::kInvalidArgument, {"x", "twice"}, [&] {
    session.Run({{{"x", Floats(Shape{2, 4}, 1)}, {"x:0", Floats(Shape{2, 4}, 2)}}, {"y"}, {}});
  });
  PreparedStep& step = session.Prepare({{{"x", Floats(Shape{2, 4}, 0)}}, {"y"}, {}});
  ExpectError(Code::kInvalidArgument, {"x"}, [&] { session.Run(step, {}); });
  ExpectError(Code::kInvalidArgument, {"'x'", "[3,4]", "[2,4]"}, [&] {
    session.Run(step, {{"x", Floats(Shape{3, 4}, 1)}});
  });
  ExpectError(Code::kInvalidArgument, {"'x'", "int32"}, [&] { session.Run(step, {{"x", ints}}); });
  EXPECT_TRUE(
      BitwiseEqual(session.Run(step, {{"x", Floats(Shape{2, 4}, 3)}}).fetches[0], Floats(Shape{2, 4}, -3)));
}

TEST_F(SessionTest, UnknownNamesAreRefused) {
  const Scaled scaled;
  Session& session = Open(scaled.graph);
  const Tensor x = Floats(Shape{1, 4}, 1);
  ExpectError(Code::kNotFound, {"z"}, [&] { session.Run({{{"x", x}}, {"z"}, {}}); });
  ExpectError(Code::kNotFound, {"z"}, [&] { session.Run({{{"x", x}}, {}, {"z"}}); });
  ExpectError(Code::kNotFound, {"z"}, [&] { session.Run({{{"z", x}}, {"y"}, {}}); });
  ExpectError(Code::kInvalidArgument, {"nothing"}, [&] { session.Run({{{"x", x}}, {"nothing"}, {}}); });
  ExpectError(Code::kInvalidArgument, {"y:1"}, [&] { session.Run({{{"x", x}}, {"y:1"}, {}}); });
}

// Law: a fetched feed and a fetched constant come back as they are.
TEST_F(SessionTest, FetchesOfFeedsAndConstants) {
  const Counter counter;
  EXPECT_TRUE(BitwiseEqual(Open(counter.graph).Run({{}, {"half"}, {}}).fetches[0], Floats(Shape{8}, 0.5f)));
  const Scaled scaled;
  const Tensor x = Floats(Shape{2, 4}, 7);
  const RunResult result = Open(scaled.graph).Run({{{"x", x}}, {"x", "y", "x:0"}, {"nothing"}});
  EXPECT_TRUE(BitwiseEqual(result.fetches[0], x));
  EXPECT_TRUE(BitwiseEqual(result.fetches[1], Floats(Shape{2, 4}, -7)));
  EXPECT_TRUE(BitwiseEqual(result.fetches[2], x));
}

TEST_F(SessionTest, OpsWithoutKernelsAreListedWithCounts) {
  GraphBuilder builder;
  const Endpoint a = builder.Op("FancyOp", "a").Build();
  const Endpoint b = builder.Op("FancyOp", "b").Input(a).Build();
  builder.Op("OtherOp", "c").Input(b).Build();
  const Graph graph = builder.Take();
  Session& session = Open(graph);
  ExpectError(Code::kUnimplemented, {"FancyOp (2)", "OtherOp (1)"}, [&] { session.Run({{}, {"c"}, {}}); });
}

struct Lookup {
  Lookup() {
    GraphBuilder builder;
    const Endpoint table =
        builder.Const("table", Tensor::FromValues<float>(Shape{4, 1}, {10.0f, 11.0f, 12.0f, 13.0f}));
    const Endpoint indices = builder.Placeholder("indices", DataType::kInt32, Shape{3});
    const Endpoint axis = builder.Scalar<int32_t>("axis", 0);
    const Endpoint rows = builder.Op("GatherV2", "rows").Input(table).Input(indices).Input(axis).Build();
    builder.Op("Neg", "y").Input(rows).Build();
    graph = builder.Take();
  }
  Graph graph;
};

TEST_F(SessionTest, AFailingKernelNamesNodeOpAndDevice) {
  const Lookup lookup;
  Session& session = Open(lookup.graph);
  const auto run = [&](int32_t last) {
    const Tensor indices = Tensor::FromValues<int32_t>(Shape{3}, {0, 1, last});
    return session.Run({{{"indices", indices}}, {"y"}, {}}).fetches[0];
  };
  for (int round = 0; round < 3; ++round) {
    ExpectError(Code::kInvalidArgument, {"node 'rows' (GatherV2) on GPU:0"}, [&] { run(4); });
    EXPECT_EQ(run(3).data<float>()[2], -13.0f);
  }
}

// Law: steps share one arena a device; growing it for one leaves the others right.
TEST_F(SessionTest, StepsOfDifferentSizesAlternate) {
  GraphBuilder builder;
  const Endpoint x = builder.Placeholder("x", DataType::kFloat, Shape{kUnknownDim});
  const Endpoint a = builder.Op("Neg", "a").Input(x).Build();
  const Endpoint b = builder.Op("Square", "b").Input(a).Build();
  const Endpoint c = builder.Op("AddV2", "c").Input(a).Input(b).Build();
  builder.Op("Sub", "d").Input(c).Input(b).Build();
  const Graph graph = builder.Take();
  Session& session = Open(graph);
  for (const int64_t size : {8, 100000, 8, 3000000, 100000, 8, 1}) {
    EXPECT_TRUE(BitwiseEqual(session.Run({{{"x", Floats(Shape{size}, 3)}}, {"d"}, {}}).fetches[0],
                             Floats(Shape{size}, -3)));
  }
}

TEST_F(SessionTest, ManySteps) {
  const Counter counter;
  Session& session = Open(counter.graph);
  session.Run({{}, {}, {"init"}});
  PreparedStep& update = session.Prepare({{}, {}, {"update"}});
  PreparedStep& both = session.Prepare({{}, {"negated"}, {"update"}});
  for (int step = 0; step < 1000; ++step) {
    session.Run(update, {});
    const float expected = -1.0f - 0.5f * static_cast<float>(2 * step + 1);
    ASSERT_EQ(session.Run(both, {}).fetches[0].data<float>()[7], expected);
  }
}

// Law: a step that does not fit is refused with ResourceExhausted, and the steps that fit still run.
TEST_F(SessionTest, MemoryLimit) {
  machine_.devices[Gpu(machine_, 0)].memory_bytes = 1 << 20;
  GraphBuilder builder;
  const Endpoint x = builder.Placeholder("x", DataType::kFloat, Shape{kUnknownDim});
  builder.Op("Neg", "y").Input(builder.Op("Square", "a").Input(x).Build()).Build();
  const Endpoint v =
      builder.Op("VariableV2", "v").Attr("dtype", DataType::kFloat).Attr("shape", Shape{150000}).Build();
  const Endpoint zeros = builder.Op("Fill", "zeros")
                             .Input(builder.Const("dims", Tensor::FromValues<int32_t>(Shape{1}, {150000})))
                             .Input(builder.Scalar("zero", 0.0f))
                             .Build();
  builder.Op("Assign", "init").Input(v).Input(zeros).Build();
  const Graph graph = builder.Take();
  Session& session = Open(graph);
  const auto run = [&](int64_t size) {
    return session.Run({{{"x", Floats(Shape{size}, 3)}}, {"y"}, {}}).fetches[0];
  };
  EXPECT_TRUE(BitwiseEqual(run(100), Floats(Shape{100}, -9)));
  ExpectError(Code::kResourceExhausted, {"GPU:0", "1 MiB"}, [&] { run(1 << 20); });
  EXPECT_TRUE(BitwiseEqual(run(100), Floats(Shape{100}, -9)));
  EXPECT_TRUE(BitwiseEqual(run(100000), Floats(Shape{100000}, -9)));
  // The step alone would fit, beside the arena that the session holds already it does not.
  for (int round = 0; round < 2; ++round)
    ExpectError(Code::kResourceExhausted, {"GPU:0"}, [&] { session.Run({{}, {}, {"init"}}); });
  EXPECT_TRUE(BitwiseEqual(run(100), Floats(Shape{100}, -9)));
  EXPECT_TRUE(BitwiseEqual(run(100000), Floats(Shape{100000}, -9)));
}

TEST_F(SessionTest, AModelledDeviceRunsNothing) {
  for (const DeviceId gpu : machine_.Gpus()) machine_.devices[gpu].kind = DeviceKind::kModelled;
  const Counter counter;
  {
    Session& session = Open(counter.graph);
    const std::vector<std::string> text = {"GPU:0 is modelled"};
    ExpectError(Code::kFailedPrecondition, text, [&] { session.Run({{}, {}, {"init"}}); });
    ExpectError(Code::kFailedPrecondition, text, [&] { session.Run({{}, {}, {"v"}}); });
    ExpectError(Code::kFailedPrecondition, text, [&] { session.Run({{}, {"half"}, {}}); });
  }
  // It may stand in the machine unused.
  const Placement on_host = PlaceAll(counter.graph, machine_.host());
  Session session(counter.graph, on_host, machine_);
  session.Run({{}, {}, {"init"}});
  EXPECT_TRUE(BitwiseEqual(session.ReadVariable("v"), Floats(Shape{8}, 1.0f)));
}

TEST_F(SessionTest, AStepOfNothing) {
  const Counter counter;
  EXPECT_TRUE(Open(counter.graph).Run({}).fetches.empty());
}

}  // namespace
}  // namespace lanescope::exec::test
