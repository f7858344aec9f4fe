// SPDX-License-Identifier: Apache-2.0
// The bytes of a fuzzer's input as decisions: a structured case is made by reading numbers one after another.
// An exhausted source yields zeros, so that every input makes a case and a short one a simple case.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>

namespace lanescope {

// Borrows the bytes. Not thread-safe.
class ByteSource {
 public:
  ByteSource(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  uint8_t Byte() {
    if (size_ == 0) return 0;
    --size_;
    return *data_++;
  }
  // 0 .. end - 1; of at most 65536 values.
  size_t Below(size_t end) {
    if (end <= 1) return 0;
    const size_t low = Byte();
    return (end <= 256 ? low : low | (size_t{Byte()} << 8)) % end;
  }
  bool Bool() { return (Byte() & 1) != 0; }
  // True once in `n`; false where nothing is left.
  bool OneIn(size_t n) { return Below(n) == n - 1; }
  uint64_t Bits() {
    uint64_t bits = 0;
    for (int i = 0; i < 8; ++i) bits = bits << 8 | Byte();
    return bits;
  }
  // Mostly small; else a border of some type, or anything.
  int64_t Integer() {
    constexpr int64_t kMin = std::numeric_limits<int64_t>::min(), kMax = std::numeric_limits<int64_t>::max();
    constexpr int64_t kBorders[] = {-1,
                                    kMin,
                                    kMax,
                                    kMin + 1,
                                    kMax - 1,
                                    int64_t{1} << 31,
                                    (int64_t{1} << 31) - 1,
                                    -129,
                                    255,
                                    256,
                                    65535,
                                    65536,
                                    -(int64_t{1} << 31),
                                    -(int64_t{1} << 31) - 1,
                                    1000,
                                    16777217,
                                    int64_t{1} << 32,
                                    int64_t{1} << 40,
                                    int64_t{1} << 61,
                                    int64_t{1} << 62,
                                    (int64_t{1} << 32) - 1};
    const size_t kind = Byte();
    if (kind < 200) return static_cast<int64_t>(kind % 8);
    if (kind < 220) return -static_cast<int64_t>(kind % 8);
    if (kind < 250) return kBorders[Below(std::size(kBorders))];
    return static_cast<int64_t>(Bits());
  }
  double Real() {
    constexpr double kBorders[] = {0.0,
                                   -0.0,
                                   1.0,
                                   -1.0,
                                   0.5,
                                   1e-45,
                                   1e-310,
                                   3e38,
                                   -3e38,
                                   1e308,
                                   2147483648.0,
                                   -2147483904.0,
                                   9223372036854775808.0,
                                   std::numeric_limits<double>::infinity(),
                                   -std::numeric_limits<double>::infinity(),
                                   std::numeric_limits<double>::quiet_NaN()};
    const size_t kind = Byte();
    if (kind < 160) return (static_cast<double>(kind) - 80) / 16;
    return kBorders[kind % std::size(kBorders)];
  }
  // At most `longest` bytes.
  std::string Text(size_t longest) {
    std::string text(Below(longest + 1), '\0');
    for (char& c : text) c = static_cast<char>(Byte());
    return text;
  }
  // Shows what is left, without taking it.
  std::string_view Peek() const { return {reinterpret_cast<const char*>(data_), size_}; }
  // At most what is left.
  void Skip(size_t bytes) {
    data_ += bytes;
    size_ -= bytes;
  }

 private:
  const uint8_t* data_;
  size_t size_;
};

}  // namespace lanescope
