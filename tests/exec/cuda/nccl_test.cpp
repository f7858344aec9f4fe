// SPDX-License-Identifier: Apache-2.0
// All-reduces by NCCL: what comes out, in which order they are launched, and what happens when they fail.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "core/record/recorder.h"
#include "tests/exec/cuda/fake_nccl_use.h"
#include "tests/exec/cuda/reduced_steps.h"

namespace lanescope::exec::test {
namespace {

template <typename T>
void ExpectReduced(int gpus, const std::string& reduction, bool graphs) {
  SCOPED_TRACE(reduction + " on " + std::to_string(gpus) + " GPUs");
  const Graph graph = SumOfSquares(gpus, DataTypeOf<T>::value, reduction, 37);
  std::map<std::string, Tensor> feeds;
  std::vector<std::string> fetches;
  for (int i = 0; i < gpus; ++i) {
    feeds["x" + std::to_string(i)] = NumbersFrom<T>(37, i);
    fetches.push_back("y" + std::to_string(i));
  }
  const auto expected = Reduced(graph, feeds, fetches, FastMachine(gpus), false).Step();
  StubGuard stub({.gpus = gpus, .seed = static_cast<uint64_t>(gpus)});
  {
    FakeNccl nccl(&*stub);
    {
      Reduced run(graph, feeds, fetches, GpuMachine(Ordinals(gpus)), true, graphs);
      for (int step = 1; step <= 3; ++step) {
        const auto found = run.Step();
        ASSERT_EQ(found.size(), expected.size());
        for (size_t i = 0; i < found.size(); ++i) EXPECT_TRUE(BitwiseEqual(found[i], expected[i]));
        EXPECT_EQ(nccl.Calls("ncclAllReduce"), gpus * step);
        EXPECT_EQ(nccl.Calls("ncclGroupEnd"), step);
      }
      EXPECT_EQ(stub->peer_copies(), 0);
      EXPECT_EQ(nccl.Calls("ncclCommInitAll"), 1);
      EXPECT_EQ(nccl.live(), gpus);
    }
    EXPECT_EQ(nccl.live(), 0);
    EXPECT_EQ(nccl.Calls("ncclCommAbort"), 0);
  }
  EXPECT_EQ(stub->live_objects(), 0);
}

// The bits of the copies and sums that an all-reduce is elsewhere, by one launch a GPU and step, from one
// group of communicators.
TEST(Nccl, GivesWhatCopiesGive) {
  for (const char* reduction : {"sum", "prod", "min", "max"}) {
    ExpectReduced<float>(2, reduction, true);
    ExpectReduced<double>(3, reduction, false);
  }
  ExpectReduced<int64_t>(4, "sum", true);
}

// On each GPU: its rows negated, those of all GPUs by rank, their squares, and a part of these over all GPUs.
Graph GatherAndScatter(const std::vector<int>& gpus, const std::string& merge, const std::string& last) {
  GraphBuilder builder;
  const auto key = [&](const std::string& name, int32_t value) {
    return builder.Const(name, Tensor::Scalar(value));
  };
  const Endpoint size = key("size", static_cast<int32_t>(gpus.size())), group = key("group", 1),
                 first = key("first", 1), second = key("second", 2);
  for (const int gpu : gpus) {
    const std::string at = std::to_string(gpu);
    const auto collective = [&](const std::string& op, const std::string& name, Endpoint input, Endpoint id) {
      NodeBuilder node = builder.Op(op, name + at);
      node.Input(input).Input(size).Input(group).Input(id).Device(GpuName(gpu));
      if (op == "CollectiveReduceScatterV2") node.Attr("merge_op", merge).Attr("final_op", last);
      return node.Build();
    };
    const Endpoint x = builder.Placeholder("x" + at, DataType::kFloat, Shape{12});
    const Endpoint neg = builder.Op("Neg", "neg" + at).Input(x).Device(GpuName(gpu)).Build();
    const Endpoint whole = collective("CollectiveGatherV2", "gather", neg, first);
    const Endpoint square = builder.Op("Square", "square" + at).Input(whole).Device(GpuName(gpu)).Build();
    collective("CollectiveReduceScatterV2", "y", square, second);
  }
  return builder.Take();
}

// Law: what is gathered and scattered goes by rank, in whichever order the graph names the GPUs.
TEST(Nccl, GathersAndScattersAsCopiesDo) {
  for (const std::vector<int>& gpus : {std::vector<int>{0, 1}, {2, 0, 1}}) {
    for (const auto& [merge, last] :
         {std::pair<std::string, std::string>{"Add", "Id"}, {"Add", "Div"}, {"Max", "Id"}}) {
      SCOPED_TRACE(fmt::format("{} GPUs, {} {}", gpus.size(), merge, last));
      const Graph graph = GatherAndScatter(gpus, merge, last);
      const auto count = static_cast<int>(gpus.size());
      std::map<std::string, Tensor> feeds;
      std::vector<std::string> fetches;
      for (const int gpu : gpus) {
        feeds["x" + std::to_string(gpu)] = NumbersFrom<float>(12, gpu);
        fetches.push_back("y" + std::to_string(gpu));
      }
      const auto expected = Reduced(graph, feeds, fetches, FastMachine(count), false).Step();
      StubGuard stub({.gpus = count, .seed = 7});
      FakeNccl nccl(&*stub);
      Reduced run(graph, feeds, fetches, GpuMachine(Ordinals(count)), true, false);
      for (int step = 1; step <= 2; ++step) {
        const auto found = run.Step();
        for (size_t i = 0; i < found.size(); ++i) EXPECT_TRUE(BitwiseEqual(found[i], expected[i])) << i;
        EXPECT_EQ(nccl.Calls("ncclAllGather"), count * step);
        EXPECT_EQ(nccl.Calls("ncclReduceScatter"), count * step);
      }
      EXPECT_EQ(stub->peer_copies(), 0);
    }
  }
}

// One result is asked for: all parts run nevertheless, since each waits for the others.
TEST(Nccl, AStepHasAllPartsOrNone) {
  StubGuard stub({.gpus = 3});
  FakeNccl nccl(&*stub);
  const Graph graph = SumOfSquares(3, DataType::kFloat, "sum", 8);
  std::map<std::string, Tensor> feeds;
  for (int i = 0; i < 3; ++i) feeds["x" + std::to_string(i)] = NumbersFrom<float>(8, i);
  Reduced one(graph, feeds, {"y1"}, GpuMachine({0, 1, 2}), true);
  one.Step();
  EXPECT_EQ(nccl.Calls("ncclAllReduce"), 3);
  Reduced none(graph, feeds, {"square1"}, GpuMachine({0, 1, 2}), true);
  none.Step();
  EXPECT_EQ(nccl.Calls("ncclAllReduce"), 3);
}

// Chains of ops on four GPUs with all-reduces of random subsets of them, in the order in which chance writes
// them. Whatever order streams and commands take, no two GPUs launch two all-reduces in different orders: the
// stub would stop, for lack of work that can run.
class ManyReductions {
 public:
  explicit ManyReductions(unsigned seed) : random_(seed) {
    for (int i = 0; i < kGpus; ++i) {
      const std::string x = "x" + std::to_string(i);
      last_.push_back(builder_.Placeholder(x, DataType::kFloat, Shape{16}));
      feeds[x] = NumbersFrom<float>(16, i);
    }
    for (int k = 0; k < 12; ++k) {
      std::vector<int> gpus = Ordinals(kGpus);
      std::shuffle(gpus.begin(), gpus.end(), random_);
      gpus.resize(2 + random_() % (kGpus - 1));
      for (const int gpu : gpus) Work(gpu, k);
      // Results are used later, or never by the chain.
      const bool used = random_() % 2 == 0;
      for (const int gpu : gpus) {
        const Endpoint max = builder_.Op("NcclAllReduce", Name("reduced", gpu, k))
                                 .Input(last_[static_cast<size_t>(gpu)])
                                 .Attr("reduction", "max")
                                 .Attr("num_devices", static_cast<int64_t>(gpus.size()))
                                 .Attr("shared_name", "reduction" + std::to_string(k))
                                 .Device(GpuName(gpu))
                                 .Build();
        fetches.push_back(builder_.graph().TensorName(max));
        if (used) last_[static_cast<size_t>(gpu)] = max;
      }
      // A value of another GPU, so that what one does waits for what others do.
      const int gpu = static_cast<int>(random_() % kGpus), from = static_cast<int>(random_() % kGpus);
      last_[static_cast<size_t>(gpu)] = builder_.Op("Maximum", Name("taken", gpu, k))
                                            .Input(last_[static_cast<size_t>(gpu)])
                                            .Input(last_[static_cast<size_t>(from)])
                                            .Device(GpuName(gpu))
                                            .Build();
    }
    graph = builder_.Take();
  }

