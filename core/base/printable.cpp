// SPDX-License-Identifier: Apache-2.0
#include "core/base/printable.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace lanescope {
namespace {

struct Character {
  uint32_t code = 0;
  size_t bytes = 1;
  bool valid = false;  // else one byte that is no UTF-8
};

Character FirstOf(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  // Continuation bytes cannot lead, and 0xc0, 0xc1 and 0xf5.. lead nothing valid.
  const size_t bytes = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  if (bytes == 0 || text.size() < bytes) return {lead, 1, false};
  uint32_t code = lead & (0xffu >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {lead, 1, false};
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr std::array<uint32_t, 5> kLeast{0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  if (code < kLeast[bytes] || surrogate || code > 0x10ffff) return {lead, 1, false};
  return {code, bytes, true};
}

// C0, DEL and C1; marks of direction, separators of lines and paragraphs, embeddings, overrides and isolates.
bool Commands(uint32_t code) {
  if (code < 0xa0) return code < 0x20 || code >= 0x7f;
  if (code < 0x2000) return code == 0x61c;
  return code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x206f);
}

std::string Escape(const Character& character) {
  const bool is_byte = !character.valid || character.code < 0x80;
  return is_byte ? fmt::format("\\x{:02x}", character.code) : fmt::format("\\u{:04x}", character.code);
}

bool IsPlain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

// Copies `text`; `put` appends what stands for a character that may not stay.
template <typename Keeps, typename Put>
std::string Replace(std::string_view text, Keeps keeps, Put put) {
  if (IsPlain(text)) return std::string(text);
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Character character = FirstOf(text);
    if (character.valid && (keeps(character.code) || !Commands(character.code))) {
      result.append(text.substr(0, character.bytes));
    } else {
      put(character, &result);
    }
    text.remove_prefix(character.bytes);
  }
  return result;
}

}  // namespace

std::string Printable(std::string_view text) {
  return Replace(
      text, [](uint32_t) { return false; },
      [](const Character& character, std::string* result) {
        if (character.valid && character.code == '\n') return void(*result += "\\n");
        if (character.valid && character.code == '\t') return void(*result += "\\t");
        *result += Escape(character);
      });
}

std::string PrintableLines(std::string_view text) {
  return Replace(
      text, [](uint32_t code) { return code == '\n' || code == '\t'; },
      [](const Character& character, std::string* result) { *result += Escape(character); });
}

std::string PrintableJson(std::string_view json) {
  return Replace(
      json, [](uint32_t code) { return code == '\n' || code == '\t'; },
      [](const Character& character, std::string* result) {
        *result += character.valid ? fmt::format("\\u{:04x}", character.code) : "\xef\xbf\xbd";
      });
}

size_t ColumnsOf(std::string_view text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace lanescope
