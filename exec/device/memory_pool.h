// SPDX-License-Identifier: Apache-2.0
// Hands out ranges of memory that it takes from a device in large regions: best fit with coalescing, as
// TensorFlow's GPU allocator does it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace lanescope::exec {

// Sizes are rounded up to 256 bytes, ranges aligned to as much. A freed range joins its free neighbours of
// the same region. Regions are given back only by the destructor. Not thread-safe.
class MemoryPool {
 public:
  struct Options {
    int64_t limit = 0;   // bytes handed out at most; 0: none
    bool growth = true;  // regions start small and double; otherwise the first one takes the whole limit
  };
  // `take` gives a region of so many bytes or throws; `give` takes it back.
  MemoryPool(const Options& options, std::function<void*(int64_t)> take, std::function<void(void*)> give);
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  // Null when the limit leaves no room; what `take` throws when the device has not so much.
  void* Allocate(int64_t bytes);
  void Free(void* memory);
  int64_t in_use() const { return in_use_; }      // by rounded sizes
  int64_t reserved() const { return reserved_; }  // bytes of all regions

 private:
  static constexpr int64_t kAlignment = 256;
  static constexpr int64_t kFirstRegion = int64_t{2} << 20;
  // A range is split unless the rest would be small beside it (TensorFlow's rule).
  static constexpr int64_t kAlwaysSplit = int64_t{128} << 20;

  struct Chunk {
    int64_t bytes = 0;
    bool free = false;
    bool starts_region = false;
  };
  using Chunks = std::map<char*, Chunk>;

  void* TakeFrom(Chunks::iterator chunk, int64_t bytes);
  void Extend(int64_t bytes);
  void MarkFree(Chunks::iterator chunk);

  Options options_;
  std::function<void*(int64_t)> take_;
  std::function<void(void*)> give_;
  std::vector<void*> regions_;
  Chunks chunks_;                             // by address, without gaps inside a region
  std::set<std::pair<int64_t, char*>> free_;  // by (bytes, address)
  int64_t next_region_ = kFirstRegion;
  int64_t in_use_ = 0;
  int64_t reserved_ = 0;
};

}  // namespace lanescope::exec
