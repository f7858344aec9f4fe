// SPDX-License-Identifier: Apache-2.0
#include "traces/read/synchronizations.h"

#include <map>
#include <utility>

#include "traces/read/activity_origins.h"
#include "traces/read/foreign_devices.h"
#include "traces/store/nsys_tables.h"
#include "traces/store/table_reader.h"

namespace lanescope::traces {

std::vector<TraceSynchronization> ReadSynchronizations(TraceReader& reader, int run) {
  using tables::kCudaEvent, tables::kSynchronization;
  Database& database = reader.database();
  const RunFilter filter({{run}}, !reader.is_ours());
  struct Record {
    int64_t correlation = -1;
    int stream = -1;
  };
  std::map<std::pair<int64_t, int64_t>, Record> records;  // by process and what joins them
  ReadRows(database, kCudaEvent,
           {kCudaEvent.global_pid, kCudaEvent.event_sync, kCudaEvent.correlation, kCudaEvent.stream},
           [&](const auto& row) {
             const std::optional<int64_t> sync = row[kCudaEvent.event_sync];
             if (!sync || row.IsNull(kCudaEvent.stream)) return;
             records[{row[kCudaEvent.global_pid].value_or(0), *sync}] = {
                 row[kCudaEvent.correlation].value_or(-1), row[kCudaEvent.stream]};
           });
  DeviceNumbers devices = reader.is_ours() ? DeviceNumbers() : DeviceNumbers(database);
  std::vector<TraceSynchronization> found;
  constexpr const auto& from = kSynchronization;
  ReadRows(database, from,
           {from.type, from.device, from.stream, from.global_pid, from.correlation, from.event_sync},
           [&](const auto& row) {
             const int64_t type = row[from.type].value_or(0), process = row[from.global_pid].value_or(0);
             if (type < 1 || type > 4 || filter.Of(process) < 0) return;
             TraceSynchronization sync;
             sync.kind = static_cast<TraceSynchronization::Kind>(type);
             sync.device = devices.Of(process, row[from.device]);
             if (!row.IsNull(from.stream)) sync.stream = row[from.stream];
             sync.global_pid = process;
             sync.correlation = row[from.correlation].value_or(-1);
             const auto record = records.find({process, row[from.event_sync].value_or(-1)});
             if (record != records.end()) {
               sync.recorded_by = record->second.correlation;
               sync.recorded_on = record->second.stream;
             }
             found.push_back(sync);
           });
  return found;
}

}  // namespace lanescope::traces
