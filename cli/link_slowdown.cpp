#include "cli/link_slowdown.h"

#include <fmt/format.h>

#include "cli/interrupt.h"
#include "cli/print.h"
#include "cli/recorded_run.h"
#include "cli/report.h"
#include "core/error.h"

namespace lanescope::cli {
namespace {

constexpr int kWarmupSteps = 2, kSteps = 5;

// GPU arithmetic of a step in ns.
double MeasureArithmetic(const PlacedGraph& placed, const Machine& machine) {
  RecordedRunOptions options;
  options.keep_events = true;
  RecordedRun probe(placed, machine, nullptr, options);
  probe.WarmUp(kWarmupSteps);
  if (!probe.RunSteps(kSteps)) ThrowIfInterrupted();
  probe.Finish();
  double busy = 0;
  for (const Event& event : probe.events()) {
    if (event.kind != EventKind::kCommand) continue;
    const Command& command = probe.schedule().commands[static_cast<size_t>(event.command)];
    const int device = probe.schedule().queues[static_cast<size_t>(command.queue)].device;
    if (command.kind == CommandKind::kLaunch && machine.device(device).is_gpu())
      busy += static_cast<double>(event.end_ns - event.start_ns);
  }
  return busy / kSteps;
}

}  // namespace

double SlowLinks(const PlacedGraph& placed, const std::string& reference_step, Machine* machine) {
  const auto reference = static_cast<double>(ParseDuration(reference_step));
  if (!(reference > 0)) Throw(Code::kInvalidArgument, "--reference-step must be a positive time");
  const double here = MeasureArithmetic(placed, *machine);
  const double factor = here / reference;
  for (LinkSpec& link : machine->links) {
    link.table.clear();
    link.bandwidth /= factor;
    link.latency_ns = static_cast<int64_t>(static_cast<double>(link.latency_ns) * factor);
  }
  for (BusSpec& bus : machine->buses) bus.bandwidth /= factor;
  PrintNote("GPU arithmetic of a step takes {} here, {:.2f} times the reference: links are slowed by that\n",
            FormatDuration(static_cast<int64_t>(here)), factor);
  return factor;
}

}  // namespace lanescope::cli
