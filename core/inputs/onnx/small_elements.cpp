// SPDX-License-Identifier: Apache-2.0
#include "core/inputs/onnx/small_elements.h"

#include <cmath>
#include <cstdint>
#include <limits>

namespace lanescope {
namespace {

// ONNX's numbers.
enum Small {
  kFloat8E4M3FN = 17,
  kFloat8E4M3FNUZ = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FNUZ = 20,
  kUint4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
  kUint2 = 25,
  kInt2 = 26
};

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// A float by its parts: sign, exponent with this bias, `mantissa` bits.
float Decoded(int code, int bits, int mantissa, int bias) {
  const int exponent = (code >> mantissa) & ((1 << (bits - 1 - mantissa)) - 1);
  const int fraction = code & ((1 << mantissa) - 1);
  const int whole = exponent == 0 ? fraction : fraction + (1 << mantissa);
  const float size = std::ldexp(static_cast<float>(whole), std::max(exponent, 1) - bias - mantissa);
  return (code >> (bits - 1)) != 0 ? -size : size;
}

float ValueOfCode(int format, int code) {
  switch (format) {
    case kFloat8E4M3FN:
      return (code & 0x7F) == 0x7F ? kNan : Decoded(code, 8, 3, 7);
    case kFloat8E4M3FNUZ:
      return code == 0x80 ? kNan : Decoded(code, 8, 3, 8);
    case kFloat8E5M2:
      if ((code & 0x7F) > 0x7C) return kNan;
      if ((code & 0x7F) == 0x7C) return (code & 0x80) != 0 ? -HUGE_VALF : HUGE_VALF;
      return Decoded(code, 8, 2, 15);
    case kFloat8E5M2FNUZ:
      return code == 0x80 ? kNan : Decoded(code, 8, 2, 16);
    case kFloat4E2M1:
      return Decoded(code & 0xF, 4, 1, 1);
    default:  // kFloat8E8M0: a power of two
      return code == 0xFF ? kNan : std::ldexp(1.0f, code - 127);
  }
}

bool IsSigned(int number) { return number == kInt4 || number == kInt2; }

}  // namespace

int SmallElementBits(int number) {
  if (number == kUint4 || number == kInt4 || number == kFloat4E2M1) return 4;
  if (number == kUint2 || number == kInt2) return 2;
  return (number >= kFloat8E4M3FN && number <= kFloat8E5M2FNUZ) || number == kFloat8E8M0 ? 8 : 0;
}

DataType SmallElementType(int number) { return IsSigned(number) ? DataType::kInt8 : DataType::kUint8; }

int OnnxFormat(int number) {
  const bool whole = number == kUint4 || number == kUint2 || IsSigned(number);
  return SmallElementBits(number) == 0 || whole ? 0 : number;
}

Tensor UnpackElements(int number, const Shape& shape, std::string_view bytes) {
  const int bits = SmallElementBits(number), in_byte = 8 / bits, mask = (1 << bits) - 1;
  Tensor tensor(SmallElementType(number), shape);
  auto* out = static_cast<uint8_t*>(tensor.raw_data());
  for (int64_t i = 0; i < tensor.NumElements(); ++i) {
    const int shift = static_cast<int>(i % in_byte) * bits;
    int code = (static_cast<uint8_t>(bytes[static_cast<size_t>(i / in_byte)]) >> shift) & mask;
    if (IsSigned(number) && (code >> (bits - 1)) != 0) code -= 1 << bits;
    out[i] = static_cast<uint8_t>(code);
  }
  return tensor;
}

std::vector<float> FormatValues(int format) {
  std::vector<float> values;
  for (int code = 0; code < 1 << SmallElementBits(format); ++code)
    values.push_back(ValueOfCode(format, code));
  return values;
}

}  // namespace lanescope
