// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <cctype>

#include "cli/manual.h"

namespace lanescope::cli {
namespace {

// Text as roff prints it: no escapes, no requests, and hyphens that can be copied.
std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

// A line of text: a dot or a quote at its beginning would be a request.
std::string Line(std::string_view text) {
  const bool request = text.starts_with('.') || text.starts_with('\'');
  return (request ? "\\&" : "") + Escaped(text) + "\n";
}

std::string Upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

std::string Bold(std::string_view text) { return "\\fB" + Escaped(text) + "\\fR"; }
std::string Italic(std::string_view text) { return "\\fI" + Escaped(text) + "\\fR"; }

std::string Header(const std::string& name, const std::string& what, const ManualEdition& edition) {
  return fmt::format(".TH {} 1 {} \"Lanescope {}\" \"Lanescope Manual\"\n.SH NAME\n{} \\- {}\n",
                     Escaped(Upper(name)), edition.date, Escaped(edition.version), Escaped(name),
                     Escaped(what));
}

std::string Words(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + Escaped(word);
  return text;
}

// Facts of an option beside its description.
std::string Facts(const OptionText& option) {
  std::string facts;
  const auto add = [&](const std::string& fact) { facts += (facts.empty() ? "" : "; ") + fact; };
  if (!option.choices.empty() && !option.is_list) add("one of " + Words(option.choices));
  if (!option.preset.empty()) add("default: " + Escaped(option.preset));
  if (option.is_repeated) add("may be given several times");
  return facts.empty() ? "" : "(" + facts + ")\n";
}

std::string OptionEntry(const OptionText& option) {
  std::string names;
  for (const std::string& name : option.names) names += (names.empty() ? "" : ", ") + Bold(name);
  const std::string value = option.value.empty() ? "" : " " + Italic(option.value);
  return ".TP\n" + names + value + "\n" + Line(option.description) + Facts(option);
}

std::string ArgumentEntry(const OptionText& argument) {
  return ".TP\n" + Italic(argument.names.front()) + "\n" + Line(argument.description);
}

std::string ArgumentUsage(const OptionText& argument) {
  const std::string text = Italic(argument.names.front()) + (argument.is_repeated ? " .\\|.\\|." : "");
  return argument.is_required ? text : "[" + text + "]";
}

std::string Paragraphs(const CommandText& command) {
  std::string text;
  for (const auto& [title, lines] : command.paragraphs) {
    if (lines.empty()) {
      text += ".SH NOTES\n" + Line(title);
      continue;
    }
    text += fmt::format(".SH {}\n.nf\n", Escaped(Upper(title)));
    for (size_t begin = 0; begin < lines.size();) {
      const size_t end = lines.find('\n', begin);
      text += Line(lines.substr(begin + 2, end - begin - 2));
      begin = end + 1;
    }
    text += ".fi\n";
  }
  return text;
}

std::string ExitStatus() {
  return ".SH EXIT STATUS\n0 done, 1 failed, 2 wrong usage; 128 and the number of the signal that ended it.\n"
         "An error is one line: error: CODE: what is wrong and what to do.\n";
}

}  // namespace

std::string ProgramPage(const CommandText& program, const ManualEdition& edition) {
  std::string page = Header(program.name, program.description, edition);
  page += fmt::format(".SH SYNOPSIS\n{} {} {}\n", Bold(program.name), Italic("COMMAND"),
                      "[" + Italic("OPTIONS") + "] .\\|.\\|.");
  page += ".SH COMMANDS\n";
  for (const CommandText& command : program.commands) {
    page += fmt::format(".TP\n{}\n{}", Bold(command.name), Line(command.description));
    page += fmt::format("See\n.BR {}\\-{} (1).\n", Escaped(program.name), Escaped(command.name));
  }
  page += ".SH OPTIONS\n";
  for (const OptionText& option : program.options) page += OptionEntry(option);
  page += Paragraphs(program) + ExitStatus() + ".SH SEE ALSO\n";
  for (const CommandText& command : program.commands) {
    page += fmt::format(".BR {}\\-{} (1){}\n", Escaped(program.name), Escaped(command.name),
                        &command == &program.commands.back() ? "" : ",");
  }
  return page;
}

std::string CommandPage(const CommandText& program, const CommandText& command,
                        const ManualEdition& edition) {
  std::string page = Header(program.name + "-" + command.name, command.description, edition);
  page += fmt::format(".SH SYNOPSIS\n{} [{}]", Bold(program.name + " " + command.name), Italic("OPTIONS"));
  for (const OptionText& argument : command.arguments) page += " " + ArgumentUsage(argument);
  page += "\n";
  if (!command.arguments.empty()) page += ".SH ARGUMENTS\n";
  for (const OptionText& argument : command.arguments) page += ArgumentEntry(argument);
  page += ".SH OPTIONS\n";
  for (const OptionText& option : command.options) page += OptionEntry(option);
  page += Paragraphs(command) + ExitStatus();
  return page + fmt::format(".SH SEE ALSO\n.BR {} (1)\n", Escaped(program.name));
}

}  // namespace lanescope::cli
