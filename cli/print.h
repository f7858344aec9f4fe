// SPDX-License-Identifier: Apache-2.0
// The one way out for everything that the program prints: no text of a file, a name or a program reaches the
// terminal with characters that command it. Control characters of our own: line breaks, tabs, and what
// Progress rewrites its line with.
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <type_traits>

#include "core/base/printable.h"

namespace lanescope::cli {

// How Print shows a value: text as one printable line, so that a name cannot look like lines of ours.
template <typename T>
using Shown = std::conditional_t<std::is_convertible_v<const T&, std::string_view>, std::string, const T&>;

template <typename T>
Shown<T> Show(const T& value) {
  if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    return Printable(value);
  } else {
    return value;
  }
}

// Lines as they are. On standard output they throw std::system_error when it does not take them; what
// standard error does not take is lost.
void PrintText(std::string_view lines);
void PrintNotes(std::string_view lines);
// A text of ours to standard error, as it is. Takes no memory.
void PrintLiteralNote(const char* lines);
// A JSON text and a line break.
void PrintJson(std::string_view json);

template <typename... T>
std::string FormatShown(fmt::format_string<Shown<T>...> format, const T&... values) {
  return [&](const auto&... shown) {
    return fmt::vformat(fmt::string_view(format), fmt::make_format_args(shown...));
  }(Show(values)...);
}

// To standard output and standard error, formatted like fmt::print.
template <typename... T>
void Print(fmt::format_string<Shown<T>...> format, const T&... values) {
  PrintText(FormatShown<T...>(format, values...));
}
template <typename... T>
void PrintNote(fmt::format_string<Shown<T>...> format, const T&... values) {
  PrintNotes(FormatShown<T...>(format, values...));
}

// `text` as one line of standard error.
void NoteLine(const std::string& text);

// `text` as one line: line breaks become "; " (after a colon or comma a blank), other characters that command
// a terminal escapes.
std::string OneLine(std::string_view text);

}  // namespace lanescope::cli
