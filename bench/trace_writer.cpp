// SPDX-License-Identifier: Apache-2.0
// Rows per second into a trace, with a reader at work, and the time of a summary.
//   bench_trace_writer [rows]
// Goals: full 40-column kernel rows at 350k rows/s with readers not locked out; summary 1.2 s per 10M rows.
#include "traces/record/trace_writer.h"

#include <fmt/core.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <thread>

#include "core/base/error.h"
#include "traces/read/trace_reader.h"
#include "traces/report/summary.h"
#include "traces/store/nsys_tables.h"
#include "traces/store/row_inserter.h"
#include "traces/store/trace_file.h"

namespace lanescope {
namespace {

using Clock = std::chrono::steady_clock;

// Wall time, and processor time of the whole program: on a machine that others use too, the second one is
// what can be compared.
class Timer {
 public:
  double Wall() const { return std::chrono::duration<double>(Clock::now() - wall_).count(); }
  double Cpu() const { return static_cast<double>(std::clock() - cpu_) / CLOCKS_PER_SEC; }
  // "350k/s wall, 400k/s cpu"
  std::string Rate(int64_t count) const {
    return fmt::format("{:.0f}k/s wall, {:.0f}k/s cpu", static_cast<double>(count) / Wall() / 1e3,
                       static_cast<double>(count) / Cpu() / 1e3);
  }
  std::string Seconds() const { return fmt::format("{:.2f} s wall, {:.2f} s cpu", Wall(), Cpu()); }

 private:
  Clock::time_point wall_ = Clock::now();
  std::clock_t cpu_ = std::clock();
};

std::string ScratchPath(const char* name) {
  const auto path = std::filesystem::temp_directory_path() / fmt::format("lanescope_bench_{}.db", name);
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path.string() + suffix);
  return path.string();
}

// Counts how often it could read while rows were written.
class BackgroundReader {
 public:
  explicit BackgroundReader(const std::string& path) : thread_([this, path] { Loop(path); }) {}
  ~BackgroundReader() {
    stop_ = true;
    thread_.join();
  }
  int reads() const { return reads_; }
  int failures() const { return failures_; }

 private:
  void Loop(const std::string& path) {
    while (!stop_) {
      try {
        traces::Database database(path, traces::OpenMode::kReadOnly);
        database.QueryInteger("SELECT MAX(rowid) FROM CUPTI_ACTIVITY_KIND_KERNEL");
        ++reads_;
      } catch (const Error&) {
        ++failures_;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
  std::atomic<bool> stop_{false};
  std::atomic<int> reads_{0}, failures_{0};
  std::thread thread_;
};

// The inserting half alone: rows of CUPTI_ACTIVITY_KIND_KERNEL, committed every 150 ms.
void BenchKernelRows(int64_t rows) {
  const std::string path = ScratchPath("kernels");
  traces::Database database = traces::OpenTraceForWriting(path, path);
  BackgroundReader reader(path);
  const Timer timer;
  {
    constexpr const auto& to = traces::tables::kKernel;
    traces::RowInserter kernels(database, to);
    database.Execute("BEGIN IMMEDIATE");
    auto commit_at = Clock::now() + std::chrono::milliseconds(150);
    for (int64_t i = 0; i < rows; ++i) {
      kernels.Add({{to.start, i * 5000},
                   {to.end, i * 5000 + 4000},
                   {to.device, i % 2},
                   {to.context, i % 2 + 1},
                   {to.stream, i % 7},
                   {to.correlation, i},
                   {to.global_pid, int64_t{1} << 48},
                   {to.full_name, i % 300},
                   {to.short_name, i % 40}});
      if (i % 4096 == 0 && Clock::now() >= commit_at) {
        kernels.Flush();
        database.Execute("COMMIT; BEGIN IMMEDIATE");
        commit_at = Clock::now() + std::chrono::milliseconds(150);
      }
    }
    kernels.Flush();
    database.Execute("COMMIT");
  }
  fmt::print("kernel rows (40 columns): {}; reader: {} reads, {} failures\n", timer.Rate(rows),
             reader.reads(), reader.failures());
  const Timer closing;
  traces::FinishTraceFile(database);
  fmt::print("  closing with indexes: {}; with it {}\n", closing.Seconds(), timer.Rate(rows));
}

// A run through TraceWriter: every event is a kernel row and a row of LANESCOPE_ACTIVITY.
void BenchEvents(int64_t events) {
  const std::string path = ScratchPath("events");
  const Machine machine = VirtualMachine(2, 1);
  Graph graph;
  Placement placement;
  Schedule schedule;
  const DeviceId gpus[] = {machine.Gpus()[0], machine.Gpus()[1]};
  for (int queue = 0; queue < 2; ++queue) schedule.queues.Add({gpus[queue], QueueKind::kCompute, false, ""});
  constexpr int kCommands = 1000;
  for (int i = 0; i < kCommands; ++i) {
    Node node;
    node.name = fmt::format("node{}", i);
    node.op = fmt::format("Op{}", i % 40);
    placement.device.Add(gpus[i % 2]);
    Command command;
    command.queue = QueueId(i % 2);
    command.node = graph.AddNode(std::move(node));
    schedule.commands.Add(command);
  }
  schedule.successors.first.assign(kCommands + 1, 0);
  RunInfo info;
  info.simulated = true;
  info.graph = &graph;
  info.machine = &machine;
  info.placement = &placement;

  traces::TraceWriter writer(path);
  const int run = writer.BeginRun(info);
  writer.AddSchedule(run, schedule);
  BackgroundReader reader(path);
  const Timer timer;
  std::vector<Event> batch;
  for (int64_t i = 0; i < events; ++i) {
    Event event;
    event.command = CommandId(i % kCommands);
    event.step = static_cast<int>(i / kCommands);
    event.start_ns = i * 5000;
    event.end_ns = i * 5000 + 4000;
    batch.push_back(event);
    if (batch.size() == 10'000 || i + 1 == events) {
      writer.Sink(run)->Consume(batch);
      batch.clear();
    }
  }
  writer.EndRun(run, {});
  fmt::print("events (kernel row and activity row each): {}; reader: {} reads, {} failures\n",
             timer.Rate(events), reader.reads(), reader.failures());
  const Timer closing;
  writer.Close();
  fmt::print("  closing with indexes: {}\n", closing.Seconds());
  const Timer summary;
  traces::Summarize(path, run);
  fmt::print("summary: {}; {:.2f} s cpu per 10M rows\n", summary.Seconds(),
             summary.Cpu() * 1e7 / static_cast<double>(events));
  const Timer reading;
  traces::TraceReader(path).ReadRun(run);
  fmt::print("reading the run into memory: {}\n", reading.Seconds());
}

}  // namespace
}  // namespace lanescope

int main(int argc, char** argv) {
  const int64_t rows = argc > 1 ? std::atoll(argv[1]) : 1'000'000;
  try {
    lanescope::BenchKernelRows(rows);
    lanescope::BenchEvents(rows);
  } catch (const lanescope::Error& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
  return 0;
}
