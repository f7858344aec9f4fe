// SPDX-License-Identifier: Apache-2.0
// One file of an import on its way into an export: its number, its processes, its devices among those of all.
// Internal to traces.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "traces/import/fitted_numbers.h"
#include "traces/import/import_trace.h"
#include "traces/store/sqlite.h"
#include "traces/store/string_table.h"
#include "traces/store/table.h"

namespace lanescope::traces {

// Numbers in the export of what the files of one worker name. Of one thread.
class ImportNumbers {
 public:
  // `worker`: from 1 on. Workers are virtual machines of an export.
  explicit ImportNumbers(int worker) : worker_(worker) {}

  int64_t Vm() const { return int64_t{worker_} << 48; }
  int64_t GlobalPid(int64_t pid) { return Vm() | (pids_.Of(pid) << 24); }
  int64_t GlobalTid(int64_t pid, int64_t tid) {
    return GlobalPid(pid) | threads_.try_emplace(pid, kMost, kFirst).first->second.Of(tid);
  }
  // Threads whose number is another in the export, as the file has it: by number in the export.
  std::map<int64_t, int64_t> ChangedThreads();

 private:
  static constexpr int64_t kMost = 0xffffff, kFirst = 1'000'000;
  int worker_;
  FittedNumbers pids_{kMost, kFirst};
  std::map<int64_t, FittedNumbers> threads_;  // by process
};

// The common context of all events of a file. The trace and the numbers must outlive it.
class ImportFile {
 public:
  // Times are less `zero`. The worker's spans before this one took correlation ids up to `correlations`.
  ImportFile(const ImportTrace& of, ImportNumbers* of_worker, int64_t zero, int64_t correlations,
             StringTable* strings);

  const ImportTrace& trace;
  ImportNumbers& numbers;
  const int64_t time_zero;
  std::vector<int64_t> names;  // StringIds of the trace's names

  // Work on a device does not name its process: the call that launched it does.
  int64_t LaunchedBy(int64_t correlation) const;
  // -1: none.
  int64_t CorrelationOf(int64_t correlation) const {
    return correlation < 0 ? -1 : correlation + correlations_before_;
  }
  int64_t last_correlation() const { return CorrelationOf(last_correlation_); }

 private:
  // Most files are of one process: of calls of others alone it is noted.
  std::map<int64_t, int64_t> process_of_;
  int64_t some_pid_ = 0, correlations_before_ = 0, last_correlation_ = -1;
};

// Numbers of devices in the export: GPUs keep those of their file where no other file has taken them. Of one
// thread.
class ImportDevices {
 public:
  void BeginWorker();
  int64_t GpuOf(int64_t ordinal);
  // A device that is no GPU, by its name.
  int64_t HostOf(const std::string& name);
  // By the device's number in the export.
  int64_t StreamOf(int64_t device, int64_t stream);

  // The worker's GPUs, by number in its files.
  const std::map<int64_t, int64_t>& gpus() const { return gpus_of_worker_; }
  const std::map<std::string, int64_t>& hosts() const { return hosts_of_worker_; }
  // The worker's streams, by device in the export.
  const std::map<int64_t, FittedNumbers>& streams() const { return streams_of_worker_; }

 private:
  std::map<int64_t, int64_t> gpus_of_worker_;
  std::map<std::string, int64_t> hosts_of_worker_;
  std::map<int64_t, FittedNumbers> streams_of_worker_;
  std::set<int64_t> known_;
  int64_t next_gpu_ = 0;
};

// Tables that exports do not have of their own are there where an import needs them.
void NeedImportedTable(Database& database, const Table& table);

}  // namespace lanescope::traces
