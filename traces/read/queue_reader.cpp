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

void Infer(const TraceCommand& command, TraceQueue* queue) {
  const bool first = !queue->inferred;
  if (first) {
    queue->schedule = command.schedule;
    queue->id = command.queue;
    queue->device = command.device;
    queue->kind = QueueKind::kCopyIn;
    queue->inferred = true;
  }
  const bool brings = command.dst == command.device && command.src != command.device;
  if (!IsWork(command.kind)) queue->in_order = true;
  if (command.kind == CommandKind::kLaunch) queue->kind = QueueKind::kCompute;
  if (command.kind == CommandKind::kCopy && !brings && queue->kind == QueueKind::kCopyIn)
    queue->kind = QueueKind::kCopyOut;
}

}  // namespace

void ReadQueues(Database& database, int run_id, TraceRun* run) {
  QueuesByNumber queues = ReadRecorded(database, run_id);
  for (const TraceCommand& command : run->commands) {
    const auto [queue, missing] = queues.try_emplace({command.schedule, command.queue});
    if (missing || queue->second.inferred) Infer(command, &queue->second);
  }
  for (auto& [number, queue] : queues) run->queues.push_back(std::move(queue));
}

}  // namespace lanescope::traces
