// SPDX-License-Identifier: Apache-2.0
#include "traces/report/program_places.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/error.h"
#include "traces/read/activity_names.h"
#include "traces/read/ranges_around.h"

namespace lanescope::traces {
namespace {

constexpr std::string_view kModule = "nn.Module: ";

// "torch/nn/functional.py(2322): linear", of an installation too: ".../site-packages/torch/_ops.py(840): ..".
bool IsOfLauncher(std::string_view line) {
  return std::ranges::any_of(std::initializer_list<std::string_view>{"torch/", "triton/"}, [&](auto folder) {
    const size_t at = line.find(folder);
    return at != std::string_view::npos && (at == 0 || line[at - 1] == '/');
  });
}

}  // namespace

std::optional<std::string_view> ModuleIn(std::string_view range) {
  if (!range.starts_with(kModule)) return std::nullopt;
  return range.substr(kModule.size());
}

bool IsPythonFrame(std::string_view range) {
  return range.starts_with('<') || range.find("): ") != std::string_view::npos;
}

ProgramPlaces::ProgramPlaces(const TraceRun& run, ProgramPlace kind)
    : run_(run),
      kind_(kind),
      around_(kind == ProgramPlace::kRange ? std::vector<int>() : RangesAround(run)) {}

std::string ProgramPlaces::PlaceIn(int range) const {
  const std::string_view name = RangeName(run_.Text(run_.ranges[static_cast<size_t>(range)].text));
  switch (kind_) {
    case ProgramPlace::kRange:
      break;
    case ProgramPlace::kModule:
      return std::string(ModuleIn(name).value_or(""));
    case ProgramPlace::kLine:
      return IsPythonFrame(name) && !name.starts_with('<') && !IsOfLauncher(name) ? std::string(name) : "";
  }
  return name.empty() ? "(no text)" : std::string(name);
}

const std::string& ProgramPlaces::Of(int innermost) {
  const auto [entry, is_new] = known_.try_emplace(innermost);
  int range = is_new ? innermost : -1;
  for (int depth = 0; range >= 0 && depth < kDeepestRanges; ++depth) {
    entry->second = PlaceIn(range);
    if (!entry->second.empty() || around_.empty()) break;
    range = around_[static_cast<size_t>(range)];
  }
  return entry->second;
}

bool ProgramPlaces::any() const {
  for (size_t range = 0; range < run_.ranges.size(); ++range) {
    if (!PlaceIn(static_cast<int>(range)).empty()) return true;
  }
  return false;
}

void ThrowWithout(ProgramPlace place) {
  if (place == ProgramPlace::kRange)
    Throw(Code::kFailedPrecondition, "the trace has no NVTX ranges; leave --by nvtx out");
  Throw(
      Code::kFailedPrecondition,
      "the trace names no {}; PyTorch's profiler does with_stack=True, and the trace of a graph's capture by "
      "`import --capture`",
      place == ProgramPlace::kModule ? "modules" : "lines of Python");
}

void PutIntoPlaces(ProgramPlace place, TraceRun* run) {
  ProgramPlaces places(*run, place);
  if (!places.any()) ThrowWithout(place);
  std::map<std::string, int> ranges;  // by name
  std::vector<std::string> names;
  const auto first = static_cast<int>(run->ranges.size());
  const auto put = [&](auto* activities) {
    for (auto& activity : *activities) {
      if (activity.range < 0) continue;
      const std::string& name = places.Of(activity.range);
      if (name.empty()) {
        activity.range = -1;
        continue;
      }
      const auto [entry, is_new] = ranges.try_emplace(name, first + static_cast<int>(names.size()));
      if (is_new) names.push_back(name);
      activity.range = entry->second;
    }
  };
  put(&run->launches);
  put(&run->copies);
  put(&run->memsets);
  for (std::string& name : names) {
    TraceRange range;
    range.text = static_cast<int>(run->texts.size());
    run->texts.push_back(std::move(name));
    run->ranges.push_back(range);
  }
}

}  // namespace lanescope::traces
