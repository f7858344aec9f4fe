// SPDX-License-Identifier: Apache-2.0
// Processes that mpirun starts on this computer.
#pragma once

#include <fmt/core.h>
#include <sys/wait.h>

#include <cstdlib>
#include <string>

#include "tests/cli/program.h"
#include "tests/support/paths.h"

namespace lanescope::cli {

struct Ranks {
  int status = -1;
  std::string output, errors;
};

// `ranks`: mpirun's arguments; PROGRAM in them is the program. OpenMPI keeps memory when it ends, which
// AddressSanitizer would call leaks of the program.
inline Ranks Mpirun(const Folder& folder, std::string ranks) {
  for (size_t at = ranks.find("PROGRAM"); at != std::string::npos; at = ranks.find("PROGRAM"))
    ranks.replace(at, 7, "'" + test::ProgramPath() + "'");
  const std::string output = folder.File("output"), errors = folder.File("errors");
  const int status = std::system(
      fmt::format("ASAN_OPTIONS=detect_leaks=0 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
                  "timeout 200 mpirun --oversubscribe {} > '{}' 2> '{}'",
                  ranks, output, errors)
          .c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, ReadText(output), ReadText(errors)};
}

// Arguments: three recorded steps of a sample, as JSON.
inline std::string RunOf(const std::string& graph, const std::string& machine, const std::string& strategy) {
  return fmt::format("run {} --machine {} --strategy {} --steps 3 --warmup 1 --json", Sample(graph), machine,
                     strategy);
}

#define SKIP_WITHOUT_MPIRUN() \
  if (std::system("command -v mpirun > /dev/null 2>&1") != 0) GTEST_SKIP() << "mpirun is not installed"

}  // namespace lanescope::cli
