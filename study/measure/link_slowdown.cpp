// SPDX-License-Identifier: Apache-2.0
#include "study/measure/link_slowdown.h"

#include <fmt/core.h>

#include "core/base/units.h"

namespace lanescope::study {
namespace {

constexpr int kArithmeticWarmup = 2, kArithmeticSteps = 5;

// GPU arithmetic of a step in ns.
double MeasureArithmetic(const PlacedGraph& placed, const Machine& machine,
                         const RecordedRunOptions& options) {
  RecordedRun probe(placed, machine, nullptr, options);
  probe.RunToEnd(kArithmeticWarmup, kArithmeticSteps);
  const Schedule& schedule = *probe.schedule();
  double busy = 0;
  for (const Event& event : probe.events()) {
    if (event.kind != EventKind::kCommand) continue;
    const Command& command = schedule.commands[event.command];
    const DeviceId device = schedule.queues[command.queue].device;
    if (command.kind == CommandKind::kLaunch && machine.device(device).is_gpu())
      busy += static_cast<double>(event.end_ns - event.start_ns);
  }
  return busy / kArithmeticSteps;
}

}  // namespace

double SlowLinks(const PlacedGraph& placed, int64_t reference_step_ns, const RecordedRunOptions& options,
                 Machine* machine) {
  const double here = MeasureArithmetic(placed, *machine, options);
  const double factor = here / static_cast<double>(reference_step_ns);
  for (LinkSpec& link : machine->links) {
    link.table.clear();
    link.bandwidth /= factor;
    link.latency_ns = static_cast<int64_t>(static_cast<double>(link.latency_ns) * factor);
  }
  for (BusSpec& bus : machine->buses) bus.bandwidth /= factor;
  for (NicSpec& nic : machine->nics) nic.bandwidth /= factor;
  Tell(options.note, fmt::format("GPU arithmetic of a step takes {} here, {:.2f} times the reference: links "
                                 "are slowed by that",
                                 FormatDuration(static_cast<int64_t>(here)), factor));
  return factor;
}

}  // namespace lanescope::study
