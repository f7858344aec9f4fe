// SPDX-License-Identifier: Apache-2.0
#include "study/compare/comparison.h"

#include "core/machine/tasks.h"

namespace lanescope::study {

std::string ComparisonRow::label() const {
  const std::string format = wire == WireFormat::kFloat32 ? "" : ", " + std::string(WireFormatName(wire));
  return graph.substr(0, graph.rfind('.')) + " " + strategy + format;
}

WireTraffic TrafficBetweenTasks(const Machine& machine, const Schedule& schedule) {
  const MachineTasks tasks = TasksOf(machine);
  WireTraffic traffic;
  for (const Command& command : schedule.commands) {
    if (command.kind != CommandKind::kCopy) continue;
    if (tasks.SameTask(schedule.CopySource(command), schedule.CopyDestination(command))) continue;
    ++traffic.messages;
    traffic.bytes += command.bytes;
  }
  return traffic;
}

double ComparisonRow::step_ns() const {
  if (measured) return measured->statistics.step_ns->median;
  return predicted ? static_cast<double>(predicted->prediction.step_ns) : 0;
}

std::optional<double> ComparisonRow::error() const {
  if (!measured || !predicted) return std::nullopt;
  const double median = measured->statistics.step_ns->median;
  return (static_cast<double>(predicted->prediction.step_ns) - median) / median;
}

}  // namespace lanescope::study
