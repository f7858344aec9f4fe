// SPDX-License-Identifier: Apache-2.0
// Manual pages in roff's macros of man(7).
#pragma once

#include <string>

#include "cli/command_text.h"

namespace lanescope::cli {

// The parts that all pages of a program have.
struct ManualEdition {
  std::string date;  // 2026-11-23
  std::string version;
};

// The page of the program, with a list of its commands.
std::string ProgramPage(const CommandText& program, const ManualEdition& edition);
// The page of `command` of `program`.
std::string CommandPage(const CommandText& program, const CommandText& command, const ManualEdition& edition);

}  // namespace lanescope::cli
