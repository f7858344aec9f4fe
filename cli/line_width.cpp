// SPDX-License-Identifier: Apache-2.0
#include "cli/line_width.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace lanescope::cli {
namespace {

constexpr int kDefaultWidth = 120, kLeastWidth = 40, kMostWidth = 100000;

bool full_names = false;
int given_width = 0;

int TerminalColumns() {
  winsize size = {};
  return isatty(STDOUT_FILENO) != 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int GivenColumns() {
  const char* variable = std::getenv("COLUMNS");
  const std::string_view text = variable == nullptr ? "" : variable;
  int columns = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), columns);
  return error == std::errc() && end == text.data() + text.size() ? columns : 0;
}

}  // namespace

void AddFullNames(CLI::App* command) {
  command->add_flag("--full-names", full_names, "Do not shorten names to the width of the terminal");
}

void AddLineWidth(CLI::App* command) {
  AddFullNames(command);
  command->add_option("--width", given_width, "Columns of a line; default: as many as the terminal has")
      ->check(CLI::Range(kLeastWidth, kMostWidth));
}

int LineWidth() {
  if (full_names) return 0;
  if (given_width > 0) return given_width;
  for (const int columns : {TerminalColumns(), GivenColumns()}) {
    if (columns > 0 && columns <= kMostWidth) return std::max(columns, kLeastWidth);
  }
  return kDefaultWidth;
}

}  // namespace lanescope::cli
