// SPDX-License-Identifier: Apache-2.0
#include "traces/report/lost_launches.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "traces/read/activity_origins.h"
#include "traces/store/capture_times.h"
#include "traces/store/nsys_tables.h"
#include "traces/store/string_table.h"
#include "traces/store/table_reader.h"

namespace lanescope::traces {
namespace {

bool Launches(const std::string& call) {
  return call.find("Launch") != std::string::npos && call.find("HostFunc") == std::string::npos;
}
bool Captures(const std::string& call) { return call.find("Capture") != std::string::npos; }

struct Launch {
  int64_t correlation = 0, process = 0, start_ns = 0;
  bool ran = false;
};

class LaunchFinder {
 public:
  LaunchFinder(TraceReader& reader, int run)
      : database_(reader.database()), filter_({{run}}, !reader.is_ours()) {}

  LostLaunches Find() {
    ReadCalls();
    if (launches_.empty()) return {};
    std::ranges::sort(launches_, {},
                      [](const Launch& launch) { return std::pair(launch.correlation, launch.process); });
    Mark(tables::kKernel);
    Mark(tables::kGraphTrace);
    Mark(tables::kMemcpy);
    Mark(tables::kMemset);
    LostLaunches found;
    for (const Launch& launch : launches_) {
      if (!launch.ran && captures_[launch.process].Hold(launch.start_ns)) continue;
      ++found.launches;
      if (!launch.ran) ++found.lost;
    }
    found.lost = std::max<int64_t>(0, found.lost - without_call_);
    return found;
  }

 private:
  void ReadCalls() {
    std::unordered_map<int64_t, std::string> wanted;
    for (auto& [id, text] : ReadTexts(database_)) {
      if (Launches(text) || Captures(text)) wanted.emplace(id, std::move(text));
    }
    constexpr const auto& from = tables::kApiCall;
    ReadRows(database_, from,
             {from.start, from.end, from.global_tid, from.correlation, from.name, from.result},
             [&](const auto& row) {
               const auto name = wanted.find(row[from.name].value_or(-1));
               if (name == wanted.end() || row[from.result].value_or(0) != 0) return;
               const int64_t thread = row[from.global_tid].value_or(0);
               const std::optional<int64_t> start = row[from.start], end = row[from.end];
               if (filter_.Of(thread) < 0 || !start || !end) return;
               const int64_t process = GlobalPidOf(thread), correlation = row[from.correlation].value_or(0);
               captures_[process].AddCall(name->second, *start, *end);
               if (Launches(name->second) && correlation > 0)
                 launches_.push_back({correlation, process, *start});
             });
  }

  // Every launch of what the rows of a table ran.
  template <typename T>
  void Mark(const T& from) {
    ReadRows(database_, from, {from.correlation, from.global_pid}, [&](const auto& row) {
      const int64_t correlation = row[from.correlation].value_or(0),
                    process = row[from.global_pid].value_or(0);
      if (filter_.Of(process) < 0) return;
      if (correlation <= 0) {
        ++without_call_;
        return;
      }
      auto launch = std::ranges::lower_bound(launches_, correlation, {}, &Launch::correlation);
      for (; launch != launches_.end() && launch->correlation == correlation; ++launch)
        launch->ran = launch->ran || process == 0 || launch->process == process;
    });
  }

  Database& database_;
  const RunFilter filter_;
  std::vector<Launch> launches_;
  std::map<int64_t, CaptureTimes> captures_;  // by process
  int64_t without_call_ = 0;
};

}  // namespace

LostLaunches FindLostLaunches(TraceReader& reader, int run) { return LaunchFinder(reader, run).Find(); }

}  // namespace lanescope::traces
