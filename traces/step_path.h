// What a step was waiting for at each of its moments: the chain of launches and copies that made it as long
// as it is.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "traces/trace_reader.h"

namespace lanescope {

enum class WorkKind : uint8_t { kLaunch, kCommunication, kCopy };

// A launch or a copy of a run.
struct WorkItem {
  WorkKind kind = WorkKind::kLaunch;
  int index = 0;  // into launches or copies
  int64_t start_ns = 0, end_ns = 0;
};

struct PathSegment {
  int64_t start_ns = 0, end_ns = 0;
  int item = -1;         // of the step's items: what ran, or what began after the wait; -1: the step's end
  bool waiting = false;  // nothing on the path ran
};

// The items of a step by start, and its path: segments that tile the step from start to end.
struct StepPath {
  std::vector<WorkItem> items;
  std::vector<PathSegment> segments;
};

// Finds paths. `run` must outlive it. Thread-compatible.
//   With recorded dependencies the path goes back from the item that ended last: to whichever held it up, the
//   item before it on its queue or the dependency that ended last; the time between the two is waiting.
//   Without them (other tools' traces) a moment belongs to a launch if one runs, else to a kernel of NCCL,
//   else to a copy, of several to the one that began first; moments in which none runs are waiting.
class StepPathFinder {
 public:
  explicit StepPathFinder(const TraceRun& run);
  // The steps of the run; of a run without steps, one from its first to its last activity.
  const std::vector<TraceStep>& steps() const { return steps_; }
  // `step`: index into steps().
  StepPath Find(size_t step) const;

 private:
  struct Command {
    std::vector<int> before;  // positions in commands_
  };
  void ReadCommands();
  void AddQueueOrder();
  void GroupItems();
  int CommandOf(const WorkItem& item) const;
  std::vector<PathSegment> FollowDependencies(const TraceStep& step,
                                              const std::vector<WorkItem>& items) const;

  const TraceRun& run_;
  std::vector<TraceStep> steps_;
  std::vector<std::vector<WorkItem>> items_;  // by step
  std::vector<Command> commands_;
  std::unordered_map<int64_t, int> command_numbers_;  // schedule << 32 | id -> position
};

}  // namespace lanescope
