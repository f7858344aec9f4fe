// SPDX-License-Identifier: Apache-2.0
// Writes a network that is trained with a copy of its variables in every task of a job, for `mpirun -n TASKS
// lanescope run FILE.pbtxt`:
//   mirrored TASKS FILE.pbtxt [ring|tree|one-device|hierarchical|nccl]
// Every task computes the gradients of its part of the batch; their mean reaches all by an all-reduce.
#include "graphs/mirrored.h"

#include <graph_run.h>

#include <cstdlib>

#include "core/graph/graph_io.h"
#include "graphs/ops.h"

namespace op = lanescope::graphs::op;
using lanescope::Endpoint;
using lanescope::graphs::GlorotUniform;
using lanescope::graphs::Scope;

namespace {

constexpr int64_t kBatch = 128, kInputs = 256, kHidden = 512, kOutputs = 16;

// The mean squared error of two layers.
Endpoint Loss(Scope& s, Endpoint x, Endpoint y) {
  const auto& hidden = s.GetVariable("hidden", {kInputs, kHidden}, {.initializer = GlorotUniform(1)});
  const auto& output = s.GetVariable("output", {kHidden, kOutputs}, {.initializer = GlorotUniform(2)});
  const Endpoint layer = op::Relu(s, op::MatMul(s, x, hidden));
  return op::Mean(s, op::SquaredDifference(s, op::MatMul(s, layer, output), y), {0, 1});
}

void Write(int tasks, const std::string& path, lanescope::graphs::AllReduceBy by) {
  Scope s;
  const auto x = op::Placeholder(s, lanescope::DataType::kFloat, {.name = "x", .shape = {kBatch, kInputs}});
  const auto y = op::Placeholder(s, lanescope::DataType::kFloat, {.name = "y", .shape = {kBatch, kOutputs}});
  std::vector<std::string> devices;
  for (int task = 0; task < tasks; ++task)
    devices.push_back("/job:worker/replica:0/task:" + std::to_string(task) + "/device:GPU:0");
  lanescope::graphs::Mirrored mirrored(s, devices, by);
  const std::vector<Endpoint> losses = mirrored.Run(Loss, x, y);
  lanescope::graphs::GradientDescentOptimizer optimizer(0.05);
  mirrored.Minimize(optimizer, losses, {.name = "train"});
  {
    const auto first = s.Device(devices.front());
    const Endpoint sum = op::AddN(s, losses);
    op::RealDiv(s, sum, static_cast<float>(tasks), {.name = "loss"});
  }
  InitializeVariables(s);
  lanescope::WriteGraph(s.graph(), path);
}

}  // namespace

int main(int argc, char** argv) {
  const int tasks = argc < 3 ? 0 : std::atoi(argv[1]);
  const auto by = lanescope::ParseCollectiveBy(argc > 3 ? argv[3] : "ring");
  if (tasks < 1 || !by) {
    std::fprintf(stderr, "usage: mirrored TASKS FILE.pbtxt [ring|tree|one-device|hierarchical|nccl]\n");
    return 2;
  }
  return samples::Main([&] { Write(tasks, argv[2], *by); });
}
