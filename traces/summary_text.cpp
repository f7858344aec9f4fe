#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"
#include "core/machine.h"
#include "traces/summary.h"

namespace lanescope {
namespace {

constexpr std::string_view kHeader =
    "            Type  Time(%)      Time     Calls       Avg       Min       Max  Name\n";

// "137.90": `digits` significant digits in fixed point of a value that rounds to 1 at least.
std::string Significant(double value, int digits) {
  value = std::max(value, 1.0);
  const int before = value < 10     ? 1
                     : value < 100  ? 2
                     : value < 1000 ? 3
                                    : static_cast<int>(std::log10(value)) + 1;
  return fmt::format("{:.{}f}", value, std::max(digits - before, 0));
}

void AppendBlock(std::string_view title, const std::vector<SummaryRow>& rows, std::string* out) {
  for (size_t i = 0; i < rows.size(); ++i) {
    const SummaryRow& row = rows[i];
    const double average =
        row.calls == 0 ? 0 : static_cast<double>(row.total_ns) / static_cast<double>(row.calls);
    *out += fmt::format("{:>16}  {:>6.2f}%  {:>8}  {:>8}  {:>8}  {:>8}  {:>8}  {}\n", i == 0 ? title : "",
                        row.time_percent, FormatNvprofTime(static_cast<double>(row.total_ns)), row.calls,
                        FormatNvprofTime(average), FormatNvprofTime(static_cast<double>(row.min_ns)),
                        FormatNvprofTime(static_cast<double>(row.max_ns)), row.name);
  }
}

void AppendTraffic(const std::vector<TrafficRow>& traffic, std::string* out) {
  if (traffic.empty()) return;
  std::set<std::string> ends;
  std::map<std::pair<std::string, std::string>, const TrafficRow*> cells;
  for (const TrafficRow& row : traffic) {
    ends.insert(row.src);
    ends.insert(row.dst);
    cells[{row.src, row.dst}] = &row;
  }
  *out += "\nTraffic, bytes (copies), from row to column\n";
  *out += fmt::format("{:>10}", "");
  for (const std::string& dst : ends) *out += fmt::format("  {:>22}", dst);
  *out += '\n';
  for (const std::string& src : ends) {
    *out += fmt::format("{:>10}", src);
    for (const std::string& dst : ends) {
      const auto cell = cells.find({src, dst});
      *out += fmt::format(
          "  {:>22}", cell == cells.end()
                          ? std::string("-")
                          : fmt::format("{} ({})", FormatBytes(cell->second->bytes), cell->second->count));
    }
    *out += '\n';
  }
}

nlohmann::ordered_json RowsJson(const std::vector<SummaryRow>& rows) {
  auto list = nlohmann::ordered_json::array();
  for (const SummaryRow& row : rows) {
    list.push_back({{"name", row.name},
                    {"type", row.type},
                    {"time_percent", row.time_percent},
                    {"total_ns", row.total_ns},
                    {"calls", row.calls},
                    {"avg_ns", row.avg_ns},
                    {"min_ns", row.min_ns},
                    {"max_ns", row.max_ns}});
  }
  return list;
}

}  // namespace

std::string FormatNvprofTime(double ns) {
  // A value that would round to 1000 of a unit is 1 of the next.
  if (ns < 999.5) return fmt::format("{:.0f}ns", ns);
  if (ns < 999.995e3) return Significant(ns / 1e3, 5) + "us";
  if (ns < 999.995e6) return Significant(ns / 1e6, 5) + "ms";
  return Significant(ns / 1e9, 6) + "s";
}

std::string SummaryText(const Summary& summary) {
  std::string out;
  const bool empty =
      summary.gpu_activities.empty() && summary.host_activities.empty() && summary.api_calls.empty();
  if (empty) return summary.verdict + "\n";
  out += kHeader;
  AppendBlock("GPU activities:", summary.gpu_activities, &out);
  AppendBlock("Host activities:", summary.host_activities, &out);
  AppendBlock("API calls:", summary.api_calls, &out);
  AppendTraffic(summary.traffic, &out);
  const Communication& c = summary.communication;
  out += fmt::format("\nCompute {}, copies hidden {}, copies exposed {}, idle {}\n",
                     FormatNvprofTime(static_cast<double>(c.compute_ns)),
                     FormatNvprofTime(static_cast<double>(c.overlapped_ns)),
                     FormatNvprofTime(static_cast<double>(c.exposed_ns)),
                     FormatNvprofTime(static_cast<double>(c.idle_ns)));
  if (summary.dropped > 0) out += fmt::format("{} records were lost while recording\n", summary.dropped);
  if (summary.invalid_rows > 0) {
    out += fmt::format("{} activities end before they start and were left out\n", summary.invalid_rows);
  }
  return out + summary.verdict + "\n";
}

std::string SummaryJson(const Summary& summary) {
  auto traffic = nlohmann::ordered_json::array();
  for (const TrafficRow& row : summary.traffic) {
    traffic.push_back(
        {{"src", row.src}, {"dst", row.dst}, {"count", row.count}, {"bytes", row.bytes}, {"ns", row.ns}});
  }
  const Communication& c = summary.communication;
  const nlohmann::ordered_json json = {{"run", summary.run},
                                       {"gpu_activities", RowsJson(summary.gpu_activities)},
                                       {"host_activities", RowsJson(summary.host_activities)},
                                       {"api_calls", RowsJson(summary.api_calls)},
                                       {"traffic", traffic},
                                       {"communication",
                                        {{"compute_ns", c.compute_ns},
                                         {"overlapped_ns", c.overlapped_ns},
                                         {"exposed_ns", c.exposed_ns},
                                         {"idle_ns", c.idle_ns}}},
                                       {"dropped", summary.dropped},
                                       {"invalid_rows", summary.invalid_rows},
                                       {"verdict", summary.verdict}};
  // Names come from files: what is no UTF-8 is replaced.
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace lanescope
