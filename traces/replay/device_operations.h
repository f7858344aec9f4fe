// SPDX-License-Identifier: Apache-2.0
// Operations of GPUs, stream by stream, and which of them a call waited for. Internal to traces.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "traces/read/launch_links.h"
#include "traces/read/synchronizations.h"
#include "traces/read/trace_reader.h"
#include "traces/replay/replay_graph.h"

namespace lanescope::traces {

struct DeviceOperation {
  ReplayTask::Kind kind = ReplayTask::Kind::kKernel;
  int64_t start_ns = 0, end_ns = 0;
  int stream = 0;  // index into DeviceOperations::streams
  int call = -1;   // index into the run's API calls
  int name = -1;   // index into DeviceOperations::names
  int step = -1;
  int launch = -1;  // index into the run's launches
  bool crosses = false;
  int before = -1;        // of those that began before on its stream the one that ended last
  bool in_graph = false;  // its call launched it with others, as one graph
  int after_node = -1;    // of a node of a graph: the node of the same launch that it follows; -1: none
  int64_t bytes = 0;      // of a copy or of a collective's message; 0: not known
};

struct DeviceStream {
  int device = 0, number = 0;
  int64_t global_pid = 0;
  std::vector<int> launched;  // operations in the order of their calls; those without one first
};

// A call that waited for a device, or would have.
struct HostWait {
  std::vector<int> operations;
  int64_t until_ns = INT64_MIN;  // when the last of them ended
  bool full_queue = false;       // for room in the queue that it launches into
};

// The run must outlive it. Thread-compatible.
class DeviceOperations {
 public:
  explicit DeviceOperations(const TraceRun& run);

  const std::vector<DeviceOperation>& all() const { return operations_; }  // by start
  const std::vector<DeviceStream>& streams() const { return streams_; }
  const DeviceStream& StreamOf(const DeviceOperation& operation) const {
    return streams_[static_cast<size_t>(operation.stream)];
  }
  std::vector<std::string> TakeNames() { return std::move(names_); }
  int NameOfCall(int text);
  int AddName(const std::string& name);

  // By API call.
  std::vector<HostWait> FindHostWaits(std::span<const TraceSynchronization> synchronizations) const;
  // Pairs of operations: the second waits for an event after the first.
  std::vector<std::pair<int, int>> FindEventWaits(
      std::span<const TraceSynchronization> synchronizations) const;

 private:
  template <typename Activity>
  void Add(const Activity& activity, ReplayTask::Kind kind, int name, bool crosses, int launch);
  void OrderStreams();
  void OrderNodes();
  int64_t LaunchTime(int operation) const;
  // The last of the stream that was launched before `time`; -1: none.
  int LastBefore(int stream, int64_t time) const;
  int FindStream(int64_t global_pid, int device, int number) const;
  bool HasStreams(int64_t global_pid, int device) const;
  int EventBefore(const TraceSynchronization& sync) const;
  void AddAwaited(const TraceApiCall& call, int operation, HostWait* wait) const;
  void WaitByName(const TraceApiCall& call, HostWait* wait) const;

  const TraceRun& run_;
  ApiCallIndex calls_;
  std::vector<DeviceOperation> operations_;
  std::vector<DeviceStream> streams_;
  std::map<std::tuple<int64_t, int, int>, int> stream_numbers_;  // by process, device, stream
  std::vector<std::string> names_;
  std::map<std::string, int> added_;
  std::map<int, int> call_names_;  // by text
};

}  // namespace lanescope::traces
