#include "traces/queue_reader.h"

#include <algorithm>
#include <map>

#include "core/error.h"
#include "traces/table_scan.h"

namespace lanescope {
namespace {

constexpr std::string_view kQueues = "LANESCOPE_QUEUE";
using QueuesByNumber = std::map<std::pair<int, int>, TraceQueue>;

QueueKind QueueKindOf(const std::string& name, const std::string& path) {
  using enum QueueKind;
  for (const QueueKind kind : {kCompute, kCopyIn, kCopyOut}) {
    if (name == QueueKindName(kind)) return kind;
  }
  Throw(Code::kDataLoss, "{}: {}.kind holds '{}', which is no queue", path, kQueues, name.substr(0, 40));
}

QueuesByNumber ReadRecorded(Database& database, int run_id) {
  QueuesByNumber queues;
  if (!database.HasTable(kQueues)) return queues;
  TableScan scan(database, kQueues,
                 {{"schedule", true},
                  {"queue", true},
                  {"deviceId", true},
                  {"kind", true},
                  {"inOrder", true},
                  {"workers", true},
                  {"name"}},
                 fmt::format("WHERE runId = {}", run_id));
  while (scan.Next()) {
    TraceQueue queue;
    queue.schedule = scan.Number(0, -1);
    queue.id = scan.Id(1);
    queue.device = scan.Id(2);
    queue.kind = QueueKindOf(scan.Text(3), database.path());
    queue.in_order = scan.Flag(4);
    queue.workers = std::max(1, scan.Number(5, 1));
    queue.name = scan.Text(6);
    queues.try_emplace({queue.schedule, queue.id}, std::move(queue));
  }
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

}  // namespace lanescope
