// SPDX-License-Identifier: Apache-2.0
#include "tests/cli/shell_command.h"

#include <stdio.h>
#include <sys/wait.h>

#include <array>

namespace lanescope::cli {

ShellOutcome RunShell(const std::string& command) {
  ShellOutcome outcome;
  std::string quoted;
  for (const char c : command) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  FILE* pipe = popen(("HOME=/nonexistent bash -c '" + quoted + "' 2>&1 < /dev/null").c_str(), "r");
  if (pipe == nullptr) return outcome;
  std::array<char, 4096> part;
  while (const size_t bytes = fread(part.data(), 1, part.size(), pipe))
    outcome.output.append(part.data(), bytes);
  const int how = pclose(pipe);
  outcome.status = WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
  return outcome;
}

bool HasProgram(const std::string& name) { return RunShell("command -v " + name).status == 0; }

}  // namespace lanescope::cli
