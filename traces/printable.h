// Texts of files on a terminal. Private to traces/.
#pragma once

#include <string>
#include <string_view>

namespace lanescope {

// `text` with blanks for control characters, which would break lines or command the terminal.
inline std::string Printable(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return result;
}

}  // namespace lanescope
