// SPDX-License-Identifier: Apache-2.0
#include "cli/print.h"

#include <cerrno>
#include <cstdio>
#include <system_error>

namespace lanescope::cli {

void PrintText(std::string_view lines) {
  const std::string text = PrintableLines(lines);
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size()) return;
  throw std::system_error(errno, std::generic_category(), "cannot write to standard output");
}

void PrintNotes(std::string_view lines) {
  const std::string text = PrintableLines(lines);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void PrintLiteralNote(const char* lines) { std::fputs(lines, stderr); }

void NoteLine(const std::string& text) { PrintNote("{}\n", OneLine(text)); }

void PrintJson(std::string_view json) { PrintText(PrintableJson(json) + "\n"); }

std::string OneLine(std::string_view text) {
  std::string line;
  bool broken = false;  // a line break came since the last visible character
  for (const char c : text) {
    if (c == '\n' || c == '\r') {
      broken = true;
    } else if (broken && (c == ' ' || c == '\t')) {
      continue;  // indentation
    } else {
      if (broken && !line.empty()) {
        while (!line.empty() && line.back() == ' ') line.pop_back();
        line += line.ends_with(':') || line.ends_with(',') || line.ends_with(';') ? " " : "; ";
      }
      broken = false;
      line += c == '\t' ? ' ' : c;
    }
  }
  return Printable(line);
}

}  // namespace lanescope::cli
