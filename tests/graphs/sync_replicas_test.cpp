// SPDX-License-Identifier: Apache-2.0
// Replicas written in C++, each a graph of its own, whose variables and accumulators are shared by name: the
// cases of synchronous training, and what becomes of stale gradients.
#include "graphs/sync_replicas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>

#include "core/base/error.h"
#include "exec/device/device_set.h"
#include "exec/resources/resource_manager.h"
#include "exec/run/session.h"
#include "graphs/ops.h"
#include "graphs/replica_devices.h"
#include "tests/graphs/nodes.h"

namespace lanescope::graphs {
namespace {

using exec::DeviceSet;
using exec::ResourceManager;
using exec::Session;
using exec::SessionOptions;

struct Servers {
  Machine machine = VirtualMachine(1, 1);
  std::shared_ptr<ResourceManager> resources = std::make_shared<ResourceManager>();
  std::shared_ptr<DeviceSet> devices = std::make_shared<DeviceSet>(machine, exec::DeviceOptions());
};

// A graph and its session; variables are those of all replicas.
class Replica {
 public:
  Replica(Servers* servers, Scope* scope) : graph_(scope->Take()), machine_(servers->machine) {
    placement_.device.assign(graph_.num_nodes(), machine_.host());
    SessionOptions options;
    options.resources = servers->resources;
    options.device_set = servers->devices;
    options.share_variables = true;
    session_ = std::make_unique<Session>(graph_, placement_, machine_, options);
  }
  void Do(const std::string& target, int64_t timeout_ns = 0) {
    session_->Run({{}, {}, {target}}, {timeout_ns});
  }
  std::vector<float> Floats(const std::string& fetch) {
    const Tensor tensor = session_->Run({{}, {fetch}, {}}).fetches.at(0);
    return {tensor.data<float>(), tensor.data<float>() + tensor.NumElements()};
  }
  int64_t Long(const std::string& fetch) { return session_->Run({{}, {fetch}, {}}).fetches.at(0).IntAt(0); }

