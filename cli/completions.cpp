// SPDX-License-Identifier: Apache-2.0
#include "cli/completions.h"

#include <memory>

#include "cli/command.h"
#include "cli/print.h"

namespace lanescope::cli {

std::string Quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

void AddCompletions(CLI::App* app) {
  auto* command = app->add_subcommand("completions", "Print what completes this program's words in a shell");
  auto shell = std::make_shared<std::string>();
  command->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  AddExample(command, "lanescope completions bash");
  command->callback([app, shell] {
    const CommandText program = DescribeCommand(*app);
    PrintText(*shell == "bash"  ? BashCompletions(program)
              : *shell == "zsh" ? ZshCompletions(program)
                                : FishCompletions(program));
  });
}

}  // namespace lanescope::cli
