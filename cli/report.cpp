// SPDX-License-Identifier: Apache-2.0
#include "cli/report.h"

#include <fmt/core.h>

#include "cli/line_width.h"
#include "cli/print.h"
#include "core/base/text_table.h"
#include "core/base/units.h"

namespace lanescope::cli {

namespace {

// A table of what the step waits for, and of the threads that fill its queues.
void PrintInput(const sims::Prediction& prediction) {
  const sims::PipelinePrediction& input = *prediction.input;
  const sims::PipelineResult& result = input.result;
  TextTable queues;
  queues.Name("Input").Number("Capacity").Number("Mean fill").Number("Starved").Number("Full");
  for (size_t q = 0; q < result.queues.size(); ++q) {
    const sims::PipelineQueue& queue = input.pipeline.queues[q];
    queues.Row({queue.name, queue.capacity < 0 ? "-" : std::to_string(queue.capacity),
                fmt::format("{:.1f}", result.queues[q].mean_fill), PercentText(result.queues[q].starved),
                PercentText(result.queues[q].full)});
  }
  TextTable threads;
  threads.Name("Threads that run")
      .Number("Threads")
      .Number("Steps/s")
      .Number("work")
      .Number("Waits")
      .Number("Blocked");
  for (size_t s = 1; s < result.stages.size(); ++s) {
    const sims::PipelineResult::Stage& stage = result.stages[s];
    threads.Row({input.pipeline.stages[s].name, std::to_string(input.pipeline.stages[s].threads),
                 fmt::format("{:.0f}", stage.steps_per_second), TimeText(stage.work_ns),
                 PercentText(stage.waiting + stage.turn), PercentText(stage.blocked)});
  }
  PrintText("\n" + queues.Take(LineWidth()) + "\n" + threads.Take(LineWidth()));
  Print("\nThe step waits for input {} of its time; without waiting it takes {}\n",
        PercentText(result.wait_ns / result.step_ns, 0), TimeText(result.step_ns - result.wait_ns));
}

}  // namespace

void PrintPrediction(std::string_view graph, std::string_view strategy, const Machine& machine,
                     const Schedule& schedule, const sims::Prediction& prediction, std::string_view origin) {
  const bool by_rates = origin == "uncalibrated";
  Print("{} placed by {} on {}: {}{} a step ({} to {}), simulated, {}{}\n", graph, strategy, machine.name,
        prediction.caveat.empty() ? "" : prediction.caveat + "; so taken, ", TimeText(prediction.step_ns),
        TimeText(prediction.low_ns), TimeText(prediction.high_ns), origin, by_rates ? " (a roofline)" : "");
  if (prediction.uncalibrated_share() > 0 && !by_rates) {
    Print("  {} of the commands' time is not calibrated\n", PercentText(prediction.uncalibrated_share(), 0));
  }
  if (const std::string wide = study::WideIntervalOf(prediction); !wide.empty()) Print("  {}\n", wide);
  TextTable devices;
  devices.Text("Device").Number("Busy").Number("Peak memory");
  for (const DeviceId d : ShownDevices(machine, prediction)) {
    devices.Row({machine.device(d).local_name(), PercentText(prediction.busy[d]),
                 FormatBytes(prediction.peak_bytes[d])});
  }
  TextTable copies;
  copies.Text("Copies in a step").Number("Count").Number("Bytes").Number("Time");
  for (int c = 0; c < kNumCopyClasses; ++c) {
    const sims::CopyTraffic& traffic = prediction.copies[static_cast<size_t>(c)];
    if (traffic.count == 0) continue;
    copies.Row({std::string(CopyClassName(static_cast<CopyClass>(c))), std::to_string(traffic.count),
                FormatBytes(traffic.bytes), TimeText(traffic.ns)});
  }
  PrintText("\n" + devices.Take(LineWidth()));
  if (!copies.empty()) PrintText("\n" + copies.Take(LineWidth()));
  if (prediction.input) PrintInput(prediction);
  const sims::CriticalPath& path = prediction.critical_path;
  Print("\nCritical path: {} of launches, {} of copies, {} of gaps; {} commands in the schedule\n",
        TimeText(path.launch_ns), TimeText(path.copy_ns), TimeText(path.overhead_ns),
        schedule.commands.size());
}

}  // namespace lanescope::cli
