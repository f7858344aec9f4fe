// SPDX-License-Identifier: Apache-2.0
#include "core/base/crc32c.h"

#include <array>
#include <cstddef>
#include <cstring>

namespace lanescope {
namespace {

// table[k][b]: what byte b does to the checksum k bytes later.
constexpr auto kTables = [] {
  std::array<std::array<uint32_t, 256>, 8> tables{};
  for (uint32_t b = 0; b < 256; ++b) {
    uint32_t crc = b;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78u : 0u);
    tables[0][b] = crc;
  }
  for (size_t k = 1; k < tables.size(); ++k) {
    for (size_t b = 0; b < 256; ++b) {
      const uint32_t crc = tables[k - 1][b];
      tables[k][b] = crc >> 8 ^ tables[0][crc & 0xFF];
    }
  }
  return tables;
}();

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t CrcByInstruction(std::string_view bytes) {
  uint64_t crc = ~0u;
  size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + at, sizeof(word));
    crc = __builtin_ia32_crc32di(crc, word);
  }
  auto rest = static_cast<uint32_t>(crc);
  for (; at < bytes.size(); ++at) rest = __builtin_ia32_crc32qi(rest, static_cast<uint8_t>(bytes[at]));
  return ~rest;
}
#endif

}  // namespace

uint32_t Crc32c(std::string_view bytes) {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2");
  if (has_instruction) return CrcByInstruction(bytes);
#endif
  return PortableCrc32c(bytes);
}

uint32_t PortableCrc32c(std::string_view bytes) {
  uint32_t crc = ~0u;
  size_t at = 0;
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(bytes[at + i]); };
  for (; at + 8 <= bytes.size(); at += 8) {
    uint32_t next = 0;
    for (size_t i = 0; i < 8; ++i) {
      const uint32_t mixed = i < 4 ? (crc >> 8 * i & 0xFF) ^ byte(i) : byte(i);
      next ^= kTables[7 - i][mixed];
    }
    crc = next;
  }
  for (; at < bytes.size(); ++at) crc = crc >> 8 ^ kTables[0][(crc ^ byte(0)) & 0xFF];
  return ~crc;
}

}  // namespace lanescope
