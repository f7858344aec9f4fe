// SPDX-License-Identifier: Apache-2.0
#include "gui/document/changes_text.h"

#include <fmt/core.h>

#include "core/base/units.h"

namespace lanescope::gui {

std::string MoveText(size_t count, std::string_view first, std::string_view device) {
  if (count == 1) return fmt::format("{} to {}", first, device);
  return fmt::format("{} ops to {}", count, device);
}

std::string LinkText(const Machine& machine, const LinkSpec& link) {
  return fmt::format("{} to {} at {}", machine.device(link.a).local_name(),
                     machine.device(link.b).local_name(), FormatBandwidth(link.bandwidth));
}

std::string SpeedText(const DeviceSpec& device, double speed) {
  return fmt::format("{} at {:.2f} times its speed", device.local_name(), speed);
}

std::string FusionText(bool fused) { return fused ? "nodes share launches" : "a launch for each node"; }

std::string ChangesText(const Graph& graph, const WhatIfEdit& start, const WhatIfEdit& edit) {
  std::string text;
  const auto add = [&](const std::string& change) { text += (text.empty() ? "" : ", ") + change; };
  for (const DeviceId d : edit.machine.devices.ids()) {
    size_t count = 0;
    NodeId first;
    for (const NodeId id : edit.placement.device.ids()) {
      if (edit.placement.device[id] != d || start.placement.device[id] == d) continue;
      if (count++ == 0) first = id;
    }
    if (count > 0) add(MoveText(count, graph.node(first).name, edit.machine.device(d).local_name()));
  }
  for (size_t l = 0; l < edit.machine.links.size(); ++l) {
    const LinkSpec& link = edit.machine.links[l];
    if (link.bandwidth != start.machine.links[l].bandwidth) add(LinkText(edit.machine, link));
  }
  for (const DeviceId d : edit.machine.devices.ids()) {
    if (edit.speed[d] != start.speed[d]) add(SpeedText(edit.machine.device(d), edit.speed[d]));
  }
  if (edit.fused != start.fused) add(FusionText(edit.fused));
  return text.empty() ? "as it was" : text;
}

}  // namespace lanescope::gui
