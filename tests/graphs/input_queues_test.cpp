// SPDX-License-Identifier: Apache-2.0
// Producers and batchers: what comes out of them when the graph runs.
#include "graphs/input_queues.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>

#include "core/machine/machine.h"
#include "core/place/placement.h"
#include "exec/run/queue_runner.h"
#include "graphs/scope.h"

namespace lanescope::graphs {
namespace {

// The graph of a scope with its queue runners at work.
class Running {
 public:
  explicit Running(Scope* scope)
      : runners_(scope->queue_runners()),
        init_(scope->graph().node(InitializeVariables(*scope).node).name),
        graph_(scope->Take()),
        machine_(VirtualMachine(1, 1)) {
    placement_.device.assign(graph_.num_nodes(), machine_.host());
    session_.emplace(graph_, placement_, machine_);
    session_->Run({{}, {}, {init_}});
    for (const QueueRunnerSpec& runner : runners_) {
      threads_.push_back(std::make_unique<exec::QueueRunner>(runner));
      threads_.back()->Start(&*session_, &coordinator_);
    }
  }
  ~Running() {
    coordinator_.RequestStop();
    session_->Close();
    coordinator_.Join();
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  std::vector<Tensor> Get(const std::vector<Endpoint>& fetches) {
    std::vector<std::string> names;
    for (const Endpoint fetch : fetches) names.push_back(graph_.TensorName(fetch));
    return session_->Run({{}, names, {}}).fetches;
  }
  // Until the input ends.
  std::vector<std::vector<Tensor>> GetAll(const std::vector<Endpoint>& fetches) {
    std::vector<std::vector<Tensor>> all;
    for (;;) {
      try {
        all.push_back(Get(fetches));
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::kOutOfRange) << error.what();
        return all;
      }
    }
  }

 private:
  const std::vector<QueueRunnerSpec> runners_;
  const std::string init_;
  const Graph graph_;
  const Machine machine_;
  Placement placement_;
  std::optional<exec::Session> session_;
  std::vector<std::unique_ptr<exec::QueueRunner>> threads_;
  exec::Coordinator coordinator_;
};

std::string ErrorOf(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

Endpoint DequeueOf(Scope& s, Endpoint queue, DataType type) {
  return s.Outputs(s.Add("QueueDequeueV2", "take", {InputList{queue}},
                         {{"component_types", std::vector<DataType>{type}}}))[0];
}

TEST(InputQueues, L41_ThereMustBeAnEpoch) {
  Scope s;
  const Endpoint x = s.Scalar<float>(1);
  EXPECT_EQ(ErrorOf([&] { LimitEpochs(s, x, 0); }), "InvalidArgument: num_epochs must be > 0 not 0.");
}

TEST(InputQueues, L43_TextsOfThreeEpochs) {
  Scope s;
  const Endpoint queue = StringInputProducer(s, {"to", "be", "or"}, {.epochs = 3, .shuffle = false});
  const Endpoint text = DequeueOf(s, queue, DataType::kString);
  Running running(&s);
  std::string all;
  for (const auto& fetched : running.GetAll({text})) all += *fetched[0].data<std::string>() + " ";
  EXPECT_EQ(all, "to be or to be or to be or ");
}

TEST(InputQueues, L45_NoTextsAreRefused) {
  Scope s;
  EXPECT_EQ(ErrorOf([&] { StringInputProducer(s, {}); }),
            "InvalidArgument: string_input_producer requires a non-null input tensor");
}

TEST(InputQueues, L47_SlicesStayTogether) {
  Scope s;
  const Endpoint a = s.Constant(Tensor::FromValues<int32_t>({4}, {0, 1, 2, 3}));
  const Endpoint b = s.Constant(Tensor::FromValues<float>({4, 2}, {0, 0.5f, 1, 1.5f, 2, 2.5f, 3, 3.5f}));
  const std::vector<Endpoint> slices = SliceInputProducer(s, {a, b}, {.epochs = 2, .seed = 5});
  Running running(&s);
  std::vector<int> seen;
  for (const auto& fetched : running.GetAll(slices)) {
    const int32_t i = *fetched[0].data<int32_t>();
    seen.push_back(i);
    EXPECT_EQ(fetched[1].data<float>()[1], static_cast<float>(i) + 0.5f);
  }
  ASSERT_EQ(seen.size(), 8u);
  std::sort(seen.begin(), seen.begin() + 4);
  EXPECT_EQ(std::vector<int>(seen.begin(), seen.begin() + 4), (std::vector<int>{0, 1, 2, 3}));
}

TEST(InputQueues, L49_ShuffledBatchesHaveEachExampleOnce) {
  Scope s;
  const Endpoint queue = RangeInputProducer(s, 20, {.epochs = 1, .shuffle = false});
  const Endpoint number = DequeueOf(s, queue, DataType::kInt32);
  const auto batch =
      ShuffleBatch(s, {number}, 3, 10, 4, {.threads = 2, .seed = 3, .smaller_final_batch = true});
  Running running(&s);
  std::vector<int> all;
  for (const auto& fetched : running.GetAll(batch)) {
    const int32_t* numbers = fetched[0].data<int32_t>();
    all.insert(all.end(), numbers, numbers + fetched[0].NumElements());
  }
  EXPECT_FALSE(std::is_sorted(all.begin(), all.end()));
  std::sort(all.begin(), all.end());
  ASSERT_EQ(all.size(), 20u);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(all[static_cast<size_t>(i)], i);
}

TEST(InputQueues, BatchesAreWhole) {
  Scope s;
  const Endpoint queue = RangeInputProducer(s, 8, {.epochs = 1, .shuffle = false});
  const Endpoint number = DequeueOf(s, queue, DataType::kInt32);
  const auto batch = Batch(s, {number}, 3);
  Running running(&s);
  const auto all = running.GetAll(batch);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[1][0].data<int32_t>()[0], 3);
}

TEST(InputQueues, JoinedSourcesAllCome) {
  Scope s;
  std::vector<std::vector<Endpoint>> sources;
  for (const float value : {1.0f, 2.0f}) {
    const Endpoint limited = LimitEpochs(s, s.Scalar<float>(value), 6);
    sources.push_back({limited});
  }
  const auto batch = BatchJoin(s, sources, 4);
  Running running(&s);
  float sum = 0;
  for (const auto& fetched : running.GetAll(batch)) {
    for (int i = 0; i < 4; ++i) sum += fetched[0].data<float>()[i];
  }
  EXPECT_EQ(sum, 18);
}

// Case K31.
TEST(InputQueues, K31_WhatUsesAQueueIsWhereItIs) {
  Scope s;
  std::vector<Endpoint> batch;
  const Endpoint x = s.Constant(Tensor::Scalar<float>(1));
  {
    const auto ps = s.Device("/job:ps");
    batch = Batch(s, {x}, 2, {.name = "q"});
  }
  EXPECT_EQ(s.graph().node(batch[0].node).device, "/job:ps");
}

TEST(InputQueues, RefuseWhatTheyCannotBatch) {
  Scope s;
  const Endpoint open = s.Add("Placeholder", "x", {}, {{"dtype", DataType::kFloat}});
  EXPECT_NE(ErrorOf([&] { Batch(s, {open}, 2); }).find("All shapes must be fully defined"),
            std::string::npos);
  EXPECT_EQ(ErrorOf([&] { ShuffleBatch(s, {open}, 2, 5, 5); }),
            "InvalidArgument: capacity 5 must be bigger than min_after_dequeue 5.");
}

}  // namespace
}  // namespace lanescope::graphs
