// SPDX-License-Identifier: Apache-2.0
// Queues as ops: what a session's steps see of them, one at a time and several at once.
#include <gmock/gmock.h>

#include <algorithm>

#include "exec/resources/queue.h"
#include "tests/exec/pipeline_harness.h"

namespace lanescope::exec::test {
namespace {

using FloatList = std::vector<float>;

// q, as `op` with this capacity, with what the tests do to it.
Graph QueueGraph(const std::string& op, int64_t capacity, const std::string& shared_name = "q") {
  GraphBuilder builder;
  const Endpoint queue = FloatQueueNode(&builder, op, capacity, shared_name);
  Enqueue(&builder, "put10", queue, 10);
  Enqueue(&builder, "put20", queue, 20);
  Enqueue(&builder, "put30", queue, 30);
  Enqueue(&builder, "put50", queue, 50);
  EnqueueMany(&builder, "put_four", queue, {10, 20, 30, 40});
  EnqueueMany(&builder, "put_ten", queue, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  EnqueueMany(&builder, "put_none", queue, {});
  Dequeue(&builder, "take", queue);
  DequeueMany(&builder, "QueueDequeueManyV2", "take_none", queue, 0);
  DequeueMany(&builder, "QueueDequeueManyV2", "take_three", queue, 3);
  DequeueMany(&builder, "QueueDequeueManyV2", "take_four", queue, 4);
  DequeueMany(&builder, "QueueDequeueUpToV2", "take_up_to_three", queue, 3);
  Size(&builder, queue);
  builder.Op("QueueIsClosedV2", "is_closed").Input(queue).Build();
  Close(&builder, queue);
  return builder.Take();
}

class Fifo : public ::testing::Test {
 protected:
  void Open(int64_t capacity, int workers = 1) {
    pipeline_ = std::make_unique<Pipeline>(QueueGraph("FIFOQueueV2", capacity), workers);
  }
  // The queue itself, which is there once a step has used it.
  TensorQueue::State State() {
    return pipeline_->session.resources().Lookup<TensorQueue>("localhost", "q")->state();
  }
  void UntilWaiting(int64_t enqueues, int64_t dequeues) {
    Until([&] { return State().waiting_enqueues == enqueues && State().waiting_dequeues == dequeues; });
  }

  std::unique_ptr<Pipeline> pipeline_;
};

TEST_F(Fifo, K01_KeepsTheOrder) {
  Open(10);
  for (const char* put : {"put10", "put20", "put30"}) pipeline_->Do(put);
  for (const float value : {10.0f, 20.0f, 30.0f}) EXPECT_EQ(pipeline_->Floats("take"), FloatList{value});
}

TEST_F(Fifo, K03_ManyAtOnceKeepTheOrder) {
  Open(10);
  pipeline_->Do("put_four");
  pipeline_->Do("put_four");
  for (int i = 0; i < 8; ++i) EXPECT_EQ(pipeline_->Floats("take")[0], 10.0f * static_cast<float>(i % 4 + 1));
}

TEST_F(Fifo, K05_NoneAreThereAtOnce) {
  Open(10);
  EXPECT_EQ(pipeline_->Floats("take_none"), FloatList{});
  pipeline_->Do("put10");
  EXPECT_EQ(pipeline_->Get({"take_none"})[0].shape(), (Shape{0}));
  pipeline_->Do("put_none");
  EXPECT_EQ(pipeline_->Size("size"), 1);
}

TEST_F(Fifo, K07_TakesManyInOrder) {
  Open(10);
  pipeline_->Do("put_ten");
  EXPECT_EQ(pipeline_->Floats("take_four"), (FloatList{1, 2, 3, 4}));
  EXPECT_EQ(pipeline_->Floats("take_four"), (FloatList{5, 6, 7, 8}));
}

TEST_F(Fifo, K09_TenStepsAtOncePut) {
  Open(10);
  std::vector<std::future<std::string>> puts;
  for (int i = 0; i < 10; ++i) puts.push_back(pipeline_->DoLater(i % 2 == 0 ? "put10" : "put20"));
  FloatList taken;
  for (int i = 0; i < 10; ++i) taken.push_back(pipeline_->Floats("take")[0]);
  for (auto& put : puts) EXPECT_EQ(put.get(), "done");
  std::sort(taken.begin(), taken.end());
  EXPECT_EQ(taken, (FloatList{10, 10, 10, 10, 10, 20, 20, 20, 20, 20}));
}

TEST_F(Fifo, K11_CloseEndsADequeueThatWaits) {
  Open(10);
  auto take = pipeline_->DoLater("take");
  Until([&] { return pipeline_->Size("size") == 0 && State().waiting_dequeues == 1; });
  pipeline_->Do("close");
  EXPECT_THAT(take.get(), ::testing::HasSubstr("OutOfRange: FIFOQueue 'q' is closed and has insufficient "
                                               "elements (requested 1, current size 0)"));
}

TEST_F(Fifo, K13_WhatACancelledBatchHadTakenIsPutBack) {
  Open(10);
  pipeline_->Do("put_four");
  EXPECT_EQ(pipeline_->Floats("take_three"), (FloatList{10, 20, 30}));
  auto second = pipeline_->DoLater("take_three");
  UntilWaiting(0, 1);
  pipeline_->Do("close");
  EXPECT_THAT(second.get(), ::testing::HasSubstr("OutOfRange"));
  EXPECT_EQ(pipeline_->Floats("take"), FloatList{40});
}

TEST_F(Fifo, K17_AnEnqueueWaitsForRoom) {
  Open(4);
  pipeline_->Do("put_four");
  auto put = pipeline_->DoLater("put50");
  UntilWaiting(1, 0);
  for (const float value : {10.0f, 20.0f, 30.0f, 40.0f, 50.0f})
    EXPECT_EQ(pipeline_->Floats("take")[0], value);
  EXPECT_EQ(put.get(), "done");
}

TEST_F(Fifo, K19_CloseWaitsForTheEnqueueBeforeIt) {
  Open(4);
  pipeline_->Do("put_four");
  auto put = pipeline_->DoLater("put50");
  UntilWaiting(1, 0);
  auto close = pipeline_->DoLater("close");
  UntilWaiting(2, 0);
  EXPECT_FALSE(pipeline_->Get({"is_closed"})[0].data<bool>()[0]);
  for (const float value : {10.0f, 20.0f, 30.0f, 40.0f, 50.0f})
    EXPECT_EQ(pipeline_->Floats("take")[0], value);
  EXPECT_EQ(put.get(), "done");
  EXPECT_EQ(close.get(), "done");
  EXPECT_TRUE(pipeline_->Get({"is_closed"})[0].data<bool>()[0]);
  EXPECT_THAT(Pipeline::Outcome([&] { pipeline_->Do("put10"); }),
              ::testing::HasSubstr("Cancelled: FIFOQueue 'q' is closed."));
}

TEST_F(Fifo, K21_ABatchIsPutOneByOne) {
  Open(5);
  auto put = pipeline_->DoLater("put_ten");
  Until([&] { return pipeline_->Size("size") == 5; });
  for (int i = 1; i <= 4; ++i) {
    EXPECT_EQ(pipeline_->Floats("take")[0], static_cast<float>(i));
    EXPECT_EQ(pipeline_->Size("size"), 5);
    EXPECT_EQ(State().waiting_enqueues, 1);
  }
  pipeline_->Floats("take");
  EXPECT_EQ(put.get(), "done");
  for (int size = 5; size > 0; --size) {
    EXPECT_EQ(pipeline_->Size("size"), size);
    EXPECT_EQ(pipeline_->Floats("take")[0], static_cast<float>(11 - size));
  }
}

TEST_F(Fifo, K23_CloseCancelsPendingEnqueues) {
  Open(4);
  pipeline_->Do("put_four");
  auto put = pipeline_->DoLater("put50");
  UntilWaiting(1, 0);
  pipeline_->Do("cancel");
  EXPECT_THAT(put.get(), ::testing::HasSubstr("Cancelled: Enqueue operation was cancelled"));
}

// Two sessions that have one resource manager.
TEST(SharedQueues, K25_SeenByTwoSessions) {
  SessionOptions options;
  options.resources = std::make_shared<ResourceManager>();
  Pipeline one(QueueGraph("FIFOQueueV2", 1), 1, options), other(QueueGraph("FIFOQueueV2", 1), 1, options);
  one.Do("put10");
  EXPECT_EQ(one.Size("size"), 1);
  EXPECT_EQ(other.Size("size"), 1);
  auto put = one.DoLater("put20");
  EXPECT_EQ(other.Floats("take"), FloatList{10});
  EXPECT_EQ(other.Floats("take"), FloatList{20});
  EXPECT_EQ(put.get(), "done");
}

TEST(SharedQueues, ManagersKeepSessionsApart) {
  Pipeline one(QueueGraph("FIFOQueueV2", 1)), other(QueueGraph("FIFOQueueV2", 1));
  one.Do("put10");
  EXPECT_EQ(other.Size("size"), 0);
}

TEST(SharedQueues, K27_K29_MustBeDeclaredAlike) {
  SessionOptions options;
  options.resources = std::make_shared<ResourceManager>();
  Pipeline one(QueueGraph("FIFOQueueV2", 3), 1, options);
  one.Do("put10");
  Pipeline capacity(QueueGraph("FIFOQueueV2", 4), 1, options);
  EXPECT_THAT(Pipeline::Outcome([&] { capacity.Do("put10"); }),
              ::testing::HasSubstr("Shared queue 'q' has capacity 3 but requested capacity was 4"));
  Pipeline type(QueueGraph("RandomShuffleQueueV2", 3), 1, options);
  EXPECT_THAT(Pipeline::Outcome([&] { type.Do("put10"); }), ::testing::HasSubstr("has type"));
}

// Law: a step that runs out of time has taken nothing; a later one goes on (section 9.7).
TEST_F(Fifo, ADequeueThatRunsOutOfTimeTakesNothing) {
  Open(10);
  pipeline_->Do("put10");
  const RunRequest request{{}, {"take_three"}, {}};
  ExpectError(Code::kDeadlineExceeded, {"Timed out waiting for notification"},
              [&] { pipeline_->session.Run(request, {.timeout_ns = 20'000'000}); });
  EXPECT_EQ(State().waiting_dequeues, 0);
  EXPECT_EQ(pipeline_->Size("size"), 1);
  pipeline_->Do("put20");
  pipeline_->Do("put30");
  EXPECT_EQ(pipeline_->Floats("take_three"), (FloatList{10, 20, 30}));
}

// A feed takes the place of a dequeue, which then takes nothing.
TEST_F(Fifo, G09_RunsUntilNothingIsLeft) {
  GraphBuilder builder;
  const Endpoint queue = FloatQueueNode(&builder, "FIFOQueueV2", 3);
  EnqueueMany(&builder, "put", queue, {1, 2, 3});
  Dequeue(&builder, "take", queue);
  NodeBuilder out = builder.Op("AddV2", "out");
  out.Input(builder.graph().FindEndpoint("take")).Input(builder.Scalar("one", 1.0f)).Build();
  pipeline_ = std::make_unique<Pipeline>(builder.Take());
  pipeline_->Do("put");
  const auto run = [&](const std::map<std::string, Tensor>& feeds) {
    const RunRequest request{feeds, {"out"}, {}};
    return pipeline_->session.Run(request, {.timeout_ns = 10'000'000'000}).fetches[0].data<float>()[0];
  };
  EXPECT_EQ(run({}), 2);
  EXPECT_EQ(run({{"take", Tensor::Scalar(5.0f)}}), 6);
  EXPECT_EQ(run({}), 3);
  EXPECT_EQ(run({}), 4);
  ExpectError(Code::kDeadlineExceeded, {"Timed out waiting for notification"}, [&] {
    pipeline_->session.Run({{}, {"out"}, {}}, {.timeout_ns = 20'000'000});
  });
}

TEST_F(Fifo, G13_ADequeueThatIsFetchedTwiceTakesOneElement) {
  Open(10);
  pipeline_->Do("put_ten");
  const std::vector<Tensor> fetches = pipeline_->Get({"take", "take:0"});
  EXPECT_EQ(fetches[0].data<float>()[0], 1);
  EXPECT_EQ(fetches[1].data<float>()[0], 1);
  EXPECT_EQ(pipeline_->Size("size"), 9);
}

TEST(QueueTimeouts, ASessionHasOneForAllRuns) {
  SessionOptions options;
  options.timeout_ns = 20'000'000;
  Pipeline pipeline(QueueGraph("FIFOQueueV2", 3), 1, options);
  ExpectError(Code::kDeadlineExceeded, {"Timed out"}, [&] { pipeline.Floats("take"); });
}

TEST_F(Fifo, CancelEndsAStepThatWaits) {
  Open(10);
  pipeline_->Size("size");
  auto take = pipeline_->DoLater("take");
  UntilWaiting(0, 1);
  pipeline_->session.Cancel();
  EXPECT_THAT(take.get(), ::testing::HasSubstr("Cancelled"));
  EXPECT_EQ(State().waiting_dequeues, 0);
}

TEST_F(Fifo, CloseOfTheSessionEndsStepsThatWait) {
  Open(10);
  pipeline_->Size("size");
  std::vector<std::future<std::string>> takes;
  for (int i = 0; i < 3; ++i) takes.push_back(pipeline_->DoLater("take"));
  UntilWaiting(0, 3);
  pipeline_->session.Close();
  for (auto& take : takes) EXPECT_THAT(take.get(), ::testing::HasSubstr("Cancelled"));
  EXPECT_THAT(Pipeline::Outcome([&] { pipeline_->Do("put10"); }),
              ::testing::HasSubstr("Cancelled: Session has been closed."));
}

// Law: a command that waits leaves its lane to the others of its step: here one worker runs an enqueue that
// lets the dequeue before it go on.
TEST_F(Fifo, AWaitHoldsNoThread) {
  for (const int workers : {1, 3}) {
    Open(10, workers);
    for (int step = 0; step < 20; ++step) {
      const auto fetched = pipeline_->session.Run({{}, {"take_three"}, {"put10", "put20", "put30"}}).fetches;
      FloatList values(fetched[0].data<float>(), fetched[0].data<float>() + 3);
      std::sort(values.begin(), values.end());
      EXPECT_EQ(values, (FloatList{10, 20, 30}));
    }
  }
}

// Law: an error of another command of the step ends the wait.
TEST(QueueOps, AnErrorEndsTheWaitsOfItsStep) {
  GraphBuilder builder;
  const Endpoint open = FloatQueueNode(&builder, "FIFOQueueV2", 3, "open");
  const Endpoint closed = FloatQueueNode(&builder, "FIFOQueueV2", 3, "closed", "c");
  Dequeue(&builder, "waits", open);
  Dequeue(&builder, "fails", closed);
  builder.Op("QueueCloseV2", "shut").Input(closed).Build();
  Pipeline pipeline(builder.Take());
  pipeline.Do("shut");
  EXPECT_THAT(Pipeline::Outcome([&] {
                pipeline.Get({"waits", "fails"});
              }),
              ::testing::HasSubstr("OutOfRange: FIFOQueue 'closed'"));
}

TEST(ShuffleQueueOps, K41_GivesAPermutation) {
  GraphBuilder builder;
  const Endpoint queue = FloatQueueNode(&builder, "RandomShuffleQueueV2", 10);
  EnqueueMany(&builder, "put", queue, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  DequeueMany(&builder, "QueueDequeueManyV2", "take", queue, 5);
  Pipeline pipeline(builder.Take());
  pipeline.Do("put");
  FloatList taken = pipeline.Floats("take");
  for (const float value : pipeline.Floats("take")) taken.push_back(value);
  std::sort(taken.begin(), taken.end());
  EXPECT_EQ(taken, (FloatList{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(ShuffleQueueOps, K43_KeepsAMinimumUntilClosed) {
  GraphBuilder builder;
  const Endpoint queue = builder.Op("RandomShuffleQueueV2", "q")
                             .Attr("component_types", Types({DataType::kFloat}))
                             .Attr("shapes", Shapes({Shape{}}))
                             .Attr("capacity", 10)
                             .Attr("min_after_dequeue", 2)
                             .Attr("shared_name", "q")
                             .Build();
  EnqueueMany(&builder, "put", queue, {10, 20, 30, 40});
  DequeueMany(&builder, "QueueDequeueUpToV2", "take", queue, 3);
  Size(&builder, queue);
  Close(&builder, queue);
  Pipeline pipeline(builder.Take());
  pipeline.Do("put");
  auto first = std::async(std::launch::async, [&] { return pipeline.Floats("take"); });
  Until([&] { return pipeline.Size("size") == 2; });
  pipeline.Do("close");
  EXPECT_EQ(first.get().size(), 3u);
  EXPECT_EQ(pipeline.Floats("take").size(), 1u);
}

// Law: what steps of several threads add to a variable one after the other is all there.
TEST(SessionThreads, StepsShareVariables) {
  GraphBuilder builder;
  const Endpoint v =
      builder.Op("VariableV2", "v").Attr("dtype", DataType::kInt64).Attr("shape", Shape{}).Build();
  builder.Op("Assign", "init").Input(v).Input(builder.Scalar<int64_t>("zero", 0)).Build();
  builder.Op("CountUpTo", "count").Input(v).Attr("limit", 1000).Build();
  Pipeline pipeline(builder.Take());
  pipeline.Do("init");
  std::vector<std::future<int>> counts;
  for (int t = 0; t < 4; ++t) {
    counts.push_back(std::async(std::launch::async, [&] {
      for (int i = 0;; ++i) {
        const auto error = ErrorOf([&] { pipeline.Do("count"); });
        if (!error.has_value()) continue;
        EXPECT_EQ(error->code(), Code::kOutOfRange) << error->what();
        return i;
      }
    }));
  }
  int all = 0;
  for (auto& count : counts) all += count.get();
  EXPECT_EQ(all, 1000);
  EXPECT_EQ(pipeline.session.ReadVariable("v").IntAt(0), 1000);
}

}  // namespace
}  // namespace lanescope::exec::test
