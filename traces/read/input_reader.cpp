// SPDX-License-Identifier: Apache-2.0
#include "traces/read/input_reader.h"

#include <algorithm>
#include <map>
#include <set>

#include "traces/store/lanescope_tables.h"
#include "traces/store/table_reader.h"

namespace lanescope::traces {
namespace {

class InputReader {
 public:
  InputReader(Database& database, int run, int64_t* invalid_rows)
      : database_(database), run_(run), invalid_rows_(*invalid_rows) {}

  InputRecord Read() {
    ReadNames();
    ReadTimes();
    std::ranges::stable_sort(input_.steps, {}, &InputStep::start_ns);
    std::ranges::stable_sort(input_.waits, {}, &InputWait::start_ns);
    std::ranges::stable_sort(input_.fills, {}, &QueueFill::time_ns);
    return std::move(input_);
  }

 private:
  void ReadNames() {
    using tables::kInputQueueTable, tables::kInputThread;
    std::map<int, InputThread> threads;
    ReadRunRows(
        database_, kInputThread, run_, {kInputThread.number, kInputThread.op, kInputThread.queue},
        [&](const auto& row) {
          const int number = row[kInputThread.number];
          threads[number] = {number, std::string(row[kInputThread.op]), std::string(row[kInputThread.queue])};
        });
    std::map<int, InputQueue> queues;  // of several rows of one the last knows most
    ReadRunRows(
        database_, kInputQueueTable, run_,
        {kInputQueueTable.number, kInputQueueTable.name, kInputQueueTable.capacity, kInputQueueTable.kept},
        [&](const auto& row) {
          const int number = row[kInputQueueTable.number];
          queues[number] = {number, std::string(row[kInputQueueTable.name]),
                            row[kInputQueueTable.capacity].value_or(-1), row[kInputQueueTable.kept]};
        });
    for (auto& [number, thread] : threads) {
      threads_.insert(number);
      input_.threads.push_back(std::move(thread));
    }
    for (auto& [number, queue] : queues) {
      queues_.insert(number);
      input_.queues.push_back(std::move(queue));
    }
  }

  void ReadTimes() {
    using tables::kInputStep, tables::kInputWork, tables::kQueueFill, tables::kWait;
    ReadRunRows(database_, kInputStep, run_,
                {kInputStep.thread, kInputStep.number, kInputStep.start, kInputStep.end},
                [&](const auto& row) {
                  const auto start = row[kInputStep.start], end = row[kInputStep.end];
                  const int thread = row[kInputStep.thread];
                  if (!start || !end || *end < *start || !threads_.contains(thread)) return Skip();
                  input_.steps.push_back({thread, row[kInputStep.number], *start, *end});
                });
    ReadRunRows(
        database_, kInputWork, run_, {kInputWork.thread, kInputWork.node, kInputWork.count, kInputWork.ns},
        [&](const auto& row) {
          const int thread = row[kInputWork.thread];
          if (!threads_.contains(thread)) return Skip();
          input_.works.push_back({thread, row[kInputWork.node], row[kInputWork.count], row[kInputWork.ns]});
        });
    ReadRunRows(database_, kWait, run_,
                {kWait.thread, kWait.step, kWait.node, kWait.queue, kWait.start, kWait.end},
                [&](const auto& row) {
                  const auto start = row[kWait.start], end = row[kWait.end];
                  const int thread = row[kWait.thread], queue = row[kWait.queue];
                  const bool known = thread == kNoInputThread || threads_.contains(thread);
                  if (!start || !end || *end < *start || !known || !queues_.contains(queue)) return Skip();
                  input_.waits.push_back({thread, row[kWait.step], row[kWait.node], queue, *start, *end});
                });
    ReadRunRows(database_, kQueueFill, run_, {kQueueFill.queue, kQueueFill.time, kQueueFill.elements},
                [&](const auto& row) {
                  const auto time = row[kQueueFill.time];
                  if (!time || !queues_.contains(row[kQueueFill.queue])) return Skip();
                  input_.fills.push_back({row[kQueueFill.queue], *time, row[kQueueFill.elements]});
                });
  }

  void Skip() { ++invalid_rows_; }

  Database& database_;
  const int run_;
  int64_t& invalid_rows_;
  InputRecord input_;
  std::set<int> threads_, queues_;
};

}  // namespace

InputRecord ReadInput(Database& database, int run, int64_t* invalid_rows) {
  return InputReader(database, run, invalid_rows).Read();
}

}  // namespace lanescope::traces
