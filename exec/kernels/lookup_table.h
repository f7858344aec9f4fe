// SPDX-License-Identifier: Apache-2.0
// The state behind a lookup table's handle: a map from keys to values that is filled once and then only read.
#pragma once

#include <bit>
#include <cstdint>
#include <shared_mutex>
#include <vector>

#include "exec/device/kernel.h"
#include "exec/kernels/hash.h"

namespace lanescope::exec {

// A table as its ops need it, for all types. A table is filled by one command; look-ups of other commands may
// then run at the same time. Commands of one device run side by side, so they hold `mutex`: shared to look
// up, alone to fill.
class LookupTable : public Resource {
 public:
  std::shared_mutex mutex;

  virtual DataType key_type() const = 0;
  virtual DataType value_type() const = 0;
  virtual int64_t size() const = 0;
  bool initialized() const { return initialized_; }

  // Fills the table, once: another filling must bring the same entries (FailedPrecondition otherwise). Keys
  // and values are tensors of equal size; a repeated key must repeat its value.
  virtual void Initialize(const TensorRef& keys, const TensorRef& values) = 0;
  // values[i] = the value of keys[i], or the fallback.
  virtual void Find(const TensorRef& keys, const TensorRef& fallback, const TensorRef& values,
                    WorkerTeam& team) const = 0;

 protected:
  bool initialized_ = false;
};

// Throws Unimplemented for a pair of types without a table.
std::unique_ptr<LookupTable> MakeLookupTable(DataType key, DataType value);

// Open addressing: a slot holds some bits of the hash and the number of an entry, so that a miss rarely reads
// a key.
template <typename Key, typename Value>
class HashTable : public LookupTable {
 public:
  DataType key_type() const override { return DataTypeOf<Key>::value; }
  DataType value_type() const override { return DataTypeOf<Value>::value; }
  int64_t size() const override { return static_cast<int64_t>(keys_.size()); }
  void Initialize(const TensorRef& keys, const TensorRef& values) override;
  void Find(const TensorRef& keys, const TensorRef& fallback, const TensorRef& values,
            WorkerTeam& team) const override;

 private:
  struct Slot {
    uint32_t tag;     // high bits of the hash
    uint32_t number;  // of the entry, plus one; 0: free
  };

  static uint32_t TagOf(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }
  // The key's entry number, or -1.
  int64_t Locate(const Key& key, uint64_t hash) const;
  void Insert(const Key& key, const Value& value);
  void RequireSameEntries(const TensorRef& keys, const TensorRef& values) const;

  std::vector<Slot> slots_;
  uint64_t mask_ = 0;
  std::vector<Key> keys_;
  std::vector<Value> values_;
};

}  // namespace lanescope::exec
