// SPDX-License-Identifier: Apache-2.0
#include "traces/report/operation_sums.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <unordered_map>

#include "core/base/error.h"
#include "core/base/statistics.h"
#include "traces/read/activity_names.h"
#include "traces/report/program_places.h"
#include "traces/store/api_call_name.h"
#include "traces/store/saturating.h"

namespace lanescope::traces {
namespace {

using ValuesByName = std::map<std::string, std::vector<int64_t>>;

std::vector<OperationSum> Rank(ValuesByName values) {
  std::vector<OperationSum> sums;
  for (auto& [name, list] : values) sums.push_back(SumOf(name, std::move(list)));
  std::stable_sort(sums.begin(), sums.end(),
                   [](const OperationSum& a, const OperationSum& b) { return a.total > b.total; });
  double total = 0;
  for (const OperationSum& sum : sums) total += static_cast<double>(sum.total);
  for (OperationSum& sum : sums) {
    sum.percent = total == 0 ? 0 : 100 * static_cast<double>(sum.total) / total;
  }
  return sums;
}

// Whether a moment lies in the step; -1: always.
bool InStep(const TraceRun& run, int step, int64_t time) {
  return step < 0 || std::ranges::any_of(run.steps, [&](const TraceStep& each) {
           return each.step == step && each.start_ns <= time && time < each.end_ns;
         });
}

}  // namespace

OperationSum SumOf(std::string name, std::vector<int64_t> values) {
  OperationSum sum;
  sum.name = std::move(name);
  if (values.empty()) return sum;
  std::sort(values.begin(), values.end());
  sum.count = static_cast<int64_t>(values.size());
  for (const int64_t value : values) sum.total = AddSaturating(sum.total, value);
  sum.min = values.front();
  sum.max = values.back();
  sum.median = Median(std::vector<double>(values.begin(), values.end()));
  sum.average = static_cast<double>(sum.total) / static_cast<double>(sum.count);
  if (sum.count > 1) {
    double squares = 0;
    for (const int64_t value : values) {
      const double distance = static_cast<double>(value) - sum.average;
      squares += distance * distance;
    }
    sum.stddev = std::sqrt(squares / static_cast<double>(sum.count - 1));
  }
  return sum;
}

std::vector<OperationSum> SumsOfRanges(const TraceRun& run, int step) {
  constexpr std::string_view kPushPop = "PushPop", kStartEnd = "StartEnd";
  ValuesByName values;  // the style stands before the text
  for (const TraceRange& range : run.ranges) {
    if (range.open || !InStep(run, step, range.start_ns)) continue;
    values[fmt::format("{} {}", range.process_wide ? kStartEnd : kPushPop, run.Text(range.text))].push_back(
        range.end_ns - range.start_ns);
  }
  std::vector<OperationSum> sums = Rank(std::move(values));
  for (OperationSum& sum : sums) {
    const size_t blank = sum.name.find(' ');
    sum.style = sum.name.substr(0, blank);
    sum.name = sum.name.substr(blank + 1);
  }
  return sums;
}

void FillOperationSums(const TraceRun& run, bool full_names, int step, Summary* summary) {
  const auto wanted = [step](const auto& activity) { return step < 0 || activity.step == step; };
  std::vector<std::vector<int64_t>> kernels(run.texts.size() + 1);  // the last: without a name
  ValuesByName times, sizes, calls;
  for (const TraceLaunch& launch : run.launches) {
    const TraceDevice* device = run.FindDevice(launch.device);
    if (!wanted(launch) || (device != nullptr && device->is_host)) continue;
    const int name = full_names ? launch.name : launch.op;
    kernels[name < 0 ? run.texts.size() : static_cast<size_t>(name)].push_back(launch.end_ns -
                                                                               launch.start_ns);
  }
  for (const TraceCopy& copy : run.copies) {
    if (!wanted(copy)) continue;
    const std::string name = NsysCopyName(copy.kind);
    times[name].push_back(copy.end_ns - copy.start_ns);
    sizes[name].push_back(copy.bytes);
  }
  for (const TraceMemset& memset : run.memsets) {
    if (!wanted(memset)) continue;
    times[std::string(kMemsetName)].push_back(memset.end_ns - memset.start_ns);
    sizes[std::string(kMemsetName)].push_back(memset.bytes);
  }
  ValuesByName by_name;
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (!kernels[i].empty())
      by_name[i == run.texts.size() ? "no name" : run.texts[i]] = std::move(kernels[i]);
  }
  summary->kernel_sums = Rank(std::move(by_name));
  summary->memory_time_sums = Rank(std::move(times));
  summary->memory_size_sums = Rank(std::move(sizes));
  for (const TraceApiCall& call : run.api_calls) {
    if (wanted(call))
      calls[std::string(ApiCallName(run.Text(call.name)))].push_back(call.end_ns - call.start_ns);
  }
  summary->api_sums = Rank(std::move(calls));
  summary->nvtx_sums = SumsOfRanges(run, step);
}

