// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include "cli/completions.h"

namespace lanescope::cli {
namespace {

std::string FishQuoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

std::string FishNames(const OptionText& option) {
  std::string names;
  for (const std::string& name : option.names) {
    const bool is_long = name.starts_with("--");
    names += fmt::format(" {} {}", is_long ? "-l" : "-s", name.substr(is_long ? 2 : 1));
  }
  return names;
}

std::string FishValue(const OptionText& option) {
  if (option.value.empty()) return "";
  const std::string choices = Joined(option.choices);
  if (option.is_list) return " -x -a " + FishQuoted("(__fish_append , " + choices + ")");
  if (!option.choices.empty()) return " -x -a " + FishQuoted(choices);
  return option.takes_number() ? " -x" : " -r -F";
}

std::string OptionLines(const CommandText& command, const std::string& when) {
  std::string text;
  for (const OptionText& option : command.options)
    text += fmt::format("complete -c lanescope -n {}{}{} -d {}\n", when, FishNames(option), FishValue(option),
                        FishQuoted(option.description));
  return text;
}

}  // namespace

std::string FishCompletions(const CommandText& program) {
  std::string text =
      "# fish completion for lanescope, made by `lanescope completions fish`\n"
      "complete -c lanescope -f -n __fish_use_subcommand\n";
  text += OptionLines(program, "__fish_use_subcommand");
  for (const CommandText& command : program.commands) {
    const std::string when = FishQuoted("__fish_seen_subcommand_from " + command.name);
    text += fmt::format("complete -c lanescope -n __fish_use_subcommand -a {} -d {}\n", command.name,
                        FishQuoted(command.description));
    text += OptionLines(command, when);
    for (const OptionText& argument : command.arguments) {
      if (argument.choices.empty()) continue;
      text +=
          fmt::format("complete -c lanescope -n {} -f -a {}\n", when, FishQuoted(Joined(argument.choices)));
    }
  }
  return text;
}

}  // namespace lanescope::cli
