// SPDX-License-Identifier: Apache-2.0
// A polynomial of second degree fitted to samples of 5 x^2 + 3, on one GPU and with the batch cut over two.
#include <graph_run.h>
#include <polynomial_model.h>

#include <random>

using lanescope::Tensor;

namespace {

constexpr int kBatch = 100;

void Fit(int gpus) {
  lanescope::graphs::Scope s;
  const samples::PolynomialFit fit = samples::BuildPolynomialFit(s, gpus);
  samples::GraphRun run(s);
  run({}, {}, {fit.init});
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(-10, 10);
  Tensor x(lanescope::DataType::kFloat, {kBatch}), y(lanescope::DataType::kFloat, {kBatch});
  for (int step = 0; step < 1000; ++step) {
    for (int i = 0; i < kBatch; ++i) {
      const float v = uniform(random);
      x.data<float>()[i] = v;
      y.data<float>()[i] = 5 * v * v + 3;
    }
    run({fit.loss}, {{"x", x}, {"y", y}}, {fit.train});
  }
  samples::Print(gpus == 1 ? "w on one GPU" : "w on two GPUs", run({s.variables()[0]->value})[0]);
}

}  // namespace

int main() {
  return samples::Main([] {
    Fit(1);
    Fit(2);
  });
}
