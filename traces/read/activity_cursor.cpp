// SPDX-License-Identifier: Apache-2.0
#include "traces/read/activity_cursor.h"

#include <algorithm>

#include "traces/read/activity_names.h"
#include "traces/store/nsys_tables.h"

namespace lanescope::traces {
namespace {

template <typename T>
concept HasGraphNodes = requires(const T& table) {
  table.graph_node;
};

template <typename T>
std::optional<int64_t> GraphNodeOf(const RowOf<T>& row, const T& from) {
  if constexpr (HasGraphNodes<T>) return row[from.graph_node];
  return std::nullopt;
}

}  // namespace

ActivityCursor::ActivityCursor(ParallelReader* reader, std::vector<WantedRun> runs, const RunFilter& filter,
                               bool ours, const Origins& origins, const Columns& columns)
    : reader_(reader),
      runs_(std::move(runs)),
      filter_(filter),
      origins_(origins),
      columns_(columns),
      ours_(ours),
      devices_(static_cast<size_t>(reader->threads()),
               ours ? DeviceNumbers() : DeviceNumbers(reader->database())) {}

// Reads what all tables have, and hands the row on with it.
template <typename T, typename Visit>
void ActivityCursor::Read(const T& from, std::vector<Wanted<std::type_identity_t<T>>> wanted,
                          ActivityVisitor* visitor, const ReadWatch& watch, Visit visit) {
  // A column that is not wanted would read as NULL; not to look is faster.
  const bool processes = columns_.processes || !filter_.only() || !devices_.front().empty();
  const bool correlations = columns_.correlations || origins_.size() > 0;
  wanted.insert(wanted.end(), {from.start,
                               from.end,
                               from.device,
                               {from.global_pid, processes},
                               {from.stream, columns_.streams},
                               {from.correlation, correlations}});
  if constexpr (HasGraphNodes<T>) wanted.emplace_back(from.graph_node, origins_.has_graph_nodes());
  reader_->Read(
      from, wanted, watch, [&](int parts) { visitor->Begin(parts); },
      [&](Stretch at, const RowOf<T>& row) {
        ActivityRow activity;
        if (processes) activity.global_pid = row[from.global_pid].value_or(0);
        activity.run = filter_.Of(activity.global_pid);
        if (activity.run < 0) return;
        const std::optional<int64_t> start = row[from.start], end = row[from.end];
        // In CUPTI's records start and end of 0 say that no time could be taken.
        const bool timeless = !ours_ && start == 0 && end == 0;
        if (!start || !end || *end < *start || timeless) return visitor->Invalid(at, activity.run);
        activity.start_ns = *start;
        activity.end_ns = *end;
        activity.device = devices_[static_cast<size_t>(at.worker)].Of(activity.global_pid, row[from.device]);
        if (columns_.streams) activity.stream = row[from.stream];
        if (correlations) {
          const std::optional<int64_t> correlation = row[from.correlation];
          activity.correlation = correlation.value_or(-1);
          activity.origin = origins_.Find(correlation, GraphNodeOf(row, from));
        }
        visit(at, row, activity);
      });
}

void ActivityCursor::ReadKernels(ActivityVisitor* visitor, const ReadWatch& watch) {
  constexpr const auto& from = tables::kKernel;
  const bool names = columns_.names;
  Read(from, {{from.full_name, names}, {from.short_name, names}, {from.mangled_name, names}}, visitor, watch,
       [&](Stretch at, const auto& row, const ActivityRow& activity) {
         if (!names) return visitor->Launch(at, activity, {});
         const auto name = [&](const auto& column) {
           return std::max<int64_t>(-1, row[column].value_or(-1));
         };
         const int64_t full = name(from.full_name), brief = name(from.short_name);
         LaunchNames found{full >= 0 ? full : brief, brief >= 0 ? brief : full};
         if (found.full < 0) found.full = found.brief = name(from.mangled_name);
         visitor->Launch(at, activity, found);
       });
}

// Launches of whole graphs, whose kernels have no rows of their own.
void ActivityCursor::ReadGraphs(ActivityVisitor* visitor, const ReadWatch& watch) {
  constexpr const auto& from = tables::kGraphTrace;
  Read(from, {from.graph}, visitor, watch, [&](Stretch at, const auto& row, const ActivityRow& activity) {
    const int64_t name = GraphNameId(row[from.graph].value_or(0));
    visitor->Launch(at, activity, {name, name});
  });
}

void ActivityCursor::ReadCopies(ActivityVisitor* visitor, const ReadWatch& watch) {
  constexpr const auto& from = tables::kMemcpy;
  Read(from,
       {from.bytes,
        from.copy_kind,
        {from.src_kind, columns_.memory_kinds},
        {from.dst_kind, columns_.memory_kinds},
        from.src_device,
        from.dst_device},
       visitor, watch, [&](Stretch at, const auto& row, const ActivityRow& activity) {
         const auto end_device = [&](const auto& column) -> std::optional<int> {
           if (row.IsNull(column)) return std::nullopt;
           return devices_[static_cast<size_t>(at.worker)].Of(activity.global_pid, row[column]);
         };
         const int64_t kind = row[from.copy_kind].value_or(0);
         CopiedBytes copied;
         copied.route = ClassifyCopy({kind, row[from.src_kind], row[from.dst_kind], activity.device,
                                      end_device(from.src_device), end_device(from.dst_device)},
                                     runs_[static_cast<size_t>(activity.run)].hosts);
         copied.kind = KindOfRoute(copied.route, kind);
         copied.bytes = row[from.bytes];
         visitor->Copy(at, activity, copied);
       });
}

void ActivityCursor::ReadMemsets(ActivityVisitor* visitor, const ReadWatch& watch) {
  constexpr const auto& from = tables::kMemset;
  Read(from, {from.bytes}, visitor, watch, [&](Stretch at, const auto& row, const ActivityRow& activity) {
    visitor->Memset(at, activity, row[from.bytes]);
  });
}

}  // namespace lanescope::traces
