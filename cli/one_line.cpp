#include "cli/command.h"

namespace lanescope::cli {

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
      const auto byte = static_cast<unsigned char>(c);
      line += c == '\t' ? ' ' : byte < 0x20 || byte == 0x7f ? '?' : c;
    }
  }
  return line;
}

}  // namespace lanescope::cli
