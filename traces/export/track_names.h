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
  int64_t process = 0;       // device, or global process
  int64_t track = 0;         // stream, or thread; -1: the ranges of a whole process
  bool annotations = false;  // of a stream: what the program called what ran there
  auto operator<=>(const TrackKey&) const = default;
};

// The run must outlive it. Of one thread.
class TrackNames {
 public:
  explicit TrackNames(const TraceRun& run);

  // Something ran on a stream. Before its name is asked for.
  void Note(int device, int stream, bool communication);

  // Of several ranks the devices and processes of each stand together, machine by machine: by this, then by
  // key. -1: of no rank, or there are no several.
  int64_t PlaceOf(const TrackKey& key) const;
  // "rank 3 GPU:0 (NVIDIA A100)", "python3 (4711)".
  std::string ProcessName(const TrackKey& key) const;
  // "stream 7 (NCCL)", "thread 101 (autograd)".
  std::string TrackName(const TrackKey& key) const;

 private:
  void OrderRanks();

  const TraceRun& run_;
  std::unordered_map<int64_t, int> threads_;
  std::map<int, const TraceQueue*> queues_;
  std::map<std::pair<int64_t, int64_t>, bool> only_communication_;  // by device and stream
  std::map<int64_t, int64_t> place_of_file_, place_of_device_;
};

}  // namespace lanescope::traces
