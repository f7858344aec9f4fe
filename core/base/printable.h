// SPDX-License-Identifier: Apache-2.0
// Texts from files, programs and people as a terminal may show them.
#pragma once

#include <string>
#include <string_view>

namespace lanescope {

// All of these show bytes that are no UTF-8 and characters that command a terminal or hide what is there
// (control characters, line separators, those that turn the direction of writing) as escapes: \x1b, \x9b,
// \u202e. What they return they leave as it is.

// In one line: line breaks and tabs too are escapes, \n and \t.
std::string Printable(std::string_view text);
// Line breaks and tabs stay.
std::string PrintableLines(std::string_view text);
// JSON with the same meaning in which such characters of strings are JSON's escapes. Bytes that are no UTF-8
// become U+FFFD.
std::string PrintableJson(std::string_view json);

// Columns that a printable text takes: its characters.
size_t ColumnsOf(std::string_view text);

}  // namespace lanescope
