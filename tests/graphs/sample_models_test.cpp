// SPDX-License-Identifier: Apache-2.0
// The models of samples/cpp beside the graphs that TensorFlow wrote of them, and what TensorFlow computed.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "core/graph/graph_io.h"
#include "core/inputs/run_spec.h"
#include "core/machine/machine.h"
#include "core/place/placer.h"
#include "core/schedule/schedule.h"
#include "exec/run/session.h"
#include "samples/cpp/cifar10_model.h"
#include "samples/cpp/deepconn_model.h"
#include "samples/cpp/polynomial_model.h"
#include "tests/graphs/golden.h"
#include "tests/graphs/nodes.h"

namespace lanescope::graphs {
namespace {

std::string SamplePath(const std::string& name) {
  return lanescope::test::SourceDir() + std::string("/samples/graphs/") + name + ".pbtxt";
}

template <typename Model>
void ExpectTensorFlowsGraph(const Scope& s, const Model& model, const std::string& name) {
  SCOPED_TRACE(name);
  ExpectEqualNodes(s.graph(), ReadGraph(SamplePath(name)),
                   {NameOf(s, model.loss), NameOf(s, model.train), NameOf(s, model.init)},
                   [](const Node&) { return true; });
}

TEST(SampleModels, ThePolynomialIsTensorFlowsNodeForNode) {
  Scope one, two;
  ExpectTensorFlowsGraph(one, samples::BuildPolynomialFit(one, 1), "polynomial");
  ExpectTensorFlowsGraph(two, samples::BuildPolynomialFit(two, 2), "polynomial_parallel");
}

TEST(SampleModels, Cifar10IsTensorFlowsNodeForNode) {
  Scope one, two;
  ExpectTensorFlowsGraph(one, samples::Cifar10Writer(one, 1).Build(), "cifar10_single");
  ExpectTensorFlowsGraph(two, samples::Cifar10Writer(two, 2).Build(), "cifar10_towers");
}

// Case I09.
TEST(SampleModels, I09Cifar10HasAsManyParametersAsTheTutorials) {
  Scope s;
  samples::Cifar10Writer(s, 1).Build();
  int64_t parameters = 0;
  for (const Variable* variable : s.variables()) {
    if (variable->trainable) parameters += variable->shape.NumElements();
  }
  EXPECT_EQ(parameters, 1068298);
}

struct Trained {
  std::vector<float> losses;
  int copies = 0;  // between GPUs, in a step
  int64_t bytes = 0;
};

Trained TrainDeepConn(const samples::DeepConnPlacement& placement, bool colocate, int steps) {
  Scope s;
  const samples::DeepConn model = samples::DeepConnWriter(s).Build(placement, colocate);
  const RunSpec spec = ReadRunSpecBeside(SamplePath("deepconn_single"));
  const Machine machine = VirtualMachine(2, 1);
  const Placement placed = PlaceGraph(s.graph(), machine, {});
  exec::Session session(s.graph(), placed, machine);
  for (const Endpoint init : {model.init, model.init_tables}) session.Run({{}, {}, {NameOf(s, init)}});
  Trained trained;
  for (int step = 0; step < steps; ++step) {
    const exec::RunRequest request{MakeFeeds(spec, step), {NameOf(s, model.loss)}, {NameOf(s, model.train)}};
    exec::PreparedStep& prepared = session.Prepare(request);
    trained.losses.push_back(session.Run(prepared, request.feeds).fetches[0].data<float>()[0]);
    if (step > 0) continue;
    const Schedule& schedule = *prepared.schedule;
    for (const Command& command : schedule.commands) {
      if (command.kind != CommandKind::kCopy) continue;
      if (!machine.device(schedule.CopySource(command)).is_gpu()) continue;
      if (!machine.device(schedule.CopyDestination(command)).is_gpu()) continue;
      ++trained.copies;
      trained.bytes += command.bytes;
    }
  }
  return trained;
}

TEST(SampleModels, DeepConnLearnsWhatTensorFlowsLearns) {
  std::ifstream file(Golden("training") / "deepconn_single.json");
  const Json losses = Json::parse(file).at("losses");
  for (const auto& placement : samples::kDeepConnPlacements) {
    SCOPED_TRACE(placement.name);
    const Trained trained = TrainDeepConn(placement, true, 3);
    for (size_t step = 0; step < trained.losses.size(); ++step) {
      const double expected = losses.at(std::to_string(step)).get<double>();
      EXPECT_NEAR(trained.losses[step], expected, 2e-4 * expected) << "step " << step;
    }
  }
}

// Cases I11 and I15, with gradients beside their ops. (I13 leaves them to the placer.)
TEST(SampleModels, I11AndI15DeepConnCopiesBetweenGpus) {
  EXPECT_EQ(TrainDeepConn(samples::kDeepConnPlacements[0], true, 1).copies, 0);
  const Trained dual = TrainDeepConn(samples::kDeepConnPlacements[1], true, 1);
  EXPECT_EQ(dual.copies, 10);
  EXPECT_EQ(dual.bytes, 10256408);
}

}  // namespace
}  // namespace lanescope::graphs
