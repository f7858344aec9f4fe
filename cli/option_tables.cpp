// SPDX-License-Identifier: Apache-2.0
#include "cli/option_tables.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

namespace lanescope::cli {
namespace {

// Text in a cell: a bar would end it, and angle brackets are HTML.
std::string Cell(std::string_view text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|' || c == '<' || c == '*') cell += '\\';
    cell += c == '\n' ? ' ' : c;
  }
  return cell;
}

std::string Code(std::string_view text) { return text.empty() ? "" : fmt::format("`{}`", text); }

// "`-o`, `--output` TEXT".
std::string NamesOf(const OptionText& option) {
  std::string names;
  for (const std::string& name : option.names) names += (names.empty() ? "" : ", ") + Code(name);
  return option.value.empty() ? names : names + " " + Cell(option.value);
}

std::string MeaningOf(const OptionText& option) {
  std::string text = Cell(option.description);
  if (!option.choices.empty() && !option.is_list)
    text += fmt::format("; one of `{}`", fmt::join(option.choices, "`, `"));
  if (option.is_repeated) text += "; may be given several times";
  return text;
}

std::string Table(const CommandText& command) {
  std::string table = "| Option | Default | Meaning |\n|---|---|---|\n";
  for (const OptionText& argument : command.arguments) {
    table += fmt::format("| {}{} | | {} |\n", Cell(argument.names.front()),
                         argument.is_required ? "" : " (may be left out)", MeaningOf(argument));
  }
  for (const OptionText& option : command.options) {
    table += fmt::format("| {} | {} | {} |\n", NamesOf(option), Code(option.preset), MeaningOf(option));
  }
  return table;
}

}  // namespace

std::string OptionsPage(const CommandText& program) {
  std::string page =
      "# Options\n\n"
      "The options of every command, as `--help` prints them; [the command line](cli.md) shows what they are "
      "for.\nThe page is made from the program itself by `lanescope manual --options`.\n";
  for (const CommandText& command : program.commands) {
    page += fmt::format("\n## {}\n\n{}.\n\n{}", command.name, Cell(command.description), Table(command));
  }
  return page;
}

}  // namespace lanescope::cli
