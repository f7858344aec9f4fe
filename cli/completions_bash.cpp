// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include "cli/completions.h"

namespace lanescope::cli {
namespace {

constexpr std::string_view kBashBegin =
    R"sh(# bash completion for lanescope, made by `lanescope completions bash`

_lanescope() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command= i
  local options= words= list= any=
  # bash takes --option=value for three words.
  if [[ $word == '=' ]]; then word=; elif [[ $before == '=' ]]; then before=${COMP_WORDS[COMP_CWORD-2]}; fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    if [[ ${COMP_WORDS[i]} != -* ]]; then command=${COMP_WORDS[i]}; break; fi
  done
  case $command in
)sh";
constexpr std::string_view kBashEnd = R"sh(  esac
  COMPREPLY=()
  if [[ -n $any ]]; then
    compopt +o bashdefault +o default 2> /dev/null
  elif [[ -n $list ]]; then
    local kept=
    [[ $word == *,* ]] && kept=${word%,*},
    compopt -o nospace 2> /dev/null
    COMPREPLY=($(compgen -P "$kept" -W "$list" -- "${word##*,}"))
  elif [[ -n $words && $word != -* ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$word"))
  elif [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  fi
}
complete -o bashdefault -o default -F _lanescope lanescope
)sh";

std::string OptionNames(const CommandText& command) {
  std::string names;
  for (const OptionText& option : command.options) names += (names.empty() ? "" : " ") + Joined(option.names);
  return names;
}

// Completes the word after an option that takes a value.
std::string ValueCase(const OptionText& option) {
  if (option.value.empty()) return "";
  std::string pattern;
  for (const std::string& name : option.names) pattern += (pattern.empty() ? "" : "|") + name;
  if (!option.choices.empty())
    return fmt::format("        {}) {}={} ;;\n", pattern, option.is_list ? "list" : "words",
                       Quoted(Joined(option.choices)));
  return fmt::format("        {}) {}options= ;;\n", pattern, option.takes_number() ? "any=1 " : "");
}

std::string CommandCase(const CommandText& command) {
  std::string text = fmt::format("    {})\n      options={}\n", command.name, Quoted(OptionNames(command)));
  for (const OptionText& argument : command.arguments)
    if (!argument.choices.empty()) text += fmt::format("      words={}\n", Quoted(Joined(argument.choices)));
  text += "      case $before in\n";
  for (const OptionText& option : command.options) text += ValueCase(option);
  return text + "      esac ;;\n";
}

}  // namespace

std::string BashCompletions(const CommandText& program) {
  std::string text(kBashBegin);
  std::vector<std::string> commands;
  for (const CommandText& command : program.commands) commands.push_back(command.name);
  text += fmt::format("    '')\n      options={} words={} ;;\n", Quoted(OptionNames(program)),
                      Quoted(Joined(commands)));
  for (const CommandText& command : program.commands) text += CommandCase(command);
  return text + std::string(kBashEnd);
}

}  // namespace lanescope::cli
