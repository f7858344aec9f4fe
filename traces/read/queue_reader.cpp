// SPDX-License-Identifier: Apache-2.0
#include "traces/read/queue_reader.h"

#include <algorithm>
#include <map>

#include "core/base/error.h"
#include "traces/store/lanescope_tables.h"
#include "traces/store/table_reader.h"

namespace lanescope::traces {
namespace {

using QueuesByNumber = std::map<std::pair<int, int>, TraceQueue>;

QueueKind QueueKindOf(std::string_view name, const std::string& path) {
  using enum QueueKind;
  for (const QueueKind kind : {kCompute, kCopyIn, kCopyOut}) {
    if (name == QueueKindName(kind)) return kind;
  }
  Throw(Code::kDataLoss, "{}: {}.kind holds '{}', which is no queue", path, tables::kQueue.sql_name(),
        name.substr(0, 40));
}

QueuesByNumber ReadRecorded(Database& database, int run_id) {
  QueuesByNumber queues;
  constexpr const auto& from = tables::kQueue;
  ReadRunRows(database, from, run_id,
              {from.schedule, from.number, from.device, from.kind, from.in_order, from.workers, from.name},
              [&](const auto& row) {
                TraceQueue queue;
                queue.schedule = row[from.schedule];
                queue.id = row[from.number];
                queue.device = row[from.device];
                queue.kind = QueueKindOf(row[from.kind], database.path());
                queue.in_order = row[from.in_order];
                queue.workers = std::max(1, row[from.workers]);
                queue.name = row[from.name];
                queues.try_emplace({queue.schedule, queue.id}, std::move(queue));
              });
  return queues;
}

}  // namespace

void ReadQueues(Database& database, int run_id, TraceRun* run) {
  QueuesByNumber queues = ReadRecorded(database, run_id);
  for (const TraceCommand& command : run->commands) {
    if (queues.contains({command.schedule, command.queue})) continue;
    Throw(Code::kDataLoss, "{}: {} has no queue {} of schedule {}, which has commands", database.path(),
          tables::kQueue.sql_name(), command.queue, command.schedule);
  }
  for (auto& [number, queue] : queues) run->queues.push_back(std::move(queue));
}

}  // namespace lanescope::traces
