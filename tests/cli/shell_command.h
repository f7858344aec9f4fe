// SPDX-License-Identifier: Apache-2.0
// Commands of a shell, for what the program writes for other programs.
#pragma once

#include <string>

namespace lanescope::cli {

struct ShellOutcome {
  int status = -1;
  std::string output;  // standard output and standard error
};

// Runs `command` by bash, with HOME in a folder that does not exist.
ShellOutcome RunShell(const std::string& command);
// Whether there is a program of this name.
bool HasProgram(const std::string& name);

}  // namespace lanescope::cli
