// SPDX-License-Identifier: Apache-2.0
#include "traces/report/program_places.h"

#include <algorithm>

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

}  // namespace lanescope::traces
