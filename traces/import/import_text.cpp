#include <fmt/core.h>

#include "traces/import/import.h"

namespace lanescope::traces {

std::string ImportText(const ImportCounts& counts) {
  std::string text =
      fmt::format("{} kernels, {} copies, {} memory sets, {} API calls, {} ranges", counts.kernels,
                  counts.copies, counts.memsets, counts.api_calls, counts.ranges);
  if (counts.synchronizations > 0) text += fmt::format(", {} synchronisations", counts.synchronizations);
  if (counts.device_ranges > 0) text += fmt::format(", {} annotations on GPUs", counts.device_ranges);
  if (counts.operators > 0) text += fmt::format(", {} operators with shapes or stacks", counts.operators);
  if (counts.collectives > 0) text += fmt::format(", {} collectives with their sizes", counts.collectives);
  if (counts.memory > 0) text += fmt::format(", {} changes of memory", counts.memory);
  if (counts.clocks > 0)
    text += fmt::format(", the clock of {} file{} put right", counts.clocks, counts.clocks > 1 ? "s" : "");
  std::string left_out;
  if (counts.skipped > 0) left_out = fmt::format("{} without a time or a name", counts.skipped);
  for (const auto& [category, count] : counts.left_out)
    left_out += fmt::format("{}{} {}", left_out.empty() ? "" : ", ", count, category);
  return left_out.empty() ? text : text + "; left out: " + left_out;
}

}  // namespace lanescope::traces
