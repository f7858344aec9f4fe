// The order that compiling gives the commands of a placement, from its task graph alone. Internal to sims.
#pragma once

#include <vector>

#include "core/base/rows.h"
#include "core/strategies/task_graph.h"

namespace lanescope::sims {

// What a copy is when it is made: for its first reader, by a number that orders the copies of one reader.
struct CopyOrder {
  int first_reader = -1;  // a task; -1: the copy serves a fetch alone
  int number = 0;         // among the reads of that task; of a fetch, among the fetches
  int priority = 0;       // of the most urgent reader
  int after = -1;         // the last rank of a task that the copy waits for, -1 none
};

// Ranks by priorities: what an urgent task waits for is as urgent, and among the possible ones the most
// urgent comes first, then the one that was made first. Keeps what it made for the last priorities. The task
// graph must outlive it. Not thread-safe.
class TaskOrder {
 public:
  explicit TaskOrder(const TaskGraph& tasks);

  // By task, larger first; empty: all equal.
  void Prioritise(const std::vector<int>& priority);
  int rank(int task) const { return rank_[static_cast<size_t>(task)]; }
  // Priority with that of all who wait for it.
  int urgency(int task) const { return urgency_[static_cast<size_t>(task)]; }
  // Fills `rank` by item, the tasks and then the copies, and `items` by rank. Every item has its own rank.
  void Merge(const std::vector<CopyOrder>& copies, std::vector<int>* rank, std::vector<int>* items);

 private:
  int PositionOf(const CopyOrder& copy) const;

  const TaskGraph& tasks_;
  Rows<> successors_;
  std::vector<int> waits_;  // by task: how many it waits for
  std::vector<int> rank_, urgency_;
  std::vector<int> order_;  // tasks by rank
  std::vector<int> ranked_for_;
  bool ranked_ = false;
  bool all_equal_ = false;
  std::vector<int> copy_at_, next_copy_;  // of Merge: by position the first copy; by copy the one after it
};

}  // namespace lanescope::sims