std::string OutsideOf(ProgramPlace place) {
  return place == ProgramPlace::kRange    ? "(outside all ranges)"
         : place == ProgramPlace::kModule ? "(outside all modules)"
                                          : "(no line is recorded)";
}

std::vector<RangeRow> RowsByPlace(const TraceRun& run, ProgramPlace place, bool full_names, int step) {
  ProgramPlaces places(run, place);
  if (!places.any()) ThrowWithout(place);
  const auto wanted = [step](const auto& activity) { return step < 0 || activity.step == step; };
  std::map<std::string, RangeRow> rows;
  std::map<std::pair<RangeRow*, int>, int64_t> kernel_times;
  std::unordered_map<int, RangeRow*> row_of_range;
  const auto row_of = [&](const auto& activity) {
    if (activity.range < 0) {
      return &rows[activity.api >= 0 || run.api_calls.empty() ? OutsideOf(place)
                                                              : "(launched before the trace began)"];
    }
    RangeRow*& row = row_of_range[activity.range];
    if (row == nullptr) {
      const std::string& name = places.Of(activity.range);
      row = &rows[name.empty() ? OutsideOf(place) : name];
    }
    return row;
  };
  for (const TraceLaunch& launch : run.launches) {
    if (!wanted(launch)) continue;
    RangeRow* row = row_of(launch);
    ++row->kernels;
    row->kernel_ns = AddSaturating(row->kernel_ns, launch.end_ns - launch.start_ns);
    int64_t& of_kernel = kernel_times[{row, full_names ? launch.name : launch.op}];
    of_kernel = AddSaturating(of_kernel, launch.end_ns - launch.start_ns);
  }
  for (const TraceCopy& copy : run.copies) {
    if (!wanted(copy)) continue;
    RangeRow* row = row_of(copy);
    ++row->copies;
    row->copy_ns = AddSaturating(row->copy_ns, copy.end_ns - copy.start_ns);
    row->copy_bytes = AddSaturating(row->copy_bytes, copy.bytes);
  }
  std::map<RangeRow*, int64_t> longest;
  for (const auto& [key, ns] : kernel_times) {
    const auto [entry, is_new] = longest.try_emplace(key.first, ns);
    if (!is_new && ns <= entry->second) continue;
    entry->second = ns;
    key.first->top_kernel = run.Text(key.second);
  }
  std::vector<RangeRow> result;
  for (auto& [name, row] : rows) {
    row.name = name;
    result.push_back(std::move(row));
  }
  std::stable_sort(result.begin(), result.end(), [](const RangeRow& a, const RangeRow& b) {
    return AddSaturating(a.kernel_ns, a.copy_ns) > AddSaturating(b.kernel_ns, b.copy_ns);
  });
  return result;
}

}  // namespace lanescope::traces
