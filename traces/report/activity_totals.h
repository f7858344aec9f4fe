// SPDX-License-Identifier: Apache-2.0
// The aggregates behind the summary: of a file in one pass over each activity table, or of a run in memory.
// Internal to traces.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/time/intervals.h"
#include "traces/read/trace_reader.h"
#include "traces/store/copy_class.h"
#include "traces/store/sqlite.h"

namespace lanescope::traces {

struct TimeTotals {
  int64_t total_ns = 0, calls = 0, min_ns = INT64_MAX, max_ns = 0;
  void Add(int64_t ns);
  void Merge(const TimeTotals& more);
};

// Totals by an id; ids below a limit are direct indexes, since those of a trace are small and dense.
class TotalsById {
 public:
  TimeTotals& operator[](int64_t id) {
    if (id < 0 || id >= kDense) return sparse_[id];
    if (static_cast<size_t>(id) >= dense_.size()) dense_.resize(static_cast<size_t>(id) + 1);
    return dense_[static_cast<size_t>(id)];
  }
  std::map<int64_t, TimeTotals> Used() const;

 private:
  static constexpr int64_t kDense = 1 << 16;
  std::vector<TimeTotals> dense_;
  std::unordered_map<int64_t, TimeTotals> sparse_;
};

struct RouteTotals {
  int64_t count = 0, bytes = 0, ns = 0;
  void Merge(const RouteTotals& more);
};

// When a device did what.
struct DeviceActivity {
  IntervalSet compute;        // launches that are not communication
  IntervalSet communication;  // launches that are
  IntervalSet memsets;
  struct Copies {
    IntervalSet busy;
    RouteTotals totals;
  };
  std::array<Copies, kNumCopyClasses> copies;  // by CopyClass; a copy between devices counts on both
  void Merge(DeviceActivity* more);
};

// A device computes in a launch, communicates, or does neither: by its name.
enum class LaunchUse : uint8_t { kCompute, kCommunication, kWaiting };
LaunchUse UseOf(std::string_view name);

struct ActivityTotals {
  struct Device : DeviceActivity {
    TotalsById launches;  // by name
  };
  std::map<int64_t, Device> devices;
  std::map<int64_t, TimeTotals> copies;  // by copy kind
  TimeTotals memsets;
  TotalsById api_calls;  // by name
  std::map<std::pair<int, int>, RouteTotals> routes;
  int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
  int64_t invalid_rows = 0;

  ActivityTotals() = default;
  ActivityTotals(ActivityTotals&&) = default;
  ActivityTotals(const ActivityTotals&) = delete;

  // These widen the span from first to last.
  void AddLaunch(int64_t device, int64_t name, LaunchUse use, int64_t start, int64_t end);
  void AddCopy(const CopyRoute& route, int64_t kind, int device, int64_t bytes, int64_t start, int64_t end);
  void AddMemset(int64_t device, int64_t start, int64_t end);
  // Takes what `more` counted.
  void Merge(ActivityTotals* more);

 private:
  void Widen(int64_t start, int64_t end);
  std::pair<int64_t, Device*> last_device_{0, nullptr};
  Device& DeviceOf(int64_t id);
};

// Options of reading the totals of a file.
struct TotalsSource {
  int run = 1;
  bool ours = true;
  std::vector<int> hosts = {-1};
  bool full_names = false;                      // launches are grouped by full names, else by short ones
  std::unordered_map<int64_t, LaunchUse> uses;  // by name; others compute
};
// Rows go straight into C++ tables; grouping in SQL takes several times as long.
ActivityTotals ComputeTotals(Database& database, const TotalsSource& source);

// The totals of a run in memory: of one step, or of everything for step -1. Names are numbers of its texts:
// full names or short ones. API calls count in the step in which they were made.
ActivityTotals ComputeTotals(const TraceRun& run, bool full_names, int step);

}  // namespace lanescope::traces
