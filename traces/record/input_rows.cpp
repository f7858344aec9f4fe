// SPDX-License-Identifier: Apache-2.0
#include "traces/record/run_writer.h"
#include "traces/store/lanescope_tables.h"
#include "traces/store/row_inserter.h"

namespace lanescope::traces {
namespace {

void InsertNames(Database& database, int run, const InputRecord& input) {
  using tables::kInputQueueTable, tables::kInputThread;
  for (const InputThread& thread : input.threads) {
    InsertRow(database, kInputThread,
              {{kInputThread.run, run},
               {kInputThread.number, thread.number},
               {kInputThread.op, thread.op},
               {kInputThread.queue, thread.queue}});
  }
  for (const InputQueue& queue : input.queues) {
    InsertRow(database, kInputQueueTable,
              {{kInputQueueTable.run, run},
               {kInputQueueTable.number, queue.number},
               {kInputQueueTable.name, queue.name},
               {kInputQueueTable.capacity, queue.capacity < 0 ? Cell() : Cell(queue.capacity)},
               {kInputQueueTable.kept, queue.kept}});
  }
}

}  // namespace

void RunWriter::WriteInput(const InputRecord& input) {
  InsertNames(database_, id_, input);
  using tables::kInputStep, tables::kInputWork, tables::kQueueFill, tables::kWait;
  const int64_t zero = clock_.origin_ns;
  RowInserter steps(database_, kInputStep);
  for (const InputStep& step : input.steps) {
    steps.Add({{kInputStep.run, id_},
               {kInputStep.thread, step.thread},
               {kInputStep.number, step.step},
               {kInputStep.start, step.start_ns - zero},
               {kInputStep.end, step.end_ns - zero}});
  }
  steps.Flush();
  RowInserter works(database_, kInputWork);
  for (const InputWork& work : input.works) {
    works.Add({{kInputWork.run, id_},
               {kInputWork.thread, work.thread},
               {kInputWork.node, work.node},
               {kInputWork.count, work.count},
               {kInputWork.ns, work.ns}});
  }
  works.Flush();
  RowInserter waits(database_, kWait);
  for (const InputWait& wait : input.waits) {
    waits.Add({{kWait.run, id_},
               {kWait.thread, wait.thread == kNoInputThread ? Cell() : Cell(wait.thread)},
               {kWait.step, wait.step},
               {kWait.node, wait.node},
               {kWait.queue, wait.queue},
               {kWait.start, wait.start_ns - zero},
               {kWait.end, wait.end_ns - zero}});
  }
  waits.Flush();
  RowInserter fills(database_, kQueueFill);
  for (const QueueFill& fill : input.fills) {
    fills.Add({{kQueueFill.run, id_},
               {kQueueFill.queue, fill.queue},
               {kQueueFill.time, fill.time_ns - zero},
               {kQueueFill.elements, fill.size}});
  }
  fills.Flush();
}

}  // namespace lanescope::traces