 private:
  Graph graph_;
  const Machine& machine_;
  Placement placement_;
  std::unique_ptr<Session> session_;
};

// The published case: v0 = 0, v1 = 1, sparse = [[3], [4]], a rate of 2; worker w's gradients are 0.1 + 0.2 w,
// 0.9 + 0.2 w and, of row 1 of sparse, 0.1 + 0.2 w. The local step of a replica has a name of its own, since
// all share one manager here.
struct Worker {
  Worker(Servers* servers, int number, int required, int total) {
    Scope s;
    const auto own = s.Name("");
    const Variable& step = s.NewVariable(s.Scalar<int64_t>(0), {.name = "global_step", .trainable = false});
    const Variable& v0 = s.NewVariable(s.Scalar(0.0f), {.name = "v0"});
    const Variable& v1 = s.NewVariable(s.Scalar(1.0f), {.name = "v1"});
    const Variable& sparse = s.NewVariable(
        s.Constant(Tensor::FromValues(lanescope::Shape{2, 1}, std::vector<float>{3, 4})), {.name = "sparse"});
    const float by = 0.2f * static_cast<float>(number);
    const IndexedSlices rows{
        s.Constant(Tensor::FromValues(lanescope::Shape{1, 1}, std::vector<float>{0.1f + by})),
        s.Constant(Tensor::FromValues(lanescope::Shape{1}, std::vector<int64_t>{1})),
        s.Constant(Tensor::FromValues(lanescope::Shape{2}, std::vector<int64_t>{2, 1}))};
    const Endpoint all = InitializeVariables(s, "init");
    static_cast<void>(all);
    GradientDescentOptimizer descent(2.0f);
    SyncReplicas sync(&s, &descent, {.replicas_to_aggregate = required, .total_replicas = total});
    const auto names = s.Name("worker_" + std::to_string(number));
    train = NameOf(
        s, sync.ApplyGradients({{s.Scalar(0.1f + by), &v0}, {s.Scalar(0.9f + by), &v1}, {rows, &sparse}},
                               {.global_step = &step}));
    update = NameOf(s, sync.update());
    tokens = NameOf(s, sync.InitTokens());
    init_replica = NameOf(s, sync.init_replica());
    init_chief = NameOf(s, sync.init_chief());
    local_step = NameOf(s, sync.local_step().value);
    sync.RunUpdates();
    EXPECT_EQ(s.queue_runners().at(0).enqueue_ops.at(0), update);
    replica = std::make_unique<Replica>(servers, &s);
  }
  std::string train, update, tokens, init_replica, init_chief, local_step;
  std::unique_ptr<Replica> replica;
};

void Begin(const std::vector<std::unique_ptr<Worker>>& workers) {
  workers[0]->replica->Do("init");
  workers[0]->replica->Do(workers[0]->init_chief);
  for (const auto& worker : workers) worker->replica->Do(worker->init_replica);
  workers[0]->replica->Do(workers[0]->tokens);
}

std::vector<std::unique_ptr<Worker>> MakeWorkers(Servers* servers, int workers, int required) {
  std::vector<std::unique_ptr<Worker>> made;
  for (int w = 0; w < workers; ++w) made.push_back(std::make_unique<Worker>(servers, w, required, workers));
  return made;
}

// Law: the mean of 0.1 and 0.3 is 0.2: v0 = 0 - 2 * 0.2. Both step with the token that was there at first,
// whose step is the old one, so the next round is stale and changes nothing.
TEST(SyncReplicasGraph, I20_I21_TheMeanOfAllAndThenAStaleRound) {
  Servers servers;
  const auto workers = MakeWorkers(&servers, 2, 2);
  Begin(workers);
  for (const auto& worker : workers) worker->replica->Do(worker->train);
  workers[0]->replica->Do(workers[0]->update);
  Replica& chief = *workers[0]->replica;
  EXPECT_NEAR(chief.Floats("v0/read")[0], -0.4f, 1e-6);
  EXPECT_NEAR(chief.Floats("v1/read")[0], -1.0f, 1e-6);
  EXPECT_THAT(chief.Floats("sparse/read"), testing::Pointwise(testing::FloatNear(1e-6f), {3.0f, 3.6f}));
  EXPECT_EQ(chief.Long("global_step/read"), 1);
  for (const auto& worker : workers) {
    EXPECT_EQ(worker->replica->Long(worker->local_step), 0);
    worker->replica->Do(worker->train);
    EXPECT_EQ(worker->replica->Long(worker->local_step), 1);
  }
  EXPECT_NEAR(chief.Floats("v0/read")[0], -0.4f, 1e-6);
  EXPECT_NEAR(chief.Floats("v1/read")[0], -1.0f, 1e-6);
  EXPECT_EQ(chief.Long("global_step/read"), 1);
  // Nothing of the stale round was kept: an update still waits for two gradients.
  EXPECT_THROW(chief.Do(workers[0]->update, 30'000'000), Error);
}

// Law: of three workers two are waited for: 0 and 2 push 0.1 and 0.5, 0.9 and 1.3.
TEST(SyncReplicasGraph, I23_ABackupWorkerIsNotWaitedFor) {
  Servers servers;
  const auto workers = MakeWorkers(&servers, 3, 2);
  Begin(workers);
  auto update = std::async(std::launch::async, [&] { workers[0]->replica->Do(workers[0]->update); });
  workers[0]->replica->Do(workers[0]->train);
  workers[2]->replica->Do(workers[2]->train);
  update.get();
  EXPECT_NEAR(workers[0]->replica->Floats("v0/read")[0], -0.6f, 1e-6);
  EXPECT_NEAR(workers[0]->replica->Floats("v1/read")[0], -1.2f, 1e-6);
  EXPECT_EQ(workers[0]->replica->Long("global_step/read"), 1);
}

// As many tokens as replicas or gradients, whichever are more; fewer than the first update needs are refused.
TEST(SyncReplicasGraph, TokensSufficeForTheFirstUpdate) {
  Scope s;
  const Variable& step = s.NewVariable(s.Scalar<int64_t>(0), {.name = "global_step", .trainable = false});
  const Variable& v = s.NewVariable(s.Scalar(0.0f), {.name = "v"});
  GradientDescentOptimizer descent(1.0f);
  SyncReplicas sync(&s, &descent, {.replicas_to_aggregate = 5, .total_replicas = 2});
  EXPECT_THROW(sync.InitTokens(), Error);
  sync.ApplyGradients({{s.Scalar(1.0f), &v}}, {.global_step = &step});
  try {
    sync.InitTokens(2);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "Too few tokens to finish the first step: 2 (given) vs 3 (needed)");
  }
  EXPECT_EQ(s.graph().node(sync.InitTokens(3).node).op, "QueueEnqueueManyV2");
}

TEST(SyncReplicasGraph, WantsAGlobalStepAndGradients) {
  Scope s;
  const Variable& v = s.NewVariable(s.Scalar(0.0f), {.name = "v"});
  GradientDescentOptimizer descent(1.0f);
  SyncReplicas sync(&s, &descent, {.replicas_to_aggregate = 2});
  EXPECT_THROW(sync.ApplyGradients({}, {}), Error);
  EXPECT_THROW(sync.ApplyGradients({{s.Scalar(1.0f), &v}}, {}), Error);
  EXPECT_THROW(SyncReplicas(&s, &descent, {.replicas_to_aggregate = 0}), Error);
}

// Accumulators and tokens are where the variables are, the replica's own step is not.
TEST(SyncReplicasGraph, J_WhatIsSharedIsOnTheServers) {
  Scope s;
  const auto devices = s.Device(ReplicaDevices({.ps_tasks = 2, .worker_device = "/job:worker/task:1"}));
  const Variable& step = s.NewVariable(s.Scalar<int64_t>(0), {.name = "global_step", .trainable = false});
  const Variable& v = s.NewVariable(s.Scalar(0.0f), {.name = "v"});
  GradientDescentOptimizer descent(1.0f);
  SyncReplicas sync(&s, &descent, {.replicas_to_aggregate = 2});
  sync.ApplyGradients({{s.Scalar(1.0f), &v}}, {.global_step = &step});
  const auto device = [&](const std::string& node) {
    return s.graph().node(s.graph().FindNode(node)).device;
  };
  EXPECT_EQ(device("global_step"), "/job:ps/task:0");
  EXPECT_EQ(device("v"), "/job:ps/task:1");
  EXPECT_EQ(device("sync_replicas/conditional_accumulator"), "/job:ps/task:1");
  EXPECT_EQ(device("sync_replicas/take_grad"), "/job:ps/task:1");
  EXPECT_EQ(device("sync_token_q"), "/job:ps/task:0");
  EXPECT_EQ(device("sync_rep_local_step"), "/job:worker/task:1");
}

// v = 0 learns by a rate of 1. Its gradient of 1 comes from a queue of the worker's, which is filled by hand:
// between what a step reads and what it writes others may step. "told" is filled once it has read.
struct AsyncWorker {
  AsyncWorker(Servers* servers, const std::string& name, const AsyncReplicasOptions& stale) {
    Scope s;
    const Variable& step = s.NewVariable(s.Scalar<int64_t>(0), {.name = "global_step", .trainable = false});
    const Variable& v = s.NewVariable(s.Scalar(0.0f), {.name = "v"});
    InitializeVariables(s, "init");
    const std::vector<DataType> types{DataType::kFloat};
    const auto queue = [&](const std::string& called) {
      return s.Add("FIFOQueueV2", called, {},
                   {{"component_types", types},
                    {"shapes", std::vector<ShapeAttr>{{lanescope::Shape{}, {}}}},
                    {"shared_name", name + called}});
    };
    const Endpoint gate = queue("gate"), told = queue("told");
    s.Add("QueueEnqueueV2", "open", {InputList{gate}, InputList{s.Scalar(1.0f)}});
    s.Add("QueueDequeueV2", "hear", {InputList{told}}, {{"component_types", types}});
    GradientDescentOptimizer descent(1.0f);
    const Endpoint read = AsyncRead(s, step);
    Endpoint gradient;
    {
      const auto after = s.ControlDependencies({read});
      const Endpoint tell = s.Add("QueueEnqueueV2", "tell", {InputList{told}, InputList{s.Scalar(1.0f)}});
      const auto then = s.ControlDependencies({tell});
      gradient =
          s.Outputs(s.Add("QueueDequeueV2", "gradient", {InputList{gate}}, {{"component_types", types}}))[0];
    }
    const AsyncReplicas made = ApplyAsync(s, descent, {{gradient, &v}}, read, stale, {.global_step = &step});
    train = NameOf(s, made.train);
    staleness = NameOf(s, made.staleness);
    replica = std::make_unique<Replica>(servers, &s);
  }
  std::string train, staleness;
  std::unique_ptr<Replica> replica;
};

// Law: a gradient that two updates of others came before counts 1, 1/3, or nothing where that is too many;
// those two count 1 each, as none came between.
TEST(AsyncReplicasGraph, StaleGradientsAreAppliedScaledOrDropped) {
  struct StaleCase {
    AsyncReplicasOptions stale;
    float v;
  };
  for (const StaleCase& test :
       {StaleCase{{Stale::kApply, 0}, -3.0f}, StaleCase{{Stale::kScale, 0}, -2.0f - 1.0f / 3.0f},
        StaleCase{{Stale::kDrop, 1}, -2.0f}, StaleCase{{Stale::kDrop, 2}, -3.0f}}) {
    Servers servers;
    AsyncWorker slow(&servers, "slow", test.stale), quick(&servers, "quick", test.stale);
    slow.replica->Do("init");
    auto step = std::async(std::launch::async, [&] { slow.replica->Do(slow.train); });
    slow.replica->Do("hear");
    for (int i = 0; i < 2; ++i) {
      quick.replica->Do("open");
      quick.replica->Do(quick.train);
    }
    EXPECT_EQ(quick.replica->Floats("v/read")[0], -2);
    slow.replica->Do("open");
    step.get();
    EXPECT_NEAR(quick.replica->Floats("v/read")[0], test.v, 1e-6);
    EXPECT_EQ(quick.replica->Long("global_step/read"), 3);
  }
}

}  // namespace
}  // namespace lanescope::graphs
