// SPDX-License-Identifier: Apache-2.0
// Synchronous replicas by accumulators and a queue of tokens: cases I21 and I23. Variables v0 = 0, v1 = 1 and
// sparse = [[3], [4]] learn by a rate of 2; worker w's gradients are 0.1 + 0.2 w, 0.9 + 0.2 w and, of row 1
// of sparse, 0.1 + 0.2 w.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/exec/pipeline_harness.h"

namespace lanescope::exec::test {
namespace {

// "push_W" is a worker's round without the wait for its token, "token_W" that wait, and "update" the chief's
// round: it takes the gradients of `required` workers and hands out as many tokens as there are workers.
class Replicas {
 public:
  Replicas(int workers, int required) : pipeline_(Build(workers, required), workers + 1) {
    pipeline_.Do("init");
  }

  void Push(int worker) { pipeline_.Do("push_" + std::to_string(worker)); }
  void TakeToken(int worker) { pipeline_.Do("token_" + std::to_string(worker)); }
  void Update() { pipeline_.Do("update"); }
  std::vector<float> Variables() {
    const std::vector<Tensor> values = pipeline_.Get({"v0", "v1"});
    return {values[0].data<float>()[0], values[1].data<float>()[0]};
  }
  std::vector<float> Rows() { return pipeline_.Floats("sparse"); }
  int64_t GlobalStep() { return pipeline_.Get({"global_step"})[0].IntAt(0); }
  int64_t LocalStep(int worker) {
    return pipeline_.Get({"local_step_" + std::to_string(worker)})[0].IntAt(0);
  }
  int Waiting() { return pipeline_.Size("count_v0"); }

 private:
  static Endpoint Variable(GraphBuilder* builder, const std::string& name, const Tensor& value,
                           std::vector<NodeId>* init) {
    const Endpoint variable =
        builder->Op("VariableV2", name).Attr("dtype", value.dtype()).Attr("shape", value.shape()).Build();
    const Endpoint first = builder->Const(name + "/first", value);
    init->push_back(builder->Op("Assign", name + "/Assign").Input(variable).Input(first).Build().node);
    return variable;
  }

  static NodeId Group(GraphBuilder* builder, const std::string& name, const std::vector<NodeId>& after) {
    NodeBuilder group = builder->Op("NoOp", name);
    for (const NodeId node : after) group.ControlInput(node);
    return group.Build().node;
  }

  static Endpoint LongVector(GraphBuilder* builder, const std::string& name, std::vector<int64_t> values) {
    return builder->Const(name, Tensor::FromValues(Shape{static_cast<Dim>(values.size())}, values));
  }

  // The variable that learns by rows: its update.
  static NodeId AddRows(GraphBuilder* builder, const std::vector<Endpoint>& local, int required,
                        std::vector<std::vector<NodeId>>* pushes, std::vector<NodeId>* init) {
    const Tensor first = Tensor::FromValues(Shape{2, 1}, std::vector<float>{3, 4});
    const Endpoint variable = Variable(builder, "sparse", first, init);
    const Endpoint sum = builder->Op("SparseConditionalAccumulator", "sparse/sum")
                             .Attr("dtype", DataType::kFloat)
                             .Attr("shape", Shape{2, 1})
                             .Build();
    for (size_t w = 0; w < local.size(); ++w) {
      const std::string at = "sparse/" + std::to_string(w);
      const Tensor row =
          Tensor::FromValues(Shape{1, 1}, std::vector<float>{0.1f + 0.2f * static_cast<float>(w)});
      NodeBuilder apply = builder->Op("SparseAccumulatorApplyGradient", at + "/apply");
      apply.Input(sum)
          .Input(local[w])
          .Input(LongVector(builder, at + "/indices", {1}))
          .Input(builder->Const(at + "/values", row))
          .Input(LongVector(builder, at + "/shape", {2, 1}))
          .Attr("has_known_shape", true);
      (*pushes)[w].push_back(apply.Build().node);
    }
    const Endpoint mean = builder->Op("SparseAccumulatorTakeGradient", "sparse/take")
                              .Input(sum)
                              .Input(builder->Scalar("sparse/required", int32_t{required}))
                              .Attr("dtype", DataType::kFloat)
                              .Build();
    const Endpoint delta = builder->Op("Mul", "sparse/delta")
                               .Input({mean.node, 1})
                               .Input(builder->Scalar("sparse/rate", 2.0f))
                               .Build();
    NodeBuilder descend = builder->Op("ScatterSub", "sparse/descend");
    return descend.Input(variable).Input(mean).Input(delta).Build().node;
  }

