// SPDX-License-Identifier: Apache-2.0
// Activities of devices: the one reader of kernels, whole graphs, copies and memory sets. Runs in memory,
// totals and lanes are made by its visitors. Private to traces/ and the timeline's loader.
// Internal to traces and gui.
#pragma once

#include <cstdint>
#include <vector>

#include "traces/read/activity_origins.h"
#include "traces/read/foreign_devices.h"
#include "traces/store/copy_class.h"
#include "traces/store/parallel_reader.h"

namespace lanescope::traces {

// The columns that every activity of a device has.
struct ActivityRow {
  int run = 0;  // position in the list of wanted runs
  int64_t start_ns = 0, end_ns = 0;
  int64_t global_pid = 0;
  int64_t correlation = -1;
  int device = 0, stream = 0;  // device: the trace's, whatever a process calls it
  Origin origin;
};

// Ids of StringIds; -1: none. Below that: a whole graph (graph_name.h).
struct LaunchNames {
  int64_t full = -1, brief = -1;
};

struct CopiedBytes {
  CopyRoute route;
  int64_t kind = 0;  // ENUM_CUDA_MEMCPY_OPER, set right where the ends of the copy contradict it
  int64_t bytes = 0;
};

// Takes activities table by table. Those of one part come in the order of the file.
class ActivityVisitor {
 public:
  virtual ~ActivityVisitor() = default;
  // Before the first row of a table.
  virtual void Begin(int parts) = 0;
  // These for different parts at the same time.
  virtual void Launch(Stretch at, const ActivityRow& activity, const LaunchNames& names) = 0;
  virtual void Copy(Stretch at, const ActivityRow& activity, const CopiedBytes& copied) = 0;
  virtual void Memset(Stretch at, const ActivityRow& activity, int64_t bytes) = 0;
  // A row of the run without usable times; such rows come from profilers that ran out of buffers.
  virtual void Invalid(Stretch at, int run) = 0;
};

// Belongs to one thread.
class ActivityCursor {
 public:
  // The columns that the visitor looks at: one costs time even where it holds nothing.
  struct Columns {
    bool processes = true;
    bool streams = true;
    bool correlations = true;
    bool names = true;
    bool memory_kinds = true;  // else the numbers of devices say all
  };
  // The reader and the origins must outlive it. `ours`: else device numbers are those of processes.
  ActivityCursor(ParallelReader* reader, std::vector<WantedRun> runs, const RunFilter& filter, bool ours,
                 const Origins& origins, const Columns& columns);

  // Throw what ParallelReader::Read throws.
  void ReadKernels(ActivityVisitor* visitor, const ReadWatch& watch = {});
  void ReadGraphs(ActivityVisitor* visitor, const ReadWatch& watch = {});
  void ReadCopies(ActivityVisitor* visitor, const ReadWatch& watch = {});
  void ReadMemsets(ActivityVisitor* visitor, const ReadWatch& watch = {});

 private:
  template <typename T, typename Visit>
  void Read(const T& from, std::vector<Wanted<std::type_identity_t<T>>> more, ActivityVisitor* visitor,
            const ReadWatch& watch, Visit visit);

  ParallelReader* reader_;
  const std::vector<WantedRun> runs_;
  const RunFilter filter_;
  const Origins& origins_;
  const Columns columns_;
  const bool ours_;
  std::vector<DeviceNumbers> devices_;  // by worker
};

}  // namespace lanescope::traces
