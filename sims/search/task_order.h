// SPDX-License-Identifier: Apache-2.0
// The order that compiling gives the commands of a placement, from its task graph alone. Internal to sims.
#pragma once

#include <vector>

#include "core/base/rows.h"
#include "core/strategies/task_graph.h"

namespace lanescope::sims {

// A copy's order when it is made: for its first reader, by a number that orders the copies of one reader.
struct CopyOrder {
  int first_reader = -1;  // a task; -1: the copy serves a fetch alone
  int number = 0;         // among the reads of that task; of a fetch, among the fetches
  int priority = 0;       // of the most urgent reader
  int stops = 0;          // on the way here: copies that it waits for
  int after = -1;         // the last rank of a task that the copy waits for, -1 none

  // Whether it comes before another copy for the same position.
  bool IsBefore(const CopyOrder& other) const {
    if (priority != other.priority) return priority > other.priority;
    if (first_reader != other.first_reader) return first_reader < other.first_reader;
    return number != other.number ? number < other.number : stops < other.stops;
  }
};

// Ranks by priorities: what an urgent task waits for is as urgent, and among the possible ones the most
// urgent comes first, then the one that was made first. Keeps what it made for the last two lists of
// priorities, so that taking a change of them back costs nothing. The task graph must outlive it. Not
// thread-safe.
class TaskOrder {
 public:
  explicit TaskOrder(const TaskGraph& tasks);

  // By task, larger first; empty: all equal. False: the order is the same as before.
  bool Prioritise(const std::vector<int>& priority);
  int rank(int task) const { return made_.rank[IndexOf(task)]; }
  int task_at(int rank) const { return made_.order[IndexOf(rank)]; }
  // Priority with that of all who wait for it.
  int urgency(int task) const { return made_.urgency[IndexOf(task)]; }
  // The rank of the launch that a copy comes right before; the number of tasks: it comes after all.
  int PositionOf(const CopyOrder& copy) const;

 private:
  struct Made {
    bool done = false;
    std::vector<int> priority;
    std::vector<int> rank, urgency;  // by task
    std::vector<int> order;          // tasks by rank
    bool all_equal = false;
  };
  void Make(const std::vector<int>& priority);

  const TaskGraph& tasks_;
  Rows<> successors_;
  std::vector<int> waits_;  // by task: how many it waits for
  Made made_, before_;
};

}  // namespace lanescope::sims