  static Graph Build(int workers, int required) {
    GraphBuilder builder;
    std::vector<NodeId> init;
    const Tensor zero = Tensor::Scalar<int64_t>(0);
    const Endpoint step = Variable(&builder, "global_step", zero, &init);
    const Endpoint tokens = builder.Op("FIFOQueueV2", "tokens")
                                .Attr("component_types", Types({DataType::kInt64}))
                                .Attr("shapes", Shapes({Shape{}}))
                                .Build();
    std::vector<std::vector<NodeId>> pushes(static_cast<size_t>(workers));
    std::vector<Endpoint> local;
    for (int w = 0; w < workers; ++w)
      local.push_back(Variable(&builder, "local_step_" + std::to_string(w), zero, &init));
    std::vector<NodeId> updates;
    for (const auto& [name, first] : {std::pair{"v0", 0.0f}, {"v1", 1.0f}}) {
      const std::string v = name;
      const Endpoint variable = Variable(&builder, v, Tensor::Scalar(first), &init);
      const Endpoint sum = builder.Op("ConditionalAccumulator", v + "/sum")
                               .Attr("dtype", DataType::kFloat)
                               .Attr("shape", Shape{})
                               .Build();
      builder.Op("AccumulatorNumAccumulated", "count_" + v).Input(sum).Build();
      for (int w = 0; w < workers; ++w) {
        const std::string at = v + "/" + std::to_string(w);
        const float gradient = (v == "v0" ? 0.1f : 0.9f) + 0.2f * static_cast<float>(w);
        NodeBuilder apply = builder.Op("AccumulatorApplyGradient", at + "/apply");
        apply.Input(sum)
            .Input(local[static_cast<size_t>(w)])
            .Input(builder.Scalar(at + "/gradient", gradient));
        pushes[static_cast<size_t>(w)].push_back(apply.Build().node);
      }
      const Endpoint mean = builder.Op("AccumulatorTakeGradient", v + "/take")
                                .Input(sum)
                                .Input(builder.Scalar(v + "/required", int32_t{required}))
                                .Attr("dtype", DataType::kFloat)
                                .Build();
      NodeBuilder descend = builder.Op("ApplyGradientDescent", v + "/descend");
      updates.push_back(
          descend.Input(variable).Input(builder.Scalar(v + "/rate", 2.0f)).Input(mean).Build().node);
    }
    updates.push_back(AddRows(&builder, local, required, &pushes, &init));
    for (int w = 0; w < workers; ++w) {
      const std::string number = std::to_string(w);
      Group(&builder, "push_" + number, pushes[static_cast<size_t>(w)]);
      const Endpoint token = builder.Op("QueueDequeueV2", "token_of_" + number)
                                 .Input(tokens)
                                 .Attr("component_types", Types({DataType::kInt64}))
                                 .Build();
      NodeBuilder keep = builder.Op("Assign", "token_" + number);
      keep.Input(local[static_cast<size_t>(w)]).Input(token).Build();
    }
    // The chief's: the step goes on once all variables have changed, and the tokens carry it.
    const Endpoint one = builder.Scalar("one", int64_t{1});
    NodeBuilder count = builder.Op("AssignAdd", "next_step");
    for (const NodeId update : updates) count.ControlInput(update);
    const Endpoint next = count.Input(step).Input(one).Build();
    const Endpoint all =
        builder.Op("Fill", "new_tokens")
            .Input(builder.Const("how_many", Tensor::FromValues(Shape{1}, std::vector<int32_t>{workers})))
            .Input(next)
            .Build();
    NodeBuilder hand_out = builder.Op("QueueEnqueueManyV2", "hand_out");
    const NodeId handed = hand_out.Input(tokens).Input(all).Build().node;
    Group(&builder, "update", {handed});
    Group(&builder, "init", init);
    return builder.Take();
  }