  static constexpr int kGpus = 4;
  Graph graph;
  std::map<std::string, Tensor> feeds;
  std::vector<std::string> fetches;

 private:
  static std::string Name(const char* what, int gpu, int k) {
    return what + std::to_string(k) + "_" + std::to_string(gpu);
  }
  void Work(int gpu, int k) {
    Endpoint& at = last_[static_cast<size_t>(gpu)];
    at = builder_.Op("AddV2", Name("work", gpu, k)).Input(at).Input(at).Device(GpuName(gpu)).Build();
  }

  std::mt19937 random_;
  GraphBuilder builder_;
  std::vector<Endpoint> last_;
};

TEST(Nccl, AllGpusLaunchInOneOrder) {
  for (unsigned seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(seed);
    const ManyReductions many(seed);
    const auto expected =
        Reduced(many.graph, many.feeds, many.fetches, FastMachine(ManyReductions::kGpus), false).Step();
    StubGuard stub({.gpus = ManyReductions::kGpus, .seed = seed});
    FakeNccl nccl(&*stub);
    const Machine machine = GpuMachine(Ordinals(ManyReductions::kGpus));
    Reduced run(many.graph, many.feeds, many.fetches, machine, true, seed % 3 != 0);
    for (int step = 0; step < 3; ++step) {
      const auto found = run.Step();
      for (size_t i = 0; i < found.size(); ++i)
        EXPECT_TRUE(BitwiseEqual(found[i], expected[i])) << many.fetches[i];
    }
    EXPECT_EQ(nccl.Calls("ncclAllReduce"), 3 * static_cast<int>(many.fetches.size()));
  }
}

class TwoGpus : public ::testing::Test {
 protected:
  TwoGpus() : nccl_(&*stub_) {
    feeds_ = {{"x0", NumbersFrom<float>(8, 0)}, {"x1", NumbersFrom<float>(8, 1)}};
  }
  std::unique_ptr<Reduced> Run() {
    return std::make_unique<Reduced>(SumOfSquares(2, DataType::kFloat, "sum", 8), feeds_,
                                     std::vector<std::string>{"y0", "y1"}, GpuMachine({0, 1}), true);
  }

