#include "traces/import/wire_message.h"

#include <bit>

#include "core/base/error.h"

namespace lanescope::traces {

void WireMessage::Damaged() const {
  Throw(Code::kDataLoss, "{} is damaged, or no protobuf file of a profiler", *path_);
}

uint64_t WireMessage::Varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (rest_.empty()) Damaged();
    const auto byte = static_cast<uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
  Damaged();
}

uint64_t WireMessage::Fixed(size_t size) {
  if (rest_.size() < size) Damaged();
  uint64_t value = 0;
  for (size_t i = 0; i < size; ++i) value |= uint64_t{static_cast<uint8_t>(rest_[i])} << (8 * i);
  rest_.remove_prefix(size);
  return value;
}

bool WireMessage::Next() {
  if (rest_.empty()) return false;
  const uint64_t tag = Varint();
  if (tag >> 3 == 0 || tag >> 3 > INT32_MAX) Damaged();
  field_ = static_cast<int>(tag >> 3);
  type_ = static_cast<Type>(tag & 7);
  switch (type_) {
    case kVarint:
      number_ = Varint();
      return true;
    case kFixed64:
      number_ = Fixed(8);
      return true;
    case kFixed32:
      number_ = Fixed(4);
      return true;
    case kBytes: {
      const uint64_t size = Varint();
      if (size > rest_.size()) Damaged();
      bytes_ = rest_.substr(0, size);
      rest_.remove_prefix(size);
      return true;
    }
  }
  Damaged();
}

double WireMessage::Real() const {
  if (type_ == kFixed64) return std::bit_cast<double>(number_);
  if (type_ == kFixed32) return std::bit_cast<float>(static_cast<uint32_t>(number_));
  return 0;
}

}  // namespace lanescope::traces
