// SPDX-License-Identifier: Apache-2.0
// Messages of protobuf field by field: of files that have too many to make objects of, and of formats whose
// definitions are not here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lanescope {

// Takes a number from the front of `bytes`. None: it has no end.
inline std::optional<uint64_t> TakeVarint(std::string_view* bytes) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && !bytes->empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes->front());
    bytes->remove_prefix(1);
    value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// Walks the fields of a message, whose bytes must outlive it. Value type.
class WireReader {
 public:
  explicit WireReader(std::string_view message) : rest_(message) {}

  // To the next field. False: there is none any more, or what comes is none.
  bool Next() {
    if (rest_.empty() || is_damaged_) return false;
    is_damaged_ = !Take();
    return !is_damaged_;
  }
  bool is_damaged() const { return is_damaged_; }

  // The number of the present field.
  int field() const { return field_; }
  WireType type() const { return type_; }
  // 0 of a field of bytes.
  uint64_t number() const { return number_; }
  // Empty of a varint; 4 or 8 of a number of fixed size.
  std::string_view bytes() const { return bytes_; }

 private:
  bool Take() {
    const std::optional<uint64_t> tag = TakeVarint(&rest_);
    if (!tag.has_value() || *tag >> 3 == 0 || *tag >> 3 > INT32_MAX) return false;
    field_ = static_cast<int>(*tag >> 3);
    type_ = static_cast<WireType>(*tag & 7);
    number_ = 0;
    bytes_ = {};
    if (type_ == WireType::kFixed64 || type_ == WireType::kFixed32) {
      if (!TakeBytes(type_ == WireType::kFixed64 ? 8 : 4)) return false;
      for (size_t i = bytes_.size(); i-- > 0;) number_ = number_ << 8 | static_cast<uint8_t>(bytes_[i]);
      return true;
    }
    if (type_ != WireType::kVarint && type_ != WireType::kBytes) return false;
    const std::optional<uint64_t> number = TakeVarint(&rest_);
    if (!number.has_value()) return false;
    if (type_ == WireType::kBytes) return TakeBytes(*number);
    number_ = *number;
    return true;
  }
  bool TakeBytes(uint64_t size) {
    if (size > rest_.size()) return false;
    bytes_ = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return true;
  }

  std::string_view rest_;
  bool is_damaged_ = false;
  int field_ = 0;
  WireType type_ = WireType::kVarint;
  uint64_t number_ = 0;
  std::string_view bytes_;
};

// A message in the making. Value type.
class WireWriter {
 public:
  WireWriter& Integer(int field, uint64_t value) {
    Tag(field, WireType::kVarint);
    Varint(value);
    return *this;
  }
  WireWriter& Signed(int field, int64_t value) { return Integer(field, static_cast<uint64_t>(value)); }
  WireWriter& Fixed(int field, uint64_t value) {
    Tag(field, WireType::kFixed64);
    LittleEndian(value, 8);
    return *this;
  }
  WireWriter& Fixed32(int field, uint32_t value) {
    Tag(field, WireType::kFixed32);
    LittleEndian(value, 4);
    return *this;
  }
  WireWriter& Bytes(int field, std::string_view value) {
    Tag(field, WireType::kBytes);
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
  void Tag(int field, WireType type) {
    Varint(static_cast<uint64_t>(field) << 3 | static_cast<uint64_t>(type));
  }
  void Varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  void LittleEndian(uint64_t value, int size) {
    for (int i = 0; i < size; ++i) bytes_ += static_cast<char>(value >> (8 * i) & 0xff);
  }

  std::string bytes_;
};

}  // namespace lanescope
