// The one-pass aggregates behind the summary: SQL functions that feed rows straight into C++ tables. Grouping
// in SQL takes several times as long. Private to traces/.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "traces/activity_reader.h"
#include "traces/intervals.h"
#include "traces/sqlite.h"

namespace lanescope {

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
};

struct ActivityTotals {
  struct Device {
    TotalsById launches;  // by name
    IntervalSet busy;
  };
  std::map<int64_t, Device> devices;
  std::map<int64_t, TimeTotals> copies;  // by copy kind
  TimeTotals memsets;
  TotalsById api_calls;  // by name
  std::map<std::pair<int, int>, RouteTotals> routes;
  IntervalSet copying;
  int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
  int64_t invalid_rows = 0;
};

// `name_column` of the kernel table is what launches are grouped by.
ActivityTotals ComputeTotals(Database& database, const ProcessFilter& processes, int host_device,
                             const char* name_column);

}  // namespace lanescope
