#include "cli/report.h"

#include <fmt/core.h>

#include "cli/line_width.h"
#include "cli/print.h"
#include "core/base/text_table.h"
#include "core/base/units.h"

namespace lanescope::cli {

void PrintPrediction(std::string_view graph, std::string_view strategy, const Machine& machine,
                     const Schedule& schedule, const sims::Prediction& prediction, std::string_view origin) {
  const std::string caveat = CaveatOf(prediction, machine);
  Print("{} placed by {} on {}: {}{} a step ({} to {}), simulated, {}\n", graph, strategy, machine.name,
        caveat.empty() ? "" : caveat + "; so taken, ", TimeText(prediction.step_ns),
        TimeText(prediction.low_ns), TimeText(prediction.high_ns), origin);
  if (prediction.uncalibrated_share() > 0 && origin != "uncalibrated") {
    Print("  {} of the commands' time is not calibrated\n", PercentText(prediction.uncalibrated_share(), 0));
  }
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
  const sims::CriticalPath& path = prediction.critical_path;
  Print("\nCritical path: {} of launches, {} of copies, {} of gaps; {} commands in the schedule\n",
        TimeText(path.launch_ns), TimeText(path.copy_ns), TimeText(path.overhead_ns),
        schedule.commands.size());
}

}  // namespace lanescope::cli
