// SPDX-License-Identifier: Apache-2.0
// The computers that play a machine's tasks, and their cores.
#pragma once

#include <string>
#include <vector>

namespace lanescope::study {

// A process alone has one, which plays all tasks.
struct Computers {
  std::vector<int> of_task = {};    // by task: its computer; empty: all are on the first
  std::vector<int> num_cores = {};  // by computer: that its processes may use, those of all together

  int OfTask(int task) const { return of_task.empty() ? 0 : of_task[static_cast<size_t>(task)]; }
};

Computers OneComputer();
// A process' description of its own computer, on one line.
std::string ThisComputer();
// From what the process of each task says.
Computers ComputersOf(const std::vector<std::string>& said);

}  // namespace lanescope::study
