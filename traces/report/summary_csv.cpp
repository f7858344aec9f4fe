// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>

#include "core/base/csv.h"
#include "core/base/printable.h"
#include "traces/report/summary.h"

namespace lanescope::traces {
namespace {

std::string Integer(int64_t value) { return std::to_string(value); }
std::string Real(double value) { return fmt::format("{}", value); }

class SummaryLines {
 public:
  SummaryLines(const Summary& summary, int top)
      : run_(Integer(summary.run)), top_(top > 0 ? static_cast<size_t>(top) : SIZE_MAX) {}

  void Heading(std::vector<std::string> columns) {
    columns.insert(columns.begin(), "run");
    lines_ += CsvLine(columns);
  }
  template <typename Row, typename Cells>
  void Add(const std::vector<Row>& rows, Cells cells_of) {
    for (size_t i = 0; i < std::min(rows.size(), top_); ++i) {
      std::vector<std::string> cells = cells_of(rows[i]);
      cells.insert(cells.begin(), run_);
      lines_ += CsvLine(cells);
    }
  }
  std::string Take() { return std::move(lines_); }

 private:
  const std::string run_;
  const size_t top_;
  std::string lines_;
};

void AddRanges(const Summary& summary, bool heading, SummaryLines* lines) {
  if (heading)
    lines->Heading({"range", "kernels", "kernel_ns", "copies", "copy_ns", "copy_bytes", "top_kernel"});
  lines->Add(summary.ranges, [](const RangeRow& row) -> std::vector<std::string> {
    return {Printable(row.name),  Integer(row.kernels),    Integer(row.kernel_ns),   Integer(row.copies),
            Integer(row.copy_ns), Integer(row.copy_bytes), Printable(row.top_kernel)};
  });
}

void AddSums(const Summary& summary, bool heading, SummaryLines* lines) {
  if (heading) {
    lines->Heading(
        {"table", "name", "style", "percent", "total", "count", "avg", "med", "min", "max", "stddev"});
  }
  const std::pair<const char*, const std::vector<OperationSum>*> tables[] = {
      {"kernel", &summary.kernel_sums},
      {"memory_time", &summary.memory_time_sums},
      {"memory_size", &summary.memory_size_sums},
      {"api", &summary.api_sums},
      {"nvtx", &summary.nvtx_sums}};
  for (const auto& [table, sums] : tables) {
    lines->Add(*sums, [table = table](const OperationSum& sum) -> std::vector<std::string> {
      return {table,
              Printable(sum.name),
              sum.style,
              Real(sum.percent),
              Integer(sum.total),
              Integer(sum.count),
              Real(sum.average),
              Real(sum.median),
              Integer(sum.min),
              Integer(sum.max),
              Real(sum.stddev)};
    });
  }
}

void AddActivities(const Summary& summary, bool heading, SummaryLines* lines) {
  if (heading) {
    lines->Heading(
        {"table", "type", "name", "time_percent", "total_ns", "calls", "avg_ns", "min_ns", "max_ns"});
  }
  const std::pair<const char*, const std::vector<SummaryRow>*> tables[] = {
      {"gpu", &summary.gpu_activities}, {"host", &summary.host_activities}, {"api", &summary.api_calls}};
  for (const auto& [table, rows] : tables) {
    lines->Add(*rows, [table = table](const SummaryRow& row) -> std::vector<std::string> {
      return {table,
              row.type,
              Printable(row.name),
              Real(row.time_percent),
              Integer(row.total_ns),
              Integer(row.calls),
              Integer(row.avg_ns),
              Integer(row.min_ns),
              Integer(row.max_ns)};
    });
  }
}

}  // namespace

std::string SummaryCsv(const Summary& summary, const SummaryLayout& layout, bool heading) {
  SummaryLines lines(summary, layout.top);
  if (!summary.ranges.empty()) {
    AddRanges(summary, heading, &lines);
  } else if (layout.nsys || (summary.gpu_activities.empty() && !summary.nvtx_sums.empty())) {
    AddSums(summary, heading, &lines);
  } else {
    AddActivities(summary, heading, &lines);
  }
  return lines.Take();
}

}  // namespace lanescope::traces
