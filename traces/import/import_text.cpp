// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>

#include "core/base/units.h"
#include "traces/import/import.h"

namespace lanescope::traces {
namespace {

// "1 record", "2 faults of the JSON".
std::string Counted(int64_t count, const std::string& what) {
  if (count == 1) return "1 " + what;
  const size_t word = std::min(what.find(' '), what.size());
  return fmt::format("{} {}s{}", count, what.substr(0, word), what.substr(word));
}

}  // namespace

std::string ImportText(const ImportCounts& counts) {
  std::string text =
      fmt::format("{} kernels, {} copies, {} memory sets, {} API calls, {} ranges", counts.kernels,
                  counts.copies, counts.memsets, counts.api_calls, counts.ranges);
  if (counts.synchronizations > 0) text += fmt::format(", {} synchronisations", counts.synchronizations);
  if (counts.device_ranges > 0) text += fmt::format(", {} annotations on GPUs", counts.device_ranges);
  if (counts.operators > 0) text += fmt::format(", {} operators with shapes or stacks", counts.operators);
  if (counts.collectives > 0) text += fmt::format(", {} collectives with their sizes", counts.collectives);
  if (counts.overheads > 0) text += fmt::format(", {} overheads of the profiler", counts.overheads);
  if (counts.memory > 0) text += fmt::format(", {} changes of memory", counts.memory);
  if (counts.clocks > 0)
    text += fmt::format(", the clock of {} file{} put right", counts.clocks, counts.clocks > 1 ? "s" : "");
  if (counts.laid_out > 0) text += ", times laid out";
  if (counts.spans > 1) text += fmt::format(", {} recorded spans", counts.spans);
  if (counts.mended > 0) text += fmt::format(", {} mended", Counted(counts.mended, "fault of the JSON"));
  if (counts.cut_short > 0) text += fmt::format(", {} cut short", Counted(counts.cut_short, "file"));
  std::string left_out;
  if (counts.skipped > 0) left_out = fmt::format("{} without a time or a name", counts.skipped);
  for (const auto& [category, count] : counts.left_out)
    left_out += fmt::format("{}{} {}", left_out.empty() ? "" : ", ", count, category);
  for (const std::string& file : counts.other_files)
    left_out += fmt::format("{}{}", left_out.empty() ? "" : ", ", file);
  return left_out.empty() ? text : text + "; left out: " + left_out;
}

std::vector<std::string> ImportNotes(const ImportCounts& counts) {
  std::vector<std::string> notes;
  if (counts.skipped > 0) {
    notes.push_back(fmt::format("{} without a usable time or a name {} left out",
                                Counted(counts.skipped, "record"), counts.skipped == 1 ? "is" : "are"));
  }
  if (counts.mended > 0) {
    notes.push_back(
        fmt::format("{} mended: a backslash or a control character in a text, a number that is none, "
                    "or a comma too many",
                    Counted(counts.mended, "fault of the JSON")));
  }
  if (counts.cut_short > 0) {
    notes.push_back(fmt::format("{} before the list of events does: what came after that is missing",
                                counts.cut_short == 1 ? "a file ends" : "files end"));
  }
  if (counts.spans > 1) {
    notes.push_back(fmt::format("{} recorded spans follow each other: the {} between them were not recorded",
                                counts.spans, TimeText(static_cast<double>(counts.unrecorded_ns))));
  }
  for (const std::string& file : counts.other_files) notes.push_back("left out: " + file);
  return notes;
}

}  // namespace lanescope::traces
