// SPDX-License-Identifier: Apache-2.0
// The log of the input after steps that wait.
#include <gmock/gmock.h>

#include "core/record/event.h"
#include "core/record/input_log.h"
#include "core/record/recorder.h"
#include "exec/resources/queue.h"
#include "exec/run/queue_runner.h"
#include "tests/exec/pipeline_harness.h"

namespace lanescope::exec::test {
namespace {

class Nothing : public EventSink {
 public:
  void Consume(std::span<const Event>) override {}
  void CountDropped(int64_t) override {}
};

Graph WaitingGraph(int64_t capacity) {
  GraphBuilder builder;
  const Endpoint queue = FloatQueueNode(&builder, "FIFOQueueV2", capacity, "", "examples");
  Enqueue(&builder, "put", queue, 1);
  Dequeue(&builder, "take", queue);
  DequeueMany(&builder, "QueueDequeueManyV2", "take_three", queue, 3);
  Close(&builder, queue);
  return builder.Take();
}

TEST(QueueWaits, AStepOfTheRunSaysWhatItWaitedFor) {
  Pipeline pipeline(WaitingGraph(2), 2);
  Nothing sink;
  Recorder recorder(&sink);
  InputLog log;
  PreparedStep& step = pipeline.session.Prepare({{}, {"take"}, {}});
  pipeline.session.Record(&recorder, &step, 0);
  pipeline.session.LogInput(&log);
  auto taken = std::async(std::launch::async, [&] { return pipeline.session.Run(step, {}).times; });
  const auto queues = [&] { return pipeline.session.resources().All<TensorQueue>(); };
  Until([&] { return !queues().empty() && queues()[0]->state().waiting_dequeues == 1; });
  pipeline.Do("put");
  const StepTimes times = taken.get();
  pipeline.session.LogInput(nullptr);
  pipeline.session.Record(nullptr, nullptr, 0);
  const InputRecord record = log.Take();
  ASSERT_EQ(record.waits.size(), 1u);
  const InputWait& wait = record.waits[0];
  EXPECT_EQ(wait.thread, kNoInputThread);
  EXPECT_EQ(wait.step, 0);
  EXPECT_EQ(pipeline.graph.node(NodeId(wait.node)).name, "take");
  EXPECT_EQ(record.queues.at(0).name, "queue 'examples'");
  EXPECT_GE(wait.start_ns, times.start_ns);
  EXPECT_LE(wait.end_ns, times.end_ns);
  // How full it is was looked at once.
  ASSERT_EQ(record.fills.size(), 1u);
  EXPECT_EQ(record.fills[0].size, 0);
  EXPECT_EQ(record.queues.back().capacity, 2);
}

// A runner of a queue for one element: its steps and its wait for room are those of a thread.
TEST(QueueWaits, ThreadsThatFillAQueueHaveStepsOfTheirOwn) {
  Pipeline pipeline(WaitingGraph(1), 2);
  InputLog log;
  pipeline.session.LogInput(&log);
  QueueRunner runner({"examples", {"put"}, "close", "cancel", {}});
  {
    Coordinator coordinator;
    EXPECT_EQ(runner.Start(&pipeline.session, &coordinator), 2);
    EXPECT_EQ(pipeline.Floats("take_three"), (std::vector<float>{1, 1, 1}));
    const auto queue = pipeline.session.resources().All<TensorQueue>().at(0);
    Until([&] { return queue->state().waiting_enqueues == 1; });
    coordinator.RequestStop();
    coordinator.Join();
  }
  pipeline.session.LogInput(nullptr);
  const InputRecord record = log.Take();
  ASSERT_EQ(record.threads.size(), 1u);
  EXPECT_EQ(record.threads[0].op, "put");
  EXPECT_EQ(record.threads[0].queue, "examples");
  EXPECT_GE(record.steps.size(), 3u);
  ASSERT_FALSE(record.waits.empty());
  for (const InputWait& wait : record.waits) {
    EXPECT_EQ(wait.thread, 0);
    EXPECT_EQ(pipeline.graph.node(NodeId(wait.node)).name, "put");
  }
  ASSERT_EQ(record.works.size(), 1u);
  EXPECT_EQ(record.works[0].count, static_cast<int64_t>(record.steps.size()));
}

// However slow this computer is: with enough time the step comes to its wait.
TEST(QueueWaits, ATimeOutSaysWhatTheStepWaitsFor) {
  Pipeline pipeline(WaitingGraph(2), 2);
  std::string outcome;
  for (int64_t timeout_ms = 50; timeout_ms < 60'000 && !outcome.ends_with("'examples'"); timeout_ms *= 4) {
    outcome = Pipeline::Outcome([&] {
      pipeline.session.Run({{}, {"take", "take_three"}, {}}, {.timeout_ns = timeout_ms * 1'000'000});
    });
    EXPECT_TRUE(outcome.starts_with("DeadlineExceeded: ")) << outcome;
  }
  EXPECT_TRUE(outcome.ends_with(" ms, and still waits for queue 'examples'")) << outcome;
  // Nothing was taken.
  pipeline.Do("put");
  EXPECT_EQ(pipeline.Floats("take"), std::vector<float>{1});
}

// Without a log nothing is kept, and a step of no thread that is not recorded leaves nothing.
TEST(QueueWaits, StepsThatAreNotRecordedLeaveNothing) {
  Pipeline pipeline(WaitingGraph(2), 2);
  InputLog log;
  pipeline.session.LogInput(&log);
  pipeline.Do("put");
  EXPECT_EQ(pipeline.Floats("take"), std::vector<float>{1});
  EXPECT_EQ(log.Take().size(), 0u);
}

}  // namespace
}  // namespace lanescope::exec::test
