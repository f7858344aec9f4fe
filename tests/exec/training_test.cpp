// SPDX-License-Identifier: Apache-2.0
// The sample graphs, run by the executor with the feeds of their run configurations, beside what TensorFlow
// recorded for them (tests/golden/training).
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "core/graph/graph_io.h"
#include "core/inputs/run_spec.h"
#include "core/schedule/cost.h"
#include "core/strategies/strategy.h"
#include "tests/exec/session_harness.h"
#include "tests/support/paths.h"

namespace lanescope::exec::test {
namespace {

using Json = nlohmann::json;

Json ReadGolden(const std::string& name) {
  const std::string path = lanescope::test::SourceDir() + "/tests/golden/training/" + name + ".json";
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  return Json::parse(file);
}

// A sample graph under one strategy, initialised, and its steps.
class Training {
 public:
  Training(const std::string& name, std::string_view strategy, int workers = 1, int gpus = 2)
      : machine_(VirtualMachine(gpus, workers)) {
    const std::string path = lanescope::test::SourceDir() + "/samples/graphs/" + name + ".pbtxt";
    graph_ = ReadGraph(path);
    spec_ = ReadRunSpecBeside(path);
    placement_ = Place(strategy);
    session_ = std::make_unique<Session>(graph_, placement_, machine_);
    for (const std::string& target : spec_.init) session_->Run({{}, {}, {target}});
  }

  // The fetches of the next step.
  std::vector<Tensor> Step() {
    const RunRequest request{MakeFeeds(spec_, step_++), spec_.fetches, spec_.targets};
    return session_->Run(request).fetches;
  }
  float Loss() { return Step()[0].data<float>()[0]; }
  std::vector<float> Losses(int steps) {
    std::vector<float> losses;
    for (int i = 0; i < steps; ++i) losses.push_back(Loss());
    return losses;
  }
  Tensor Variable(const std::string& name) const { return session_->ReadVariable(name); }
  const RunSpec& spec() const { return spec_; }
  int DevicesUsed() const {
    std::set<DeviceId> devices(placement_.device.begin(), placement_.device.end());
    return static_cast<int>(devices.size());
  }

 private:
  Placement Place(std::string_view strategy) const {
    std::vector<std::pair<Endpoint, TensorInfo>> feeds;
    for (const auto& [name, tensor] : MakeFeeds(spec_, 0)) {
      TensorInfo info;
      info.dtype = tensor.dtype();
      info.shape = tensor.shape();
      feeds.emplace_back(graph_.FindEndpoint(name), info);
    }
    const GraphInfo info = InferGraph(graph_, feeds);
    const RooflineCost costs;
    return PlaceByStrategy(strategy, {graph_, info, machine_, costs, PlacerOptions()});
  }

