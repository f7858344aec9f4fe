// SPDX-License-Identifier: Apache-2.0
#include "cli/command_text.h"

#include <algorithm>
#include <sstream>

#include "cli/options.h"
#include "core/strategies/graph_strategy.h"
#include "core/strategies/strategy.h"

namespace lanescope::cli {
namespace {

std::vector<std::string> AllStrategies() {
  std::vector<std::string> names;
  for (const Strategy& strategy : Strategies()) names.emplace_back(strategy.name);
  for (const GraphStrategy& strategy : GraphStrategies()) names.emplace_back(strategy.name);
  return names;
}

// The words in braces of "TEXT:{off,kernels,full}".
std::vector<std::string> ChoicesOf(const std::string& type) {
  const size_t open = type.find(":{");
  if (open == std::string::npos || !type.ends_with('}')) return {};
  return SplitAtCommas(std::string_view(type).substr(open + 2, type.size() - open - 3));
}

OptionText DescribeOption(const CLI::Option& option) {
  OptionText text;
  for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) text.names.push_back("--" + name);
  if (text.names.empty()) text.names.push_back(option.get_name(true));
  text.description = option.get_description();
  text.is_required = option.get_required();
  text.is_repeated = option.get_expected_max() == CLI::detail::expected_max_vector_size;
  if (option.get_items_expected_max() == 0) return text;
  const std::string type = option.get_type_name();
  text.value = type.substr(0, type.find(':'));
  text.preset = option.get_default_str();
  text.choices = ChoicesOf(type);
  const auto is_one_of = [&](std::string_view name) { return std::ranges::count(text.names, name) > 0; };
  if (is_one_of("--strategy") || is_one_of("--strategies") || is_one_of("--start")) {
    text.choices = AllStrategies();
    text.is_list = true;
  }
  return text;
}

// A line that begins at the margin is the title of the indented ones below it, or a paragraph without title.
std::vector<std::pair<std::string, std::string>> ParagraphsOf(const std::string& footer) {
  std::vector<std::pair<std::string, std::string>> paragraphs;
  std::istringstream lines(footer);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    if (!line.starts_with(' ')) {
      paragraphs.emplace_back(line, "");
    } else if (!paragraphs.empty()) {
      paragraphs.back().second += line + "\n";
    }
  }
  return paragraphs;
}

}  // namespace

CommandText DescribeCommand(const CLI::App& command) {
  CommandText text{command.get_name(), command.get_description(), {}, {}, {}, {}};
  for (const CLI::Option* option : command.get_options())
    (option->nonpositional() ? text.options : text.arguments).push_back(DescribeOption(*option));
  text.paragraphs = ParagraphsOf(command.get_footer());
  for (const CLI::App* inner : command.get_subcommands({})) text.commands.push_back(DescribeCommand(*inner));
  return text;
}

}  // namespace lanescope::cli
