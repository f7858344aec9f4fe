#include "exec/readers/example_wire.h"

#include <cstring>

namespace lanescope::exec {
namespace {

constexpr uint32_t kVarintField = 0, kFixed64Field = 1, kBytesField = 2, kFixed32Field = 5;

// Walks the fields of a message.
class FieldWalk {
 public:
  explicit FieldWalk(std::string_view message) : rest_(message) {}

  // False: there is none any more, or the message is damaged.
  bool Next() {
    uint64_t tag = 0;
    if (rest_.empty() || !Varint(&tag)) return false;
    field = static_cast<uint32_t>(tag >> 3);
    type = static_cast<uint32_t>(tag & 7);
    switch (type) {
      case kVarintField:
        return Varint(&number);
      case kFixed64Field:
        return Take(8);
      case kFixed32Field:
        return Take(4);
      case kBytesField: {
        uint64_t size = 0;
        return Varint(&size) && Take(size);
      }
      default:
        damaged = true;
        return false;
    }
  }

  uint32_t field = 0, type = 0;
  uint64_t number = 0;
  std::string_view bytes;
  bool damaged = false;

 private:
  bool Varint(uint64_t* value) {
    *value = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<uint8_t>(rest_.front());
      rest_.remove_prefix(1);
      *value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    damaged = true;
    return false;
  }
  bool Take(uint64_t size) {
    if (size > rest_.size()) {
      damaged = true;
      return false;
    }
    bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return true;
  }

  std::string_view rest_;
};

// Calls `visit` with each value of a list of numbers: packed, one by one, or both. False: it is damaged.
template <uint32_t kSingle, typename Visit>
bool VisitNumbers(std::string_view list, Visit visit) {
  FieldWalk walk(list);
  while (walk.Next()) {
    if (walk.field != 1) continue;
    if (walk.type == kSingle) {
      if constexpr (kSingle == kVarintField) {
        visit(walk.number);
      } else {
        visit(walk.bytes);
      }
      continue;
    }
    if (walk.type != kBytesField) return false;
    std::string_view packed = walk.bytes;
    if constexpr (kSingle == kFixed32Field) {
      if (packed.size() % 4 != 0) return false;
      for (; !packed.empty(); packed.remove_prefix(4)) visit(packed.substr(0, 4));
    } else {
      while (!packed.empty()) {
        uint64_t value = 0;
        int shift = 0;
        size_t used = 0;
        for (;; shift += 7) {
          if (used == packed.size() || shift >= 64) return false;
          const auto byte = static_cast<uint8_t>(packed[used++]);
          value |= static_cast<uint64_t>(byte & 0x7f) << shift;
          if (byte < 0x80) break;
        }
        packed.remove_prefix(used);
        visit(value);
      }
    }
  }
  return !walk.damaged;
}

float FloatOf(std::string_view bytes) {
  float value = 0;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

bool FindLists(std::string_view feature, FeatureValues* values) {
  FieldWalk walk(feature);
  while (walk.Next()) {
    if (walk.type != kBytesField || walk.field < 1 || walk.field > 3) continue;
    values->dtype = walk.field == 1   ? DataType::kString
                    : walk.field == 2 ? DataType::kFloat
                                      : DataType::kInt64;
    values->list = walk.bytes;
  }
  return !walk.damaged;
}

}  // namespace

int64_t FeatureValues::Count() const {
  int64_t count = 0;
  if (dtype == DataType::kFloat)
    return VisitNumbers<kFixed32Field>(list, [&](std::string_view) { ++count; }) ? count : -1;
  if (dtype == DataType::kInt64)
    return VisitNumbers<kVarintField>(list, [&](uint64_t) { ++count; }) ? count : -1;
  FieldWalk walk(list);
  while (walk.Next()) {
    if (walk.field != 1) continue;
    if (walk.type != kBytesField) return -1;
    ++count;
  }
  return walk.damaged ? -1 : count;
}

void FeatureValues::CopyTo(std::string* to) const {
  FieldWalk walk(list);
  while (walk.Next()) {
    if (walk.field == 1) *to++ = std::string(walk.bytes);
  }
}

void FeatureValues::CopyTo(float* to) const {
  VisitNumbers<kFixed32Field>(list, [&](std::string_view bytes) { *to++ = FloatOf(bytes); });
}

void FeatureValues::CopyTo(int64_t* to) const {
  VisitNumbers<kVarintField>(list, [&](uint64_t value) { *to++ = static_cast<int64_t>(value); });
}

bool FindFeatures(std::string_view example,
                  std::vector<std::pair<std::string_view, FeatureValues>>* features) {
  FieldWalk in_example(example);
  while (in_example.Next()) {
    if (in_example.field != 1 || in_example.type != kBytesField) continue;
    FieldWalk in_features(in_example.bytes);
    while (in_features.Next()) {
      if (in_features.field != 1 || in_features.type != kBytesField) continue;
      auto& [key, values] = features->emplace_back();
      FieldWalk entry(in_features.bytes);
      while (entry.Next()) {
        if (entry.type != kBytesField) continue;
        if (entry.field == 1) key = entry.bytes;
        if (entry.field == 2 && !FindLists(entry.bytes, &values)) return false;
      }
      if (entry.damaged) return false;
    }
    if (in_features.damaged) return false;
  }
  return !in_example.damaged;
}

}  // namespace lanescope::exec