  Machine machine_;
  Graph graph_;
  RunSpec spec_;
  Placement placement_;
  std::unique_ptr<Session> session_;
  int64_t step_ = 0;
};

// |a - b| <= tolerance (1 + |b|), element by element, at all indices or at the recorded ones.
void ExpectNear(const Tensor& tensor, const Json& golden, double tolerance, const std::string& what) {
  const auto values = golden["values"].get<std::vector<double>>();
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t index =
        golden.contains("indices") ? golden["indices"][i].get<int64_t>() : static_cast<int64_t>(i);
    ASSERT_LT(index, tensor.NumElements()) << what;
    const double value = tensor.dtype() == DataType::kFloat ? static_cast<double>(tensor.data<float>()[index])
                                                            : static_cast<double>(tensor.IntAt(index));
    EXPECT_NEAR(value, values[i], tolerance * (1 + std::abs(values[i]))) << what << "[" << index << "]";
  }
}

// Runs `steps` steps beside TensorFlow's losses; the variables too when all recorded steps are run.
void ExpectLikeTensorFlow(const std::string& name, std::string_view strategy, int steps, double tolerance) {
  SCOPED_TRACE(name + " placed by " + std::string(strategy));
  const Json golden = ReadGolden(name);
  Training training(name, strategy);
  for (const auto& [variable, values] : golden["initial"].items())
    ExpectNear(training.Variable(variable), values, 1e-6, "initial " + variable);
  for (int step = 0; step < steps; ++step) {
    const float loss = training.Loss();
    const auto expected = golden["losses"].find(std::to_string(step));
    if (expected == golden["losses"].end()) continue;
    EXPECT_NEAR(loss, expected->get<double>(), tolerance * std::abs(expected->get<double>()))
        << "step " << step;
  }
  if (steps < golden["steps"].get<int>()) return;
  for (const auto& [variable, values] : golden["final"].items())
    ExpectNear(training.Variable(variable), values, 10 * tolerance, "final " + variable);
}

TEST(TrainingLikeTensorFlow, DeepConn) { ExpectLikeTensorFlow("deepconn_single", "single", 8, 2e-4); }

TEST(TrainingLikeTensorFlow, Cifar10) { ExpectLikeTensorFlow("cifar10_single", "single", 3, 2e-4); }

TEST(TrainingLikeTensorFlow, Cifar10Towers) { ExpectLikeTensorFlow("cifar10_towers", "annotated", 3, 2e-4); }

// The gradients of 100 points are summed in another order than TensorFlow's: the paths drift apart a little.
TEST(TrainingLikeTensorFlow, Polynomial) { ExpectLikeTensorFlow("polynomial", "annotated", 1000, 2e-3); }

TEST(TrainingLikeTensorFlow, PolynomialParallel) {
  ExpectLikeTensorFlow("polynomial_parallel", "annotated", 1000, 2e-3);
}

// Law: training finds the polynomial that made the data, 5 x^2 + 3.
TEST(Training, FindsThePolynomial) {
  Training training("polynomial", "tower-split");
  for (int step = 0; step < 1000; ++step) training.Step();
  const Tensor w = training.Variable("w");
  EXPECT_NEAR(w.data<float>()[0], 5, 0.02);
  EXPECT_NEAR(w.data<float>()[1], 0, 0.02);
  EXPECT_NEAR(w.data<float>()[2], 3, 0.5);
}

// Law: where the operators run, and with how many workers, changes no bit of the losses.
TEST(Training, LossesAreTheSameEverywhere) {
  const auto expected = Training("deepconn_single", "single").Losses(3);
  for (const char* strategy : {"annotated", "tower-split", "alternating"}) {
    Training training("deepconn_single", strategy);
    EXPECT_EQ(training.Losses(3), expected) << strategy;
  }
  EXPECT_EQ(Training("deepconn_single", "tower-split", 2).Losses(3), expected) << "two workers";
  for (const char* graph : {"deepconn_dual", "deepconn_alternating", "deepconn_dual_colocated",
                            "deepconn_alternating_colocated"}) {
    Training training(graph, "annotated");
    EXPECT_GE(training.DevicesUsed(), 3) << graph;
    EXPECT_EQ(training.Losses(3), expected) << graph;
  }
}

TEST(Training, PolynomialIsTheSameEverywhere) {
  for (const char* graph : {"polynomial", "polynomial_parallel"}) {
    const auto expected = Training(graph, "single").Losses(20);
    for (const char* strategy : {"annotated", "tower-split", "alternating"})
      EXPECT_EQ(Training(graph, strategy).Losses(20), expected) << graph << " " << strategy;
  }
}

// The small samples: matrix products, and random numbers whose streams are TensorFlow's.
TEST(TrainingLikeTensorFlow, SmallSamples) {
  for (const char* name : {"matmul_cpu_gpu", "two_towers_matmul", "random_add", "random_add_split"}) {
    const Json golden = ReadGolden(name);
    for (const char* strategy : {"annotated", "alternating"}) {
      Training training(name, strategy);
      for (const Json& outputs : golden["outputs"]) {
        const auto fetches = training.Step();
        for (size_t i = 0; i < fetches.size(); ++i)
          ExpectNear(fetches[i], outputs[training.spec().fetches[i]], 1e-6, training.spec().fetches[i]);
      }
    }
  }
}

}  // namespace
}  // namespace lanescope::exec::test
