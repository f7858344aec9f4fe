// SPDX-License-Identifier: Apache-2.0
// Writes what ran from files of other profilers into the tables of an export. Internal to traces.
#pragma once

#include <map>
#include <optional>
#include <unordered_map>

#include "traces/import/export_file.h"
#include "traces/import/import.h"
#include "traces/import/import_trace.h"
#include "traces/store/capture_times.h"
#include "traces/store/import_tables.h"
#include "traces/store/nsys_tables.h"
#include "traces/store/row_inserter.h"

namespace lanescope::traces {

// The tables of the export must be there; the database must outlive it. Of one thread.
class ExportWriter {
 public:
  explicit ExportWriter(Database& database);

  // Every event of the file; its devices are numbered on the way.
  void Add(const ImportFile& file, ImportDevices* devices, const std::atomic<bool>* cancelled,
           ImportCounts* counts);
  void Flush();

 private:
  void AddEvent(const ImportFile& file, const ImportEvent& event, ImportCounts* counts);
  void AddCall(const ImportFile& file, const ImportEvent& event);
  void AddKernel(const ImportFile& file, const ImportEvent& event, int64_t process);
  void AddCopy(const ImportFile& file, const ImportEvent& event, int64_t process);
  void AddSynchronization(const ImportFile& file, const ImportEvent& event, int64_t process, int64_t number);
  void AddDeviceRange(const ImportFile& file, const ImportEvent& event);
  void AddOperator(const ImportFile& file, const ImportOperator& details, int64_t range);
  void AddTensorUses(const ImportFile& file);

  Database& database_;
  ImportDevices* devices_ = nullptr;  // of the file that is being added
  RowInserter<tables::Kernel> kernels_;
  RowInserter<tables::Memcpy> copies_;
  RowInserter<tables::Memset> memsets_;
  RowInserter<tables::ApiCall> calls_;
  RowInserter<tables::NvtxEvent> ranges_;
  RowInserter<tables::Synchronization> synchronizations_;
  RowInserter<tables::CudaEvent> events_;
  RowInserter<tables::Overhead> overheads_;
  // These tables are there once something needs them.
  std::optional<RowInserter<tables::DeviceRangeTable>> device_ranges_;
  std::optional<RowInserter<tables::OperatorTable>> operators_;
  std::optional<RowInserter<tables::CapturedKernelTable>> captured_;
  std::optional<RowInserter<tables::TensorUseTable>> tensor_uses_;
  std::map<int64_t, CaptureTimes> captures_;  // of the file that is being added, by process
  // Ranges of the file that is being added, where it says who wrote what: number of the range, by that of the
  // call.
  std::unordered_map<int64_t, int64_t> range_of_;
};

}  // namespace lanescope::traces
