// SPDX-License-Identifier: Apache-2.0
// Writes the graphs of two workers that train one variable of a parameter server, synchronously and
// asynchronously, for `lanescope run` beside `lanescope serve` (docs/guides/clusters.md):
//   replicas FOLDER [ELEMENTS]
// The variable learns to be 3; a worker's gradient is as large as the variable.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "core/base/error.h"
#include "core/graph/graph_io.h"
#include "graphs/ops.h"
#include "graphs/replica_devices.h"
#include "graphs/sync_replicas.h"

namespace {

namespace op = lanescope::graphs::op;
using lanescope::Endpoint;
using namespace lanescope::graphs;

std::string NameOf(const Scope& s, Endpoint node) { return s.graph().node(node.node).name; }

// The part that a worker's graph has in any case.
struct Model {
  Model(Scope* scope, int64_t elements, int servers)
      : device(scope->Device(ReplicaDevices({.ps_tasks = servers}))),
        step(scope->NewVariable(scope->Scalar<int64_t>(0), {.name = "global_step", .trainable = false})),
        w(scope->GetVariable("w", lanescope::Shape{elements}, {.initializer = Zeros()})),
        loss(op::Sum(*scope, op::Square(*scope, op::Sub(*scope, w, 3.0f)), op::Const(*scope, {0}),
                     {.name = "loss"})) {}

  ScopeGuard device;
  const Variable& step;
  const Variable& w;
  const Endpoint loss;
};

void Write(const Scope& s, const std::string& path, const std::string& init, const std::string& fetches,
           const std::string& target) {
  lanescope::WriteGraph(s.graph(), path + ".pbtxt");
  std::ofstream step(path + ".run.json");
  step << "{\n  \"init\": [\"" << init << "\"],\n  \"fetches\": [" << fetches << "],\n  \"targets\": [\""
       << target << "\"]";
  for (const auto& runner : s.queue_runners()) {
    step << ",\n  \"queue_runners\": [{\"queue\": \"" << runner.queue << "\", \"enqueue\": [\""
         << runner.enqueue_ops[0] << "\"]}]";
  }
  step << "\n}\n";
  std::printf("%s.pbtxt: %zu nodes\n", path.c_str(), s.graph().num_nodes());
}

// The chief updates the variables, and hands the first tokens out.
void WriteSync(const std::string& path, int64_t elements, bool chief) {
  Scope s;
  const Model model(&s, elements, 1);
  GradientDescentOptimizer descent(0.05f);
  SyncReplicas sync(&s, &descent, {.replicas_to_aggregate = 2});
  const Endpoint train = sync.Minimize(model.loss, {.global_step = &model.step});
  const Endpoint init = InitializeVariables(s, "init");
  if (chief) sync.RunUpdates();
  Write(s, path, NameOf(s, chief ? sync.InitTokens(-1, init) : init), "\"loss\"", NameOf(s, train));
}

void WriteAsync(const std::string& path, int64_t elements, const AsyncReplicasOptions& stale) {
  Scope s;
  const Model model(&s, elements, 1);
  GradientDescentOptimizer descent(0.05f);
  const Endpoint read = AsyncRead(s, model.step);
  const AsyncReplicas async = ApplyAsync(s, descent, descent.ComputeGradients(s, model.loss), read, stale,
                                         {.global_step = &model.step});
  InitializeVariables(s, "init");
  Write(s, path, "init", "\"loss\", \"" + NameOf(s, async.staleness) + "\"", NameOf(s, async.train));
}

// Five variables of two servers: 0, 1, 0, 1, 0.
void WriteSharded(const std::string& path) {
  Scope s;
  const auto device = s.Device(ReplicaDevices({.ps_tasks = 2}));
  std::vector<Endpoint> values;
  for (int i = 1; i <= 5; ++i)
    values.push_back(s.NewVariable(s.Scalar(static_cast<float>(i)), {.name = "v" + std::to_string(i)}));
  const Endpoint sum = op::AddN(s, values, {.name = "sum"});
  InitializeVariables(s, "init");
  Write(s, path, "init", "\"sum\"", NameOf(s, sum));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: replicas FOLDER [ELEMENTS]\n");
    return 2;
  }
  try {
    const std::string folder = argv[1];
    const int64_t elements = argc == 3 ? std::atoll(argv[2]) : 250'000;
    WriteSync(folder + "/sync_chief", elements, true);
    WriteSync(folder + "/sync_worker", elements, false);
    WriteAsync(folder + "/async", elements, {});
    WriteAsync(folder + "/async_scaled", elements, {.stale = Stale::kScale});
    WriteAsync(folder + "/async_dropped", elements, {.stale = Stale::kDrop, .most = 1});
    WriteSharded(folder + "/sharded");
    return 0;
  } catch (const lanescope::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
