// One file of an import on its way into an export: its number, its processes, its devices among those of all.
// Internal to traces.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "traces/import/import_trace.h"
#include "traces/store/sqlite.h"
#include "traces/store/string_table.h"
#include "traces/store/table.h"

namespace lanescope::traces {

// What is the same for all that a file holds. The trace must outlive it.
class ImportFile {
 public:
  // `number`: from 1 on. Times are less `zero`.
  ImportFile(const ImportTrace& of, int file_number, int64_t zero, StringTable* strings);

  const ImportTrace& trace;
  const int number;
  const int64_t time_zero;
  std::vector<int64_t> names;  // StringIds of the trace's names

  // Files are virtual machines of an export.
  int64_t Vm() const { return int64_t{number} << 48; }
  int64_t GlobalPid(int64_t pid) const { return Vm() | ((pid & 0xffffff) << 24); }
  // What runs on a device does not name its process: the call that launched it does.
  int64_t LaunchedBy(int64_t correlation) const;

 private:
  // Most files are of one process: of calls of others alone it is noted.
  std::map<int64_t, int64_t> process_of_;
  int64_t some_pid_ = 0;
};

// Numbers of devices in the export: GPUs keep those of their file where no other file has taken them. Of one
// thread.
class ImportDevices {
 public:
  void BeginFile();
  int64_t GpuOf(int64_t ordinal);
  // A device that is no GPU, by its index in ImportTrace::hosts.
  int64_t HostOf(int64_t index);

  // Of the file, by number there.
  const std::map<int64_t, int64_t>& gpus() const { return gpus_of_file_; }
  const std::map<int64_t, int64_t>& hosts() const { return hosts_of_file_; }

 private:
  std::map<int64_t, int64_t> gpus_of_file_, hosts_of_file_;
  std::set<int64_t> known_;
  int64_t next_gpu_ = 0;
};

// Tables that exports do not have of their own are there where an import needs them.
void NeedImportedTable(Database& database, const Table& table);

}  // namespace lanescope::traces
