// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include "cli/completions.h"

namespace lanescope::cli {
namespace {

constexpr std::string_view kZshBegin = R"sh(#compdef lanescope
# zsh completion for lanescope, made by `lanescope completions zsh`

)sh";
// Loaded from a folder of fpath, the file is the function's body; sourced, it only defines it.
constexpr std::string_view kZshEnd = R"sh(if [[ $funcstack[1] == _lanescope ]]; then
  _lanescope "$@"
else
  compdef _lanescope lanescope
fi
)sh";

// Without what has a meaning in the texts of _arguments and _describe.
std::string Plain(std::string_view text) {
  std::string plain;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') plain += '\\';
    plain += c;
  }
  return plain;
}

// ":what:how to complete it".
std::string ZshAction(const OptionText& option) {
  const std::string what = Plain(option.names.back().substr(option.names.back().find_first_not_of('-')));
  if (option.is_list) return fmt::format(":{}:_sequence compadd - {}", what, Joined(option.choices));
  if (!option.choices.empty()) return fmt::format(":{}:({})", what, Joined(option.choices));
  return option.takes_file() ? fmt::format(":{}:_files", what) : fmt::format(":{}: ", what);
}

std::string ZshOption(const OptionText& option) {
  std::string excluded, specs;
  for (const std::string& name : option.names) excluded += (excluded.empty() ? "" : " ") + name;
  const std::string first = option.is_repeated ? "*" : "(" + excluded + ")";
  for (const std::string& name : option.names) {
    const std::string equals = option.value.empty() ? "" : name.starts_with("--") ? "=" : "+";
    const std::string spec = fmt::format("{}{}{}[{}]{}", first, name, equals, Plain(option.description),
                                         option.value.empty() ? "" : ZshAction(option));
    specs += fmt::format("    {} \\\n", Quoted(spec));
  }
  return specs;
}

std::string CommandFunction(const CommandText& command) {
  std::string text = fmt::format("_lanescope_{}() {{\n  _arguments -s -S \\\n", command.name);
  for (const OptionText& option : command.options) text += ZshOption(option);
  for (const OptionText& argument : command.arguments)
    text += fmt::format("    {} \\\n", Quoted((argument.is_repeated ? "*" : "") + ZshAction(argument)));
  text.resize(text.size() - 3);  // the last backslash
  return text + "\n}\n\n";
}

}  // namespace

std::string ZshCompletions(const CommandText& program) {
  std::string text(kZshBegin);
  for (const CommandText& command : program.commands) text += CommandFunction(command);
  text += "_lanescope() {\n  local curcontext=$curcontext state line\n  _arguments -C \\\n";
  for (const OptionText& option : program.options) text += ZshOption(option);
  text += "    ':command:->command' '*::argument:->argument'\n  case $state in\n    command)\n";
  text += "      local -a commands=(\n";
  for (const CommandText& command : program.commands)
    text += fmt::format("        {}\n", Quoted(command.name + ":" + Plain(command.description)));
  text += "      )\n      _describe -t commands 'lanescope command' commands ;;\n";
  text += "    argument) (( $+functions[_lanescope_$line[1]] )) && _lanescope_$line[1] ;;\n  esac\n}\n\n";
  return text + std::string(kZshEnd);
}

}  // namespace lanescope::cli
