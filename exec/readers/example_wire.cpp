// SPDX-License-Identifier: Apache-2.0
#include "exec/readers/example_wire.h"

#include <bit>
#include <cstring>
#include <optional>

#include "core/base/protobuf_wire.h"

namespace lanescope::exec {
namespace {

// Calls `visit` with each value of a list of numbers: packed, one by one, or both. False: it is damaged.
template <WireType kSingle, typename Visit>
bool VisitNumbers(std::string_view list, Visit visit) {
  WireReader walk(list);
  while (walk.Next()) {
    if (walk.field() != 1) continue;
    if (walk.type() == kSingle) {
      visit(walk.number());
      continue;
    }
    if (walk.type() != WireType::kBytes) return false;
    std::string_view packed = walk.bytes();
    if constexpr (kSingle == WireType::kFixed32) {
      if (packed.size() % 4 != 0) return false;
      for (; !packed.empty(); packed.remove_prefix(4)) {
        uint32_t value = 0;
        std::memcpy(&value, packed.data(), sizeof value);
        visit(value);
      }
    } else {
      while (!packed.empty()) {
        const std::optional<uint64_t> value = TakeVarint(&packed);
        if (!value.has_value()) return false;
        visit(*value);
      }
    }
  }
  return !walk.is_damaged();
}

bool FindLists(std::string_view feature, FeatureValues* values) {
  WireReader walk(feature);
  while (walk.Next()) {
    if (walk.type() != WireType::kBytes || walk.field() < 1 || walk.field() > 3) continue;
    values->dtype = walk.field() == 1   ? DataType::kString
                    : walk.field() == 2 ? DataType::kFloat
                                        : DataType::kInt64;
    values->list = walk.bytes();
  }
  return !walk.is_damaged();
}

}  // namespace

int64_t FeatureValues::Count() const {
  int64_t count = 0;
  if (dtype == DataType::kFloat)
    return VisitNumbers<WireType::kFixed32>(list, [&](uint64_t) { ++count; }) ? count : -1;
  if (dtype == DataType::kInt64)
    return VisitNumbers<WireType::kVarint>(list, [&](uint64_t) { ++count; }) ? count : -1;
  WireReader walk(list);
  while (walk.Next()) {
    if (walk.field() != 1) continue;
    if (walk.type() != WireType::kBytes) return -1;
    ++count;
  }
  return walk.is_damaged() ? -1 : count;
}

void FeatureValues::CopyTo(std::string* to) const {
  WireReader walk(list);
  while (walk.Next()) {
    if (walk.field() == 1) *to++ = std::string(walk.bytes());
  }
}

void FeatureValues::CopyTo(float* to) const {
  VisitNumbers<WireType::kFixed32>(
      list, [&](uint64_t bits) { *to++ = std::bit_cast<float>(static_cast<uint32_t>(bits)); });
}

void FeatureValues::CopyTo(int64_t* to) const {
  VisitNumbers<WireType::kVarint>(list, [&](uint64_t value) { *to++ = static_cast<int64_t>(value); });
}

bool FindFeatures(std::string_view example,
                  std::vector<std::pair<std::string_view, FeatureValues>>* features) {
  WireReader in_example(example);
  while (in_example.Next()) {
    if (in_example.field() != 1 || in_example.type() != WireType::kBytes) continue;
    WireReader in_features(in_example.bytes());
    while (in_features.Next()) {
      if (in_features.field() != 1 || in_features.type() != WireType::kBytes) continue;
      auto& [key, values] = features->emplace_back();
      WireReader entry(in_features.bytes());
      while (entry.Next()) {
        if (entry.type() != WireType::kBytes) continue;
        if (entry.field() == 1) key = entry.bytes();
        if (entry.field() == 2 && !FindLists(entry.bytes(), &values)) return false;
      }
      if (entry.is_damaged()) return false;
    }
    if (in_features.is_damaged()) return false;
  }
  return !in_example.is_damaged();
}

}  // namespace lanescope::exec
