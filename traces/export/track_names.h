// SPDX-License-Identifier: Apache-2.0
// Whose a row of a timeline is, where it stands and what it is called. Internal to traces.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "traces/read/trace_reader.h"

namespace lanescope::traces {

// Which row of whom: processes and tracks come in the order of their keys.
struct TrackKey {
  enum class Group { kSteps, kDevice, kHost } group = Group::kDevice;
  int64_t process = 0;  // device, or global process
  int64_t track = 0;    // stream, or thread; -1: the ranges of a whole process
  // Rows of a device beside its streams' own: what the program called what ran on one, or messages that
  // another task's device carries out.
  enum class Of { kActivities, kAnnotations, kSent, kReceived } of = Of::kActivities;
  auto operator<=>(const TrackKey&) const = default;
};

// The run must outlive it. Of one thread.
class TrackNames {
 public:
  explicit TrackNames(const TraceRun& run);

  // Something ran on a stream. Before its name is asked for.
  void Note(int device, int stream, bool communication);

  // Devices and processes of each of several ranks stand together, machine by machine, and so do the
  // devices of each of several tasks: by this, then by key. -1: of no rank or task, or there are no several.
  int64_t PlaceOf(const TrackKey& key) const;
  // Whose device's it is: index into TraceRun::tasks; -1: nobody's.
  int TaskOf(const TrackKey& key) const;
  // "rank 3 GPU:0 (NVIDIA A100)", "python3 (4711)". Of devices of several tasks their task is the process.
  std::string ProcessName(const TrackKey& key) const;
  // "GPU:0 " before what stands below its task; empty where devices are processes.
  std::string DevicePrefix(const TrackKey& key) const;
  // "stream 7 (NCCL)", "thread 101 (autograd)", of a task's device "GPU:0 copy-in".
  std::string TrackName(const TrackKey& key) const;

 private:
  void OrderRanks();
  void OrderTasks();
  std::string StreamName(const TrackKey& key) const;

  const TraceRun& run_;
  std::unordered_map<int64_t, int> threads_;
  std::map<int, const TraceQueue*> queues_;
  std::map<std::pair<int64_t, int64_t>, bool> only_communication_;  // by device and stream
  std::map<int64_t, int64_t> place_of_file_, place_of_device_;
};

}  // namespace lanescope::traces
