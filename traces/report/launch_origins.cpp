// SPDX-License-Identifier: Apache-2.0
#include "traces/report/launch_origins.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "traces/read/activity_names.h"
#include "traces/read/ranges_around.h"
#include "traces/read/trace_reader.h"
#include "traces/store/saturating.h"

namespace lanescope::traces {
namespace {

constexpr size_t kCallers = 6;

class OriginFinder {
 public:
  explicit OriginFinder(const TraceRun& run) : run_(run), around_(RangesAround(run)) {}

  std::map<std::string, LaunchOrigin> Find() {
    for (const TraceLaunch& launch : run_.launches) Add(Number(launch.name), launch);
    for (const TraceCopy& copy : run_.copies) Add(NumberOf(copy), copy);
    for (const TraceMemset& memset : run_.memsets) Add(Number(std::string(kMemsetName)), memset);
    std::map<std::string, LaunchOrigin> found;
    std::vector<int64_t> most(names_.size(), -1);
    for (const auto& [key, site] : sites_) {
      const auto name = static_cast<size_t>(std::get<0>(key));
      if (site.ns <= most[name]) continue;
      most[name] = site.ns;
      found.insert_or_assign(names_[name], OriginOf(site));
    }
    for (size_t name = 0; name < names_.size(); ++name) {
      if (const auto origin = found.find(names_[name]); origin != found.end())
        origin->second.all = all_[name];
    }
    return found;
  }

 private:
  struct Site {
    int64_t ns = 0, launches = 0, longest_ns = -1;
    int range = -1;  // of the longest: that says what it is
  };

  int Number(const std::string& name) {
    const auto [entry, is_new] = numbers_.try_emplace(name, static_cast<int>(names_.size()));
    if (is_new) {
      names_.push_back(name);
      all_.push_back(0);
    }
    return entry->second;
  }
  int Number(int text) {
    const auto [entry, is_new] = by_text_.try_emplace(text, 0);
    if (is_new) entry->second = Number(text < 0 ? "no name" : run_.Text(text));
    return entry->second;
  }
  int NumberOf(const TraceCopy& copy) {
    const auto [entry, is_new] = by_route_.try_emplace(std::tuple(copy.kind, copy.src, copy.dst), 0);
    if (is_new) {
      entry->second = Number(fmt::format("{} {} -> {}", NvprofCopyName(copy.kind), run_.DeviceLabel(copy.src),
                                         run_.DeviceLabel(copy.dst)));
    }
    return entry->second;
  }

  template <typename Activity>
  void Add(int name, const Activity& activity) {
    ++all_[static_cast<size_t>(name)];
    const int range = OperatorAround(activity.range);
    if (range < 0) return;
    const TraceRange& at = run_.ranges[static_cast<size_t>(range)];
    const TraceOperator said =
        at.details < 0 ? TraceOperator() : run_.operators[static_cast<size_t>(at.details)];
    Site& site = sites_[{name, at.text, said.shapes, said.types, said.stack}];
    const int64_t length = activity.end_ns - activity.start_ns;
    site.ns = AddSaturating(site.ns, length);
    ++site.launches;
    if (length <= site.longest_ns) return;
    site.longest_ns = length;
    site.range = range;
  }

  int OperatorAround(int innermost) const {
    int depth = 0;
    for (int range = innermost; range >= 0 && depth < kDeepestRanges; ++depth) {
      if (run_.ranges[static_cast<size_t>(range)].details >= 0) return range;
      range = around_[static_cast<size_t>(range)];
    }
    return innermost;
  }

  LaunchOrigin OriginOf(const Site& site) const {
    const TraceRange& range = run_.ranges[static_cast<size_t>(site.range)];
    LaunchOrigin origin;
    origin.op = RangeName(run_.Text(range.text));
    origin.launches = site.launches;
    if (range.details >= 0) {
      const TraceOperator& said = run_.operators[static_cast<size_t>(range.details)];
      origin.shapes = run_.Text(said.shapes);
      origin.types = run_.Text(said.types);
      std::string_view stack = run_.Text(said.stack);
      while (!stack.empty() && origin.callers.size() < kCallers) {
        const size_t end = std::min(stack.find_first_of(";\n"), stack.size());
        if (end > 0) origin.callers.emplace_back(stack.substr(0, end));
        stack.remove_prefix(std::min(end + 1, stack.size()));
      }
    }
    // Without a call stack the ranges around it are one.
    if (!origin.callers.empty()) return origin;
    for (int outer = around_[static_cast<size_t>(site.range)]; outer >= 0 && origin.callers.size() < kCallers;
         outer = around_[static_cast<size_t>(outer)])
      origin.callers.emplace_back(RangeName(run_.Text(run_.ranges[static_cast<size_t>(outer)].text)));
    return origin;
  }

  const TraceRun& run_;
  const std::vector<int> around_;
  std::vector<std::string> names_;
  std::vector<int64_t> all_;  // launches by name
  std::unordered_map<std::string, int> numbers_;
  std::unordered_map<int, int> by_text_;
  std::map<std::tuple<int, int, int>, int> by_route_;
  std::map<std::tuple<int, int, int, int, int>, Site> sites_;  // by name, and texts of the range
};

// "[["float","half"]]" without what JSON needs and people do not.
std::string TypesText(std::string_view json) {
  std::string text;
  for (const char c : json) {
    if (c == '"' || c == '[' || c == ']') continue;
    text += c;
    if (c == ',') text += ' ';
  }
  return text;
}

}  // namespace

LaunchOrigins::LaunchOrigins(const TraceRun& run) : origins_(OriginFinder(run).Find()) {}

const LaunchOrigin* LaunchOrigins::Find(const std::string& name) const {
  const auto found = origins_.find(name);
  return found == origins_.end() ? nullptr : &found->second;
}

std::string OriginText(const LaunchOrigin& origin) {
  std::string text = origin.op;
  if (!origin.shapes.empty()) text += " of " + origin.shapes;
  if (const std::string types = TypesText(origin.types); !types.empty()) text += " (" + types + ")";
  if (origin.launches < origin.all) text += fmt::format(", {} of {} launches", origin.launches, origin.all);
  return text;
}

std::string CallersText(const LaunchOrigin& origin) {
  std::string text;
  for (const std::string& caller : origin.callers) text += (text.empty() ? "" : " < ") + caller;
  return text;
}

}  // namespace lanescope::traces
