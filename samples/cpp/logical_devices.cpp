// SPDX-License-Identifier: Apache-2.0
// One GPU used as two: a device that is not there, logical devices with a memory limit, replicas with
// mirrored variables on them, and towers placed by hand.
#include <graph_run.h>

#include "core/base/units.h"
#include "core/machine/device_config.h"
#include "core/place/placement_log.h"
#include "graphs/mirrored.h"
#include "graphs/ops.h"

namespace op = lanescope::graphs::op;
using lanescope::Endpoint;
using lanescope::graphs::Input;
using lanescope::graphs::Scope;

namespace {

const Input kA({2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
const Input kB({3, 2}, std::vector<float>{1, 2, 3, 4, 5, 6});

// One GPU, cut into two devices of 1 GiB.
samples::RunOptions TwoLogicalGpus() {
  samples::RunOptions options;
  options.machine = ConfigureDevices(lanescope::VirtualMachine(1, 2),
                                     {.logical_devices = {{.memory_limit_mb = {1024, 1024}}}});
  for (const lanescope::DeviceId gpu : options.machine.Gpus()) {
    const auto& device = options.machine.device(gpu);
    std::printf("%s: %s\n", device.local_name().c_str(), lanescope::FormatBytes(device.memory_bytes).c_str());
  }
  return options;
}

void ProductOn(const char* device, bool soft_placement) {
  Scope s;
  const auto on = s.Device(device);
  const auto product = op::MatMul(s, op::Const(s, kA), op::Const(s, kB));
  samples::RunOptions options;
  options.machine = lanescope::VirtualMachine(1, 1);
  options.soft_placement = soft_placement;
  samples::GraphRun run(s, options);
  std::printf("%s ran on %s\n", device, run.DeviceOf(product).c_str());
}

// As an op of TensorFlow 2 that runs by itself, outside of any graph.
void ProductByItselfOn(const char* device) {
  Scope s;
  const auto on = s.Device(device);
  const auto product = op::MatMul(s, op::Const(s, kA), op::Const(s, kB));
  const lanescope::Machine machine = lanescope::VirtualMachine(1, 1);
  try {
    PlaceByItself(s.graph().node(product.node), machine, false);
  } catch (const lanescope::Error& error) {
    std::printf("by itself: %s\n", error.what());
  }
}

void ManualTowers(const samples::RunOptions& options) {
  Scope s;
  std::vector<Endpoint> products;
  for (const lanescope::DeviceId gpu : options.machine.Gpus()) {
    const auto on = s.Device(options.machine.device(gpu).name);
    const auto a = op::Const(s, kA);
    products.push_back(op::MatMul(s, a, op::Const(s, kB)));
  }
  const auto cpu = s.Device("/CPU:0");
  const auto sum = op::AddN(s, products);
  samples::GraphRun run(s, options);
  samples::Print("sum of two towers", run({sum})[0]);
}

// A layer of one unit learns a sum; each replica sees half of the batch.
void MirroredReplicas(const samples::RunOptions& options) {
  Scope s;
  const auto x = op::Const(s, Input({4, 2}, std::vector<float>{1, 0, 0, 1, 1, 1, 2, 1}));
  const auto y = op::Const(s, Input({4, 1}, std::vector<float>{1, 1, 2, 3}));
  std::vector<std::string> devices;
  for (const lanescope::DeviceId gpu : options.machine.Gpus())
    devices.push_back(options.machine.device(gpu).name);
  lanescope::graphs::Mirrored mirrored(s, devices);
  const auto losses = mirrored.Run(
      [](Scope& scope, Endpoint inputs, Endpoint targets) {
        const auto& w = scope.GetVariable("w", {2, 1}, {.initializer = lanescope::graphs::Zeros()});
        return op::Mean(scope, op::SquaredDifference(scope, op::MatMul(scope, inputs, w), targets), {0, 1});
      },
      x, y);
  lanescope::graphs::GradientDescentOptimizer optimizer(0.2);
  const auto train = mirrored.Minimize(optimizer, losses);
  const auto init = InitializeVariables(s);
  samples::GraphRun run(s, options);
  run({}, {}, {init});
  for (int step = 0; step < 100; ++step) run({}, {}, {train});
  for (const auto* variable : s.variables()) {
    std::printf("on %s, ", run.DeviceOf(variable->ref).c_str());
    samples::Print(variable->name.c_str(), run({variable->value})[0]);
  }
}

}  // namespace

int main() {
  return samples::Main([] {
    ProductOn("/device:GPU:2", true);
    try {
      ProductOn("/device:GPU:2", false);
    } catch (const lanescope::Error& error) {
      std::printf("without soft placement: %s\n", error.what());
    }
    ProductByItselfOn("/device:GPU:2");
    const samples::RunOptions options = TwoLogicalGpus();
    ManualTowers(options);
    MirroredReplicas(options);
  });
}
