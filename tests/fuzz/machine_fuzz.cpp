// SPDX-License-Identifier: Apache-2.0
// Hostile bytes as a machine file: it is read or refused, what was read reads the same again, and a step can
// be placed, compiled and simulated on it, or that is refused.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/machine/copy_time.h"
#include "sims/predict/predict.h"
#include "tests/fuzz/hostile.h"
#include "tests/fuzz/two_device_step.h"

namespace lanescope {
namespace {

// Routes of all pairs take the cube of it.
constexpr int kMaxDevices = 24;

void TryRoutes(const Machine& machine) {
  for (const DeviceId src : machine.devices.ids()) {
    for (const DeviceId dst : machine.devices.ids()) {
      Try([&] {
        const Route route = machine.RouteBetween(src, dst);
        for (const int resource : route.resources) {
          if (resource < 0 || resource >= machine.num_resources()) std::abort();
          machine.ResourceName(resource);
          machine.ResourceBandwidth(resource);
        }
        if (src == dst) return;
        for (const int64_t bytes : {int64_t{0}, int64_t{1}, int64_t{100'000'000}}) {
          if (CopyNs(machine, route, bytes) < 0) std::abort();
        }
      });
    }
  }
}

void TryStep(const Machine& machine) {
  static const TwoDeviceStep step;
  const RooflineCost costs;
  for (const Strategy& strategy : Strategies()) {
    Try([&] {
      const Schedule schedule =
          step.CompileOn(machine, PlaceByStrategy(strategy.name, step.Input(machine, costs)));
      sims::PredictionSettings settings;
      settings.draws = 2;
      const sims::Prediction prediction =
          sims::Predict(step.graph, step.info, schedule, machine, costs, settings);
      if (prediction.step_ns < 0 || prediction.low_ns > prediction.step_ns ||
          prediction.high_ns < prediction.step_ns)
        std::abort();
    });
  }
}

void TryMachine(std::string_view bytes) {
  Machine machine;
  if (!Try([&] { machine = ParseMachine(bytes); })) return;
  // Not caught: what was read once must never be refused afterwards.
  const std::string text = MachineToJson(machine);
  if (MachineToJson(ParseMachine(text)) != text) std::abort();
  if (machine.num_devices() > kMaxDevices) return;
  TryRoutes(machine);
  TryStep(machine);
}

}  // namespace
}  // namespace lanescope

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lanescope::TryMachine({reinterpret_cast<const char*>(data), size});
  return 0;
}
