// SPDX-License-Identifier: Apache-2.0
// The joins of one captured process' records: which command a correlation id belongs to, and whether
// calls that launch kernels and the kernels themselves fit together. Private to traces/; owned by the writing
// thread. Internal to traces.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "traces/store/capture_times.h"

namespace lanescope::traces {

// The last million correlation ids of a process; calls and activities meet here in whatever order they come.
// Memory is made with the first record.
class LaunchAudit {
 public:
  // A call that launches a kernel began at `start_ns`.
  void AddCall(uint32_t correlation, int64_t start_ns);
  // A kernel of that call began at `start_ns`.
  void AddKernel(uint32_t correlation, int64_t start_ns);

  // Pairs looked at, pairs whose kernel began before its call (two clocks that disagree), and by how much at
  // most (ns).
  uint64_t pairs() const { return pairs_; }
  uint64_t violations() const { return violations_; }
  int64_t worst_ns() const { return worst_ns_; }
  // Notes any call: a launch while a stream is recorded as a graph runs nothing.
  void NoteCapture(std::string_view name, int64_t start_ns, int64_t end_ns) {
    captures_.AddCall(name, start_ns, end_ns);
  }
  // Calls among those still remembered that no kernel was seen of, but for those into a graph.
  int64_t CountUnmatched();

 private:
  struct Entry {
    uint32_t correlation = 0;  // 0: free
    bool called = false, ran = false;
    int64_t start_ns = 0;  // of the call, or of the first kernel if that came first
  };
  Entry& At(uint32_t correlation);
  void Compare(int64_t call_ns, int64_t kernel_ns);

  std::vector<Entry> entries_;
  CaptureTimes captures_;
  uint64_t pairs_ = 0, violations_ = 0;
  int64_t worst_ns_ = 0;
};

// The command (as an activity tag) that a correlation id belongs to, and activities that came before it.
class TagJoin {
 public:
  struct Waiting {
    uint32_t correlation = 0;
    uint64_t graph_node = 0;
  };
  void AddTag(uint32_t correlation, uint64_t tag);
  void AddGraphNode(uint64_t node, uint64_t tag);
  // The tag of the activity; of a node of a CUDA graph, the command of the node in the step of the launch.
  std::optional<uint64_t> Find(uint32_t correlation, uint64_t graph_node) const;
  // An activity whose tag is not known yet.
  void Wait(Waiting activity);
  // Takes those whose tag is known now.
  std::vector<std::pair<Waiting, uint64_t>> TakeReady();
  // Activities whose tag never came.
  int64_t CountWithoutTag() const { return given_up_ + static_cast<int64_t>(waiting_.size()); }

 private:
  struct Entry {
    uint32_t correlation = 0;
    uint64_t tag = 0;
  };
  std::vector<Entry> entries_;
  std::unordered_map<uint64_t, uint64_t> graph_nodes_;
  std::vector<Waiting> waiting_;
  int64_t given_up_ = 0;
};

}  // namespace lanescope::traces
