// Walks the fields of a protobuf message, of which files have too many to make objects of.
// Internal to traces.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lanescope::traces {

// A message of a file in memory; `path`, for errors, and the bytes must outlive it. A field that is of
// another type than asked for reads as 0 or empty, as a field does that nobody wrote. Value type.
class WireMessage {
 public:
  WireMessage(std::string_view bytes, const std::string* path) : rest_(bytes), path_(path) {}

  // To the next field; false: there is none. Throws DataLoss for what is no message.
  bool Next();
  // Of the present field.
  int field() const { return field_; }
  int64_t Integer() const { return type_ == kVarint ? static_cast<int64_t>(number_) : 0; }
  double Real() const;
  std::string_view Bytes() const { return type_ == kBytes ? bytes_ : std::string_view(); }
  std::string Text() const { return std::string(Bytes()); }
  WireMessage Nested() const { return {Bytes(), path_}; }
  bool is_bytes() const { return type_ == kBytes; }
  bool is_integer() const { return type_ == kVarint; }

 private:
  enum Type : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
  [[noreturn]] void Damaged() const;
  uint64_t Varint();
  uint64_t Fixed(size_t size);

  std::string_view rest_;
  const std::string* path_;
  int field_ = 0;
  Type type_ = kVarint;
  uint64_t number_ = 0;
  std::string_view bytes_;
};

}  // namespace lanescope::traces
