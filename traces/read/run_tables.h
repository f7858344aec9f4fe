// SPDX-License-Identifier: Apache-2.0
// Tables of a RunView of a run from SQLite: all but its activities.
// Internal to traces and gui.
#pragma once

#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/runs/run_view.h"
#include "traces/read/trace_reader.h"

namespace lanescope::traces {

// Where the numbers that a trace gives to things stand in the tables of the view.
struct RunNumbers {
  std::unordered_map<int, int> devices;
  std::unordered_map<int, int> ops;             // by node
  std::map<std::pair<int, int>, int> commands;  // by (schedule, id); empty where these are positions
  int num_commands = 0;

  // -1: the run has no such command.
  int CommandIndex(int schedule, int id) const;
};

struct RunTables {
  RunView view;  // devices, ops of nodes, signatures, queues, commands and recorded steps; no slices
  RunNumbers numbers;
  std::vector<int> signature_texts;               // by signature: number of its text in the run
  std::vector<std::pair<int, int>> dependencies;  // by index into commands
};

// The devices and nodes of the run in its order, then devices that only commands name. Texts of the view are
// the run's, which must outlive it.
RunTables TablesOf(const TraceRun& run);

}  // namespace lanescope::traces
