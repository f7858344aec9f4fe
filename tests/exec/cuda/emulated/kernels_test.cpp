// SPDX-License-Identifier: Apache-2.0
// Whole steps by the CUDA kernels, emulated: what the host may not touch, in orders that streams allow,
// recorded and replayed. The ops one by one are those of tests/exec/cuda/gpu.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/exec/cuda/emulated/emulated_module.h"
#include "tests/exec/cuda/emulated/kept_times.h"
#include "tests/exec/sample_run.h"

namespace lanescope::exec::test {
namespace {

// The module of all tests of this program: those of tests/exec/cuda/gpu find a GPU.
class EmulatedGpus : public ::testing::Environment {
 public:
  void SetUp() override {
    KeepTimesApart();
    module_ = std::make_unique<EmulatedCuda>();
    cuda::SetCudaModuleForTesting(module_.get());
  }
  void TearDown() override { ForgetTimes(); }

 private:
  std::unique_ptr<EmulatedCuda> module_;
};
const auto* const kGpus = ::testing::AddGlobalTestEnvironment(new EmulatedGpus());

struct Sample {
  const char* graph;
  const char* strategy;
  int steps;
};

void PrintTo(const Sample& sample, std::ostream* out) { *out << sample.graph << "_" << sample.strategy; }

class EmulatedSteps : public ::testing::TestWithParam<Sample> {};

// The results of the steps are those of virtual devices within rounding.
TEST_P(EmulatedSteps, GiveTheNumbersOfVirtualDevices) {
  const auto& [graph, strategy, steps] = GetParam();
  SampleRun expected(graph, strategy, FastMachine(2));
  SampleRun actual(graph, strategy, GpuMachine({0, 1}));
  for (int step = 0; step < steps; ++step) {
    const auto wanted = expected.Step(), fetched = actual.Step();
    ASSERT_EQ(fetched.size(), wanted.size());
    for (size_t i = 0; i < fetched.size(); ++i) {
      ASSERT_EQ(fetched[i].shape(), wanted[i].shape());
      if (fetched[i].dtype() != DataType::kFloat) continue;
      for (int64_t k = 0; k < fetched[i].NumElements(); ++k) {
        const float value = wanted[i].data<float>()[k];
        ASSERT_NEAR(fetched[i].data<float>()[k], value, 1e-3 * (1 + std::abs(value)))
            << "step " << step << " fetch " << i << " element " << k;
      }
    }
  }
  EXPECT_EQ(actual.session().graph_problem(), "");
}

INSTANTIATE_TEST_SUITE_P(Samples, EmulatedSteps,
                         ::testing::Values(Sample{"two_towers_matmul", "annotated", 4},
                                           Sample{"random_add_split", "annotated", 3},
                                           Sample{"polynomial_parallel", "annotated", 4},
                                           Sample{"deepconn_single", "tower-split", 3}));

}  // namespace
}  // namespace lanescope::exec::test