  StubGuard stub_;
  FakeNccl nccl_;
  std::map<std::string, Tensor> feeds_;
};

// A call that cannot be issued ends the step with NCCL's words and the op; its communicators are aborted, and
// the next step makes others.
TEST_F(TwoGpus, AFailingCallNamesTheOp) {
  const auto run = Run();
  const auto expected = run->Step();
  int groups = 1;
  for (const auto& [call, nth] :
       std::map<const char*, int>{{"ncclGroupStart", 1}, {"ncclAllReduce", 2}, {"ncclGroupEnd", 1}}) {
    nccl_.Fail(call, nth);
    ExpectError(Code::kInternal,
                {std::string(call) + " failed: internal error: the test wants it", "NcclAllReduce"},
                [&] { run->Step(); });
    EXPECT_EQ(nccl_.Calls("ncclCommAbort"), 2 * groups++);
    EXPECT_TRUE(BitwiseEqual(run->Step()[1], expected[1]));
    EXPECT_EQ(nccl_.Calls("ncclCommInitAll"), groups);
  }
}

TEST_F(TwoGpus, WhatFailsLaterEndsTheStep) {
  const auto run = Run();
  const auto expected = run->Step();
  nccl_.AsyncError(3);
  ExpectError(Code::kInternal, {"a collective failed: internal error", "NcclAllReduce"},
              [&] { run->Step(); });
  EXPECT_EQ(nccl_.Calls("ncclCommAbort"), 2);
  EXPECT_TRUE(BitwiseEqual(run->Step()[0], expected[0]));
}

// The GPUs that wait for one that has failed are let go.
TEST_F(TwoGpus, ABrokenGpuEndsTheStep) {
  const auto run = Run();
  run->Step();
  stub_->BreakGpu(1);
  ExpectError(Code::kInternal, {"GPU:1", "cudaErrorIllegalAddress"}, [&] { run->Step(); });
  EXPECT_EQ(nccl_.Calls("ncclCommAbort"), 2);
  EXPECT_EQ(nccl_.live(), 0);
}

TEST_F(TwoGpus, CommunicatorsThatCannotBeMadeAreAnError) {
  nccl_.Fail("ncclCommInitAll", 1);
  const auto run = Run();
  ExpectError(Code::kInternal, {"ncclCommInitAll failed"}, [&] { run->Step(); });
  run->Step();
}

class PartLog : public EventSink {
 public:
  void Consume(std::span<const Event> batch) override {
    events.insert(events.end(), batch.begin(), batch.end());
  }
  void CountDropped(int64_t) override {}
  std::vector<Event> events;
};

// Every part has an event of its own, on its own GPU.
TEST_F(TwoGpus, PartsAreRecorded) {
  const auto run = Run();
  PreparedStep& step = run->session().Prepare(run->request());
  PartLog log;
  {
    Recorder recorder(&log);
    run->session().Record(&recorder, &step, 0);
    run->Step();
    run->session().Record(nullptr, nullptr, 0);
  }
  std::vector<Event> parts;
  for (const Event& event : log.events) {
    if (event.kind != EventKind::kCommand) continue;
    const Command& command = step.schedule->commands[event.command];
    if (command.kind == CommandKind::kLaunch && run->graph().node(command.node).op == "NcclAllReduce")
      parts.push_back(event);
  }
  ASSERT_EQ(parts.size(), 2u);
  for (const Event& part : parts) EXPECT_LT(part.start_ns, part.end_ns);
  const auto queue_of = [&](const Event& event) { return step.schedule->commands[event.command].queue; };
  EXPECT_NE(step.schedule->queues[queue_of(parts[0])].device,
            step.schedule->queues[queue_of(parts[1])].device);
}

}  // namespace
}  // namespace lanescope::exec::test
