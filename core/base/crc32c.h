// SPDX-License-Identifier: Apache-2.0
// The checksum of TensorFlow's files (Castagnoli's polynomial).
#pragma once

#include <cstdint>
#include <string_view>

namespace lanescope {

uint32_t Crc32c(std::string_view bytes);
// Crc32c on a processor without an instruction for it.
uint32_t PortableCrc32c(std::string_view bytes);
// As files store it, since the checksum of bytes that hold their own checksum tells nothing.
inline uint32_t MaskedCrc32c(std::string_view bytes) {
  const uint32_t crc = Crc32c(bytes);
  return (crc >> 15 | crc << 17) + 0xA282EAD8u;
}

}  // namespace lanescope
