// SPDX-License-Identifier: Apache-2.0
// The totals of a file, one pass over each of its activity tables.
#include "traces/read/activity_cursor.h"
#include "traces/read/nvtx_reader.h"
#include "traces/report/activity_totals.h"
#include "traces/store/nsys_tables.h"

namespace lanescope::traces {
namespace {

// Adds to the totals of the worker that reads.
class WorkerTotals : public ActivityVisitor {
 public:
  WorkerTotals(const TotalsSource& source, int workers)
      : source_(source), totals_(static_cast<size_t>(workers)) {}

  void Begin(int) override {}
  void Launch(Stretch at, const ActivityRow& row, const LaunchNames& names) override {
    const int64_t name = source_.full_names ? names.full : names.brief;
    const auto use = source_.uses.find(name);
    Of(at).AddLaunch(row.device, name, use == source_.uses.end() ? LaunchUse::kCompute : use->second,
                     row.start_ns, row.end_ns);
  }
  void Copy(Stretch at, const ActivityRow& row, const CopiedBytes& copied) override {
    Of(at).AddCopy(copied.route, copied.kind, row.device, copied.bytes, row.start_ns, row.end_ns);
  }
  void Memset(Stretch at, const ActivityRow& row, int64_t) override {
    Of(at).AddMemset(row.device, row.start_ns, row.end_ns);
  }
  void Invalid(Stretch at, int) override { ++Of(at).invalid_rows; }

  ActivityTotals Take() {
    for (size_t i = 1; i < totals_.size(); ++i) totals_.front().Merge(&totals_[i]);
    return std::move(totals_.front());
  }

 private:
  ActivityTotals& Of(Stretch at) { return totals_[static_cast<size_t>(at.worker)]; }

  const TotalsSource& source_;
  std::vector<ActivityTotals> totals_;
};

void AddApiCalls(Database& database, const RunFilter& filter, ActivityTotals* totals) {
  constexpr const auto& from = tables::kApiCall;
  ReadRows(database, from, {from.start, from.end, from.global_tid, from.name}, [&](const auto& row) {
    if (filter.Of(row[from.global_tid].value_or(0)) < 0) return;
    const std::optional<int64_t> start = row[from.start], end = row[from.end];
    if (start && end && *start <= *end) {
      totals->api_calls[row[from.name].value_or(-1)].Add(*end - *start);
    } else {
      ++totals->invalid_rows;
    }
  });
}

}  // namespace

ActivityTotals ComputeTotals(Database& database, const TotalsSource& source) {
  // Large tables on two threads.
  ParallelReader reader(database, 2);
  const std::vector<WantedRun> runs{{source.run, source.hosts}};
  const RunFilter filter(runs, !source.ours);
  ActivityCursor::Columns columns;
  columns.processes = columns.streams = columns.correlations = false;
  const Origins none;
  ActivityCursor cursor(&reader, runs, filter, source.ours, none, columns);
  WorkerTotals visitor(source, reader.threads());
  cursor.ReadKernels(&visitor);
  cursor.ReadGraphs(&visitor);
  cursor.ReadCopies(&visitor);
  cursor.ReadMemsets(&visitor);
  ActivityTotals totals = visitor.Take();
  AddApiCalls(database, filter, &totals);
  return totals;
}

}  // namespace lanescope::traces