  Pipeline pipeline_;
};

// Law: worker 0 and 1 push 0.1 and 0.3: the mean is 0.2, and v0 = 0 - 2 * 0.2; a round with the old local
// step is dropped as stale, and nothing is taken of it.
TEST(SyncReplicas, I20_I21_AStaleRoundChangesNothing) {
  Replicas replicas(2, 2);
  for (const int w : {0, 1}) replicas.Push(w);
  replicas.Update();
  EXPECT_NEAR(replicas.Variables()[0], -0.4f, 1e-6);
  EXPECT_NEAR(replicas.Variables()[1], -1.0f, 1e-6);
  EXPECT_THAT(replicas.Rows(), testing::Pointwise(testing::FloatNear(1e-6f), {3.0f, 3.6f}));
  EXPECT_EQ(replicas.GlobalStep(), 1);
  for (const int w : {0, 1}) {
    EXPECT_EQ(replicas.LocalStep(w), 0);
    replicas.Push(w);
    replicas.TakeToken(w);
    EXPECT_EQ(replicas.LocalStep(w), 1);
  }
  EXPECT_EQ(replicas.Waiting(), 0);
  EXPECT_NEAR(replicas.Variables()[0], -0.4f, 1e-6);
  EXPECT_THAT(replicas.Rows(), testing::Pointwise(testing::FloatNear(1e-6f), {3.0f, 3.6f}));
  EXPECT_EQ(replicas.GlobalStep(), 1);
  // With the new step they count again.
  for (const int w : {0, 1}) replicas.Push(w);
  replicas.Update();
  EXPECT_NEAR(replicas.Variables()[0], -0.8f, 1e-6);
}

// Law: of three workers two are waited for; 0 and 2 push 0.1 and 0.5, 0.9 and 1.3.
TEST(SyncReplicas, I23_ABackupWorkerIsNotWaitedFor) {
  Replicas replicas(3, 2);
  auto update = std::async(std::launch::async, [&] { replicas.Update(); });
  replicas.Push(0);
  replicas.Push(2);
  update.get();
  EXPECT_NEAR(replicas.Variables()[0], -0.6f, 1e-6);
  EXPECT_NEAR(replicas.Variables()[1], -1.2f, 1e-6);
  EXPECT_THAT(replicas.Rows(), testing::Pointwise(testing::FloatNear(1e-6f), {3.0f, 3.4f}));
  EXPECT_EQ(replicas.GlobalStep(), 1);
}

TEST(SyncReplicas, ATakeRunsOutOfTime) {
  GraphBuilder builder;
  const Endpoint sum = builder.Op("ConditionalAccumulator", "sum")
                           .Attr("dtype", DataType::kFloat)
                           .Attr("shape", Shape{})
                           .Build();
  builder.Op("AccumulatorTakeGradient", "take")
      .Input(sum)
      .Input(builder.Scalar("required", int32_t{1}))
      .Attr("dtype", DataType::kFloat)
      .Build();
  SessionOptions options;
  options.timeout_ns = 20'000'000;
  Pipeline pipeline(builder.Take(), 1, options);
  ExpectError(Code::kDeadlineExceeded, {"Timed out"}, [&] { pipeline.Floats("take"); });
}

}  // namespace
}  // namespace lanescope::exec::test
