// SPDX-License-Identifier: Apache-2.0
// The commands of the program and their options as texts: what --help prints, for manual pages and shells.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

namespace lanescope::cli {

struct OptionText {
  std::vector<std::string> names;    // with their dashes, short ones first; of an argument its one name
  std::string value;                 // INT, TEXT, ...; empty: a flag
  std::string description;           // one line
  std::string preset;                // what it is where nobody says; may be empty
  std::vector<std::string> choices;  // the values that it takes; empty: any
  bool is_list = false;              // of choices, with commas between
  bool is_required = false;
  bool is_repeated = false;

  // The kind of words that a shell offers where an option has no choices.
  bool takes_number() const { return value == "INT" || value == "UINT" || value == "FLOAT"; }
  bool takes_file() const { return !value.empty() && choices.empty() && !takes_number(); }
};

struct CommandText {
  std::string name;  // "lanescope", "run"
  std::string description;
  std::vector<OptionText> options;
  std::vector<OptionText> arguments;                            // in their order
  std::vector<std::pair<std::string, std::string>> paragraphs;  // after the options: title, lines
  std::vector<CommandText> commands;
};

// `command` with the commands in it.
CommandText DescribeCommand(const CLI::App& command);

}  // namespace lanescope::cli
