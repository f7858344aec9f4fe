// Files of other profilers as an export in the layout of Nsight Systems. Internal to traces.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "traces/import/import.h"
#include "traces/import/import_trace.h"
#include "traces/store/lanescope_tables.h"
#include "traces/store/nsys_tables.h"
#include "traces/store/row_inserter.h"
#include "traces/store/string_table.h"

namespace lanescope::traces {

// The tables of the export must be there; the database must outlive it. Of one thread.
class ExportWriter {
 public:
  explicit ExportWriter(Database& database);

  // `file`: its number, from 1 on. `whose`: what tells its GPUs from those of others; empty: there are no
  // others.
  void Add(const ImportTrace& trace, int file, const std::string& whose, int64_t time_zero,
           const std::atomic<bool>* cancelled, ImportCounts* counts);
  void Flush();

 private:
  // What is the same for all events of a file.
  struct File {
    const ImportTrace& trace;
    int number = 0;
    int64_t time_zero = 0;
    std::vector<int64_t> names;  // StringIds of the trace's names
  };

  int64_t GpuOf(int64_t ordinal);
  int64_t DeviceOf(const ImportEvent& event);
  void AddEvent(const File& file, const ImportEvent& event, int64_t launched_by, ImportCounts* counts);
  void AddKernel(const File& file, const ImportEvent& event, int64_t process);
  void AddCopy(const File& file, const ImportEvent& event, int64_t process);
  void AddSynchronization(const File& file, const ImportEvent& event, int64_t process, int64_t number);
  void AddMemory(const File& file, ImportCounts* counts);
  void AddCollectives(const File& file, const std::map<int64_t, int64_t>& process_of, int64_t otherwise,
                      ImportCounts* counts);
  void AddDevices(const File& file, const std::string& whose);
  void AddNames(const File& file);
  void AddDeviceRange(const File& file, const ImportEvent& event);
  void AddOperator(const File& file, const ImportOperator& details, int64_t range);

  Database& database_;
  StringTable strings_;
  RowInserter<tables::Kernel> kernels_;
  RowInserter<tables::Memcpy> copies_;
  RowInserter<tables::Memset> memsets_;
  RowInserter<tables::ApiCall> calls_;
  RowInserter<tables::NvtxEvent> ranges_;
  RowInserter<tables::Synchronization> synchronizations_;
  RowInserter<tables::CudaEvent> events_;
  RowInserter<tables::ThreadNames> threads_;
  // Of tables that are there once something needs them.
  std::optional<RowInserter<tables::DeviceRangeTable>> device_ranges_;
  std::optional<RowInserter<tables::OperatorTable>> operators_;
  std::map<int64_t, int64_t> gpus_of_file_;   // by ordinal
  std::map<int64_t, int64_t> hosts_of_file_;  // by index into the trace's hosts
  std::set<int64_t> known_devices_;
  int64_t next_gpu_ = 0;
};

}  // namespace lanescope::traces
