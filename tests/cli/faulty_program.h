// SPDX-License-Identifier: Apache-2.0
// The program while one of its operations fails, or is killed there (tests/support/fault_shim.cpp).
#pragma once

#include <string>
#include <vector>

#include "tests/cli/program.h"

namespace lanescope::cli {

enum class FaultAction { kCount, kOnce, kFrom, kKill };

struct Fault {
  std::string kind;  // alloc, open, write, sync, thread, change
  FaultAction action = FaultAction::kCount;
  std::string which;  // number of the operation; of an allocation its call stack
  // "write:once:7"
  std::string ToString() const;
};

// `report`: file of what was counted; empty: none.
Outcome LanescopeWithFault(const std::vector<std::string>& arguments, const Fault& fault,
                           const std::string& report = "");

// All operations of the kind that the command does, as values of Fault::which; the command must succeed.
// Where several threads work, an operation may have another number in the next run; call stacks stay.
std::vector<std::string> CountOperations(const std::vector<std::string>& arguments, const std::string& kind);
// `at_most` of them, spread evenly; all of them with LANESCOPE_FAULTS=all in the environment.
std::vector<std::string> Sample(const std::vector<std::string>& operations, size_t at_most);

// A command owes its user, when something fails: an end, one line that says what, no children. A
// fault that does no harm may go unnoticed. Empty: it is so; else what is not.
std::string Complaint(const Outcome& outcome);

}  // namespace lanescope::cli
