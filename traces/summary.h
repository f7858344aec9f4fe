// What one run spent its time on, in the manner of nvprof's summary, and one sentence about it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lanescope {

struct SummaryRow {
  std::string name;
  std::string type;         // "kernel", "memcpy", "memset", "api"
  double time_percent = 0;  // of its table's total
  int64_t total_ns = 0, calls = 0, avg_ns = 0, min_ns = 0, max_ns = 0;
};

struct TrafficRow {
  std::string src, dst;  // "GPU:0", "host"
  int64_t count = 0, bytes = 0, ns = 0;
};

// Of the time from the first to the last activity of the run: compute_ns + exposed_ns + idle_ns.
struct Communication {
  int64_t compute_ns = 0;     // at least one launch runs, on any device
  int64_t overlapped_ns = 0;  // copies run beside a launch
  int64_t exposed_ns = 0;     // copies run and no launch does
  int64_t idle_ns = 0;        // neither runs
};

struct Summary {
  int run = 0;
  // Sorted by total time, largest first.
  std::vector<SummaryRow> gpu_activities;
  std::vector<SummaryRow> host_activities;  // launches on devices that are no GPU
  std::vector<SummaryRow> api_calls;
  std::vector<TrafficRow> traffic;
  Communication communication;
  int64_t dropped = 0;       // records lost while recording
  int64_t invalid_rows = 0;  // activities that end before they start: left out
  std::string verdict;
};

// One pass over each activity table, without loading it. Throws as TraceReader does.
Summary Summarize(const std::string& path, int run);

std::string SummaryText(const Summary& summary);
std::string SummaryJson(const Summary& summary);

// nvprof's number style: 6 significant digits for seconds, 5 for ms and us, whole ns; the unit such that the
// number is at least 1 and below 1000. "13.0696s", "890.73ms", "4.3190us", "441ns", "0ns".
std::string FormatNvprofTime(double ns);

}  // namespace lanescope
