// SPDX-License-Identifier: Apache-2.0
// Turns captured activities into rows. Private to traces/; owned by the writing thread. Internal to traces.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "traces/record/activity_rows.h"
#include "traces/record/activity_tables.h"
#include "traces/record/launch_audit.h"
#include "traces/record/run_rows.h"

namespace lanescope::traces {

// The run that a capture belongs to.
struct CaptureTarget {
  int run = 0;
  int64_t origin_ns = 0;
  // Device numbers of the trace by CUDA device number; empty: those of the first process that names a device.
  std::vector<int> device_ids;
  // Null where the run has no such command.
  std::function<const CommandInfo*(uint32_t schedule, uint32_t command)> find_command;
  // An activity of the command of a tag ran from start to end, ns since the run's zero.
  std::function<void(uint64_t tag, int64_t start_ns, int64_t end_ns)> on_command;
};

// The activities of one run, of any number of processes.
class ActivityWriter {
 public:
  ActivityWriter(Database& database, StringTable& strings, ActivityTables& tables, CaptureTarget target);
  void Write(const ActivityBatch& batch);
  // Stores the counts of losses and what is known of the clocks. The last time of any row, ns since the run's
  // zero.
  void Finish();
  int64_t last_ns() const { return last_ns_; }

 private:
  struct KernelNames {
    int64_t demangled = 0, short_name = 0, mangled = 0;
  };
  struct Process {
    int64_t global_pid = 0;
    int64_t correlation_base = 0;
    LaunchAudit audit;
    TagJoin tags;
    std::map<uint32_t, int> devices;   // trace's by the process's
    std::map<uint32_t, int> contexts;  // their devices
    std::set<uint32_t> green_contexts;
    std::unordered_map<uint32_t, ApiRow> driver_calls;  // the last of each thread, until its next call
    std::unordered_map<uint32_t, int64_t> driver_names;
    int64_t last_kernel_ns = 0;
  };
  // Where an activity is shown.
  struct Place {
    int64_t device = 0, context = 0, stream = 0;
    Cell green;
  };

  Process& ProcessOf(const ActivityBatch& batch);
  int DeviceOf(Process& process, uint32_t device);
  template <typename Row>
  Place PlaceOf(Process& process, const Row& row, uint64_t graph_node);
  bool CheckTimes(int64_t start, int64_t end);
  int64_t Time(int64_t ns);
  const KernelNames& NamesOf(const ActivityBatch& batch, TextId name);
  Cell Correlation(const Process& process, uint32_t correlation) const;
  template <typename Row>
  void Attribute(Process& process, const Row& row);
  void AddActivity(const Process& process, uint32_t correlation, uint64_t graph_node, uint64_t tag);

  static int64_t ThreadOf(const Process& process, uint32_t thread);
  void AddNote(const std::string& text);

  void WriteFacts(Process& process, const ActivityBatch& batch);
  void WriteContexts(Process& process, const ActivityBatch& batch);
  void WriteGpu(Process& process, const ActivityBatch& batch, const GpuRow& row);
  void WriteKernels(Process& process, const ActivityBatch& batch);
  void WriteCopies(Process& process, const ActivityBatch& batch);
  void WriteCalls(Process& process, const ActivityBatch& batch);
  void AddCall(Process& process, const ApiRow& row, int64_t name);
  void WriteOthers(Process& process, const ActivityBatch& batch);
  void WriteRanges(Process& process, const ActivityBatch& batch);

  Database& database_;
  StringTable& strings_;
  ActivityTables& tables_;
  const CaptureTarget target_;
  std::map<uint32_t, Process> processes_;
  std::unordered_map<std::string, KernelNames> names_;
  std::map<std::string, int> gpus_;  // by UUID
  std::set<int> gpu_ids_;
  std::array<int64_t, kNumLosses> losses_{};
  int64_t last_ns_ = 0;
};

}  // namespace lanescope::traces
