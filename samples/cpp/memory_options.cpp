// SPDX-License-Identifier: Apache-2.0
// How much of the GPUs a program takes: a share of their memory, all of it at once or as it is needed, and
// what is said where it does not suffice.
#include <graph_run.h>

#include "core/base/units.h"
#include "core/machine/device_config.h"
#include "graphs/ops.h"

namespace op = lanescope::graphs::op;

namespace {

void Product(const lanescope::DeviceConfig& config, bool growth) {
  lanescope::graphs::Scope s;
  const auto x = op::Fill(s, {1024, 1024}, 0.5);
  const auto sum = op::Sum(s, op::MatMul(s, op::MatMul(s, x, x), x), {0, 1});
  samples::RunOptions options;
  options.machine = ConfigureDevices(options.machine, config);
  options.session.devices.memory_growth = growth;
  const auto& gpu = options.machine.device(options.machine.Gpus()[0]);
  std::printf("GPU:0 with %s: ", lanescope::FormatBytes(gpu.memory_bytes).c_str());
  samples::GraphRun run(s, options);
  samples::Print("sum", run({sum})[0]);
}

}  // namespace

int main() {
  return samples::Main([] {
    Product({.memory_fraction = 0.4}, false);
    Product({.memory_fraction = 0.4}, true);
    try {
      Product({.memory_fraction = 0.005}, true);
    } catch (const lanescope::Error& error) {
      std::printf("\n%s\n", error.what());
    }
  });
}
