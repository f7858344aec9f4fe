// Protobuf messages, written field by field. Internal to traces.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lanescope::traces {

// A message in the making. Value type.
class WireWriter {
 public:
  WireWriter& Integer(int field, uint64_t value) {
    Varint(static_cast<uint64_t>(field) << 3);
    Varint(value);
    return *this;
  }
  WireWriter& Signed(int field, int64_t value) { return Integer(field, static_cast<uint64_t>(value)); }
  WireWriter& Fixed(int field, uint64_t value) {
    Varint(static_cast<uint64_t>(field) << 3 | 1);
    for (int i = 0; i < 8; ++i) bytes_ += static_cast<char>(value >> (8 * i) & 0xff);
    return *this;
  }
  WireWriter& Bytes(int field, std::string_view value) {
    Varint(static_cast<uint64_t>(field) << 3 | 2);
    Varint(value.size());
    bytes_ += value;
    return *this;
  }
  WireWriter& Nested(int field, const WireWriter& value) { return Bytes(field, value.bytes_); }
  // Behind its size, as files of many messages have them.
  std::string Delimited() const {
    WireWriter sized;
    sized.Varint(bytes_.size());
    return sized.bytes_ + bytes_;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void Varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

}  // namespace lanescope::traces
