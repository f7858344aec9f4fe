// SPDX-License-Identifier: Apache-2.0
#include "graphs/md5.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <string>

namespace lanescope::graphs {
namespace {

constexpr size_t kBlock = 64;
using Digest = std::array<uint32_t, 4>;

// The integer parts of 2^32 |sin(i + 1)|.
const std::array<uint32_t, 64>& SineTable() {
  static const std::array<uint32_t, 64> table = [] {
    std::array<uint32_t, 64> sines{};
    for (size_t i = 0; i < sines.size(); ++i) {
      sines[i] = static_cast<uint32_t>(std::fabs(std::sin(static_cast<double>(i + 1))) * 4294967296.0);
    }
    return sines;
  }();
  return table;
}

uint32_t WordAt(std::string_view bytes, size_t at) {
  uint32_t word = 0;
  for (size_t i = 4; i > 0; --i) word = word << 8 | static_cast<uint8_t>(bytes[at + i - 1]);
  return word;
}

void AddBlock(Digest& digest, std::string_view block) {
  constexpr int kShifts[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
  auto [a, b, c, d] = digest;
  for (uint32_t i = 0; i < 64; ++i) {
    uint32_t mixed = 0, word = 0;
    switch (i / 16) {
      case 0:
        mixed = (b & c) | (~b & d), word = i;
        break;
      case 1:
        mixed = (d & b) | (~d & c), word = 5 * i + 1;
        break;
      case 2:
        mixed = b ^ c ^ d, word = 3 * i + 5;
        break;
      default:
        mixed = c ^ (b | ~d), word = 7 * i;
        break;
    }
    const uint32_t sum = a + mixed + SineTable()[i] + WordAt(block, size_t{word % 16} * 4);
    a = d;
    d = c;
    c = b;
    b += std::rotl(sum, kShifts[i / 16][i % 4]);
  }
  digest[0] += a;
  digest[1] += b;
  digest[2] += c;
  digest[3] += d;
}

}  // namespace

std::array<uint8_t, 16> Md5(std::string_view text) {
  std::string padded(text);
  padded += '\x80';
  while (padded.size() % kBlock != kBlock - 8) padded += '\0';
  const uint64_t bits = uint64_t{text.size()} * 8;
  for (int i = 0; i < 8; ++i) padded += static_cast<char>(bits >> (8 * i) & 0xFF);
  Digest digest = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  for (size_t at = 0; at < padded.size(); at += kBlock) {
    AddBlock(digest, std::string_view(padded).substr(at, kBlock));
  }
  std::array<uint8_t, 16> bytes{};
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(digest[i / 4] >> (8 * (i % 4)));
  return bytes;
}

}  // namespace lanescope::graphs
