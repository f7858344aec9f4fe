// SPDX-License-Identifier: Apache-2.0
// Hostile bytes as a placement file: it is read or refused, what was read reads the same again, and what it
// places compiles to a schedule that obeys its laws, or is refused.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tests/fuzz/hostile.h"
#include "tests/fuzz/two_device_step.h"

namespace lanescope {
namespace {

struct Prepared {
  TwoDeviceStep step;
  Machine machine = VirtualMachine(3, 1);
  Placement base = PlaceAnnotated(step.Input(machine, RooflineCost()));
};

void TryPlacement(std::string_view bytes) {
  static const Prepared prepared;
  const Graph& graph = prepared.step.graph;
  Placement placement;
  if (!Try([&] { placement = ParsePlacement(bytes, graph, prepared.machine, prepared.base); })) return;
  // Not caught: what was read once must never be refused afterwards.
  const std::string text = PlacementToJson(placement, graph, prepared.machine);
  const Placement again = ParsePlacement(text, graph, prepared.machine, prepared.base);
  if (again.device != placement.device) std::abort();
  if (PlacementToJson(again, graph, prepared.machine) != text) std::abort();
  Try([&] { prepared.step.CompileOn(prepared.machine, placement); });
}

}  // namespace
}  // namespace lanescope

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lanescope::TryPlacement({reinterpret_cast<const char*>(data), size});
  return 0;
}
