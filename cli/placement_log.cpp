// SPDX-License-Identifier: Apache-2.0
#include "cli/placement_log.h"

#include <fmt/core.h>

#include "core/base/printable.h"

namespace lanescope::cli {

std::string DeviceMapping(const Machine& machine) {
  std::string lines;
  int number = 0;
  for (const DeviceId gpu : machine.Gpus()) {
    const DeviceSpec& device = machine.device(gpu);
    lines += fmt::format(
        "{} -> device: {}, name: {}\n", Printable(device.name),
        device.physical >= 0 ? device.physical : number,
        device.model.empty() ? fmt::format("{} GPU", DeviceKindName(device.kind)) : Printable(device.model));
    ++number;
  }
  return lines.empty() ? "Device mapping: no known devices.\n" : "Device mapping:\n" + lines;
}

std::string PlacementLog(const study::PlacedGraph& placed, const Machine& machine,
                         const std::vector<NodeId>& order, LogStyle style) {
  const Graph& graph = placed.workload->graph();
  std::string lines;
  for (const NodeId id : style == LogStyle::kV0 ? FirstReleasesOrder(graph) : order) {
    const DeviceSpec& device = machine.device(placed.placement.device[id]);
    lines += Printable(PlacementLogLine(graph.node(id), device, style)) + "\n";
  }
  return lines;
}

}  // namespace lanescope::cli
