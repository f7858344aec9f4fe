// SPDX-License-Identifier: Apache-2.0
// A sum of random vectors on the CPU, on a GPU, and cut in two halves on two GPUs, by MakeParallel.
#include <graph_run.h>

#include <cmath>

#include "graphs/ops.h"
#include "graphs/parallel.h"

namespace op = lanescope::graphs::op;
using lanescope::DataType;
using lanescope::Endpoint;
using lanescope::graphs::DeviceSpec;
using lanescope::graphs::Scope;

namespace {

Endpoint Random(Scope& s, int64_t seed) {
  return op::RandomUniform(s, {1000, 100}, DataType::kFloat, {.seed = 1, .seed2 = seed});
}

void AddOn(const DeviceSpec& device) {
  Scope s;
  const auto on = s.Device(device);
  const Endpoint a = Random(s, 1), b = Random(s, 2);
  const Endpoint c = op::AddV2(s, a, b);
  samples::GraphRun run(s);
  std::printf("%s: %lld sums\n", run.DeviceOf(c).c_str(), static_cast<long long>(run({c})[0].NumElements()));
}

void AddHalves() {
  Scope s;
  const Endpoint a = Random(s, 1), b = Random(s, 2);
  std::vector<Endpoint> split_c;
  const auto add = [&](Scope& scope, Endpoint x, Endpoint y) {
    split_c.push_back(op::AddV2(scope, x, y));
    return split_c.back();
  };
  const Endpoint c = MakeParallel(s, add, 2, a, b);
  samples::GraphRun run(s);
  const auto result = run({a, b, c});
  float worst = 0;
  for (int64_t i = 0; i < result[2].NumElements(); ++i) {
    const float sum = result[0].data<float>()[i] + result[1].data<float>()[i];
    worst = std::max(worst, std::fabs(result[2].data<float>()[i] - sum));
  }
  std::printf("%s and %s: %lld sums, off by %g\n", run.DeviceOf(split_c[0]).c_str(),
              run.DeviceOf(split_c[1]).c_str(), static_cast<long long>(result[2].NumElements()), worst);
}

}  // namespace

int main() {
  return samples::Main([] {
    AddOn({.type = "CPU", .index = 0});
    AddOn({.type = "GPU", .index = 0});
    AddHalves();
  });
}
