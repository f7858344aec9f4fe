// SPDX-License-Identifier: Apache-2.0
#include "exec/kernels/lookup_table.h"

#include <algorithm>
#include <array>
#include <type_traits>

namespace lanescope::exec {
namespace {

// Some 50 us of texts: a table of words for a batch of sentences (25,600 of them) keeps 16 workers busy.
constexpr int64_t kFindGrain = 1024;
// Look-ups in flight: the slots of this many keys are asked from memory before the first is read.
constexpr int64_t kFindBatch = 32;

template <typename T>
std::string KeyText(const T& key) {
  if constexpr (std::is_same_v<T, std::string>) {
    return key;
  } else {
    return fmt::format("{}", key);
  }
}

}  // namespace

template <typename Key, typename Value>
int64_t HashTable<Key, Value>::Locate(const Key& key, uint64_t hash) const {
  const uint32_t tag = TagOf(hash);
  for (uint64_t at = hash & mask_;; at = (at + 1) & mask_) {
    const Slot& slot = slots_[at];
    if (slot.number == 0) return -1;
    if (slot.tag == tag && keys_[slot.number - 1] == key) return slot.number - 1;
  }
}

template <typename Key, typename Value>
void HashTable<Key, Value>::Insert(const Key& key, const Value& value) {
  const uint64_t hash = HashOf(key);
  const int64_t old = Locate(key, hash);
  if (old >= 0) {
    if (values_[static_cast<size_t>(old)] == value) return;
    Throw(Code::kFailedPrecondition,
          "HashTable has different value for same key. Key {} has {} and trying to add "
          "value {}",
          KeyText(key), KeyText(values_[static_cast<size_t>(old)]), KeyText(value));
  }
  keys_.push_back(key);
  values_.push_back(value);
  uint64_t at = hash & mask_;
  while (slots_[at].number != 0) at = (at + 1) & mask_;
  slots_[at] = {TagOf(hash), static_cast<uint32_t>(keys_.size())};
}

template <typename Key, typename Value>
void HashTable<Key, Value>::Initialize(const TensorRef& keys, const TensorRef& values) {
  const int64_t count = keys.NumElements();
  if (!(keys.shape == values.shape)) {
    Throw(Code::kInvalidArgument, "Number of elements of keys and values must match: {} vs. {}",
          keys.shape.ToString(), values.shape.ToString());
  }
  if (count >= int64_t{1} << 30) Throw(Code::kInvalidArgument, "a table of {} entries is too large", count);
  if (initialized_) {
    RequireSameEntries(keys, values);
    return;
  }
  keys_.clear();
  values_.clear();
  slots_.assign(std::bit_ceil(static_cast<size_t>(count) * 2 + 1), Slot{0, 0});
  mask_ = slots_.size() - 1;
  keys_.reserve(static_cast<size_t>(count));
  values_.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) Insert(keys.as<Key>()[i], values.as<Value>()[i]);
  initialized_ = true;
}

template <typename Key, typename Value>
void HashTable<Key, Value>::RequireSameEntries(const TensorRef& keys, const TensorRef& values) const {
  for (int64_t i = 0; i < keys.NumElements(); ++i) {
    const Key& key = keys.as<Key>()[i];
    const int64_t entry = Locate(key, HashOf(key));
    if (entry < 0 || !(values_[static_cast<size_t>(entry)] == values.as<Value>()[i])) {
      Throw(Code::kFailedPrecondition, "Table was already initialized with different data.");
    }
  }
}

template <typename Key, typename Value>
void HashTable<Key, Value>::Find(const TensorRef& keys, const TensorRef& fallback, const TensorRef& values,
                                 WorkerTeam& team) const {
  const Key* in = keys.as<Key>();
  Value* out = values.as<Value>();
  const Value& missing = *fallback.as<Value>();
  team.ParallelFor(keys.NumElements(), kFindGrain, [&](int64_t begin, int64_t end) {
    std::array<uint64_t, kFindBatch> hashes;
    for (int64_t batch = begin; batch < end; batch += kFindBatch) {
      const int64_t count = std::min(kFindBatch, end - batch);
      for (int64_t i = 0; i < count; ++i) {
        hashes[static_cast<size_t>(i)] = HashOf(in[batch + i]);
        __builtin_prefetch(&slots_[hashes[static_cast<size_t>(i)] & mask_]);
      }
      for (int64_t i = 0; i < count; ++i) {
        const uint32_t number = slots_[hashes[static_cast<size_t>(i)] & mask_].number;
        if (number != 0) __builtin_prefetch(&keys_[number - 1]);
      }
      for (int64_t i = 0; i < count; ++i) {
        const int64_t entry = Locate(in[batch + i], hashes[static_cast<size_t>(i)]);
        out[batch + i] = entry >= 0 ? values_[static_cast<size_t>(entry)] : missing;
      }
    }
  });
}

namespace {

template <typename Key>
std::unique_ptr<LookupTable> MakeForKey(DataType key, DataType value) {
  switch (value) {
    case DataType::kFloat:
      return std::make_unique<HashTable<Key, float>>();
    case DataType::kDouble:
      return std::make_unique<HashTable<Key, double>>();
    case DataType::kInt32:
      return std::make_unique<HashTable<Key, int32_t>>();
    case DataType::kInt64:
      return std::make_unique<HashTable<Key, int64_t>>();
    case DataType::kString:
      return std::make_unique<HashTable<Key, std::string>>();
    default:
      Throw(Code::kUnimplemented, "no lookup table from {} to {}", DataTypeName(key), DataTypeName(value));
  }
}

}  // namespace

std::unique_ptr<LookupTable> MakeLookupTable(DataType key, DataType value) {
  switch (key) {
    case DataType::kInt32:
      return MakeForKey<int32_t>(key, value);
    case DataType::kInt64:
      return MakeForKey<int64_t>(key, value);
    case DataType::kString:
      return MakeForKey<std::string>(key, value);
    default:
      Throw(Code::kUnimplemented, "no lookup table from {} to {}", DataTypeName(key), DataTypeName(value));
  }
}

}  // namespace lanescope::exec
