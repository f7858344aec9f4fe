// SPDX-License-Identifier: Apache-2.0
#include "exec/device/memory_pool.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>

#include "core/base/error.h"

namespace lanescope::exec {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

// Regions are plain numbers: nothing is written to them.
class Backing {
 public:
  MemoryPool Pool(const MemoryPool::Options& options) {
    return MemoryPool(
        options,
        [this](int64_t bytes) -> void* {
          if (bytes > left) Throw(Code::kResourceExhausted, "no memory");
          left -= bytes;
          void* region = reinterpret_cast<void*>(next);
          next += bytes + 4096;
          regions[region] = bytes;
          return region;
        },
        [this](void* region) { regions.erase(region); });
  }
  std::map<void*, int64_t> regions;
  int64_t left = int64_t{1} << 40;
  int64_t next = 1 << 20;
};

// Sizes are rounded up to 256 bytes, and a freed range is used again.
TEST(MemoryPool, RoundsAndReuses) {
  Backing backing;
  MemoryPool pool = backing.Pool({});
  void* a = pool.Allocate(1);
  void* b = pool.Allocate(257);
  EXPECT_EQ(static_cast<char*>(b) - static_cast<char*>(a), 256);
  EXPECT_EQ(pool.in_use(), 256 + 512);
  pool.Free(a);
  EXPECT_EQ(pool.Allocate(200), a);
}

// With growth the first region has 2 MiB and later ones double; without, the first has the whole limit.
TEST(MemoryPool, GrowsOrTakesEverything) {
  Backing growing;
  MemoryPool small = growing.Pool({100 * kMiB, true});
  small.Allocate(1);
  EXPECT_EQ(small.reserved(), 2 * kMiB);
  small.Allocate(2 * kMiB);
  EXPECT_EQ(small.reserved(), 6 * kMiB);
  Backing whole;
  MemoryPool large = whole.Pool({100 * kMiB, false});
  large.Allocate(1);
  EXPECT_EQ(large.reserved(), 100 * kMiB);
}

// Case H27, where no plan has promised that all fits: what is left over of a range is not split off where it
// is smaller than what is asked for.
TEST(MemoryPool, H27SplitsWhereAsMuchIsLeft) {
  Backing backing;
  MemoryPool pool = backing.Pool({});
  void* chunk = pool.Allocate(1024);
  pool.Allocate(256);
  pool.Free(chunk);
  const int64_t before = pool.in_use();
  EXPECT_EQ(pool.Allocate(512), chunk);
  EXPECT_EQ(pool.in_use(), before + 512);
  pool.Free(chunk);
  EXPECT_EQ(pool.Allocate(600), chunk);
  EXPECT_EQ(pool.in_use(), before + 1024);
}

// Case H29: regions double until what is asked for fits, and after each.
TEST(MemoryPool, H29RegionsDouble) {
  Backing backing;
  MemoryPool pool = backing.Pool({1024 * kMiB, true});
  pool.Allocate(kMiB);
  EXPECT_EQ(pool.reserved(), 2 * kMiB);
  pool.Allocate(3 * kMiB);
  EXPECT_EQ(pool.reserved(), 6 * kMiB);
  pool.Allocate(33 * kMiB);
  EXPECT_EQ(pool.reserved(), 70 * kMiB);
}

// Case H31.
TEST(MemoryPool, H31MoreThanTheLimitIsNotThere) {
  Backing backing;
  MemoryPool pool = backing.Pool({10 * kMiB, true});
  EXPECT_EQ(pool.Allocate(11 * kMiB), nullptr);
  EXPECT_EQ(pool.reserved(), 0);
}

// The limit is exact: everything up to it can be had in any pieces, nothing beyond.
TEST(MemoryPool, KeepsTheLimit) {
  Backing backing;
  MemoryPool pool = backing.Pool({10 * kMiB, true});
  void* first = pool.Allocate(3 * kMiB);
  ASSERT_NE(pool.Allocate(7 * kMiB), nullptr);
  EXPECT_EQ(pool.Allocate(1), nullptr);
  pool.Free(first);
  EXPECT_NE(pool.Allocate(3 * kMiB), nullptr);
}

TEST(MemoryPool, GivesRegionsBack) {
  Backing backing;
  {
    MemoryPool pool = backing.Pool({});
    pool.Allocate(5 * kMiB);
    EXPECT_EQ(backing.regions.size(), 1u);
  }
  EXPECT_TRUE(backing.regions.empty());
}

// A size that the device refuses in a large region is asked for in smaller ones, down to the size needed.
TEST(MemoryPool, AsksForLessWhenTheDeviceIsFull) {
  Backing backing;
  backing.left = kMiB;
  MemoryPool pool = backing.Pool({});
  EXPECT_NE(pool.Allocate(1000), nullptr);
  EXPECT_LE(pool.reserved(), kMiB);
  EXPECT_GE(pool.reserved(), kMiB * 9 / 10);
  EXPECT_THROW(pool.Allocate(2 * kMiB), Error);
}

// Live ranges never overlap, each lies in one region, and all memory comes together again.
TEST(MemoryPool, RandomUseNeverOverlaps) {
  Backing backing;
  MemoryPool pool = backing.Pool({});
  std::mt19937 random(5);
  std::map<char*, int64_t> live;
  for (int i = 0; i < 3000; ++i) {
    if (live.empty() || random() % 3 != 0) {
      const int64_t bytes = 1 + static_cast<int64_t>(random() % (random() % 8 == 0 ? 4000000 : 5000));
      auto* memory = static_cast<char*>(pool.Allocate(bytes));
      const auto after = live.lower_bound(memory);
      if (after != live.end()) {
        EXPECT_LE(memory + bytes, after->first);
      }
      if (after != live.begin()) {
        EXPECT_LE(std::prev(after)->first + std::prev(after)->second, memory);
      }
      live[memory] = bytes;
    } else {
      auto victim = std::next(live.begin(), static_cast<ptrdiff_t>(random() % live.size()));
      pool.Free(victim->first);
      live.erase(victim);
    }
  }
  for (const auto& [memory, bytes] : live) pool.Free(memory);
  EXPECT_EQ(pool.in_use(), 0);
  const int64_t reserved = pool.reserved();
  for (const auto& [region, bytes] : std::map<void*, int64_t>(backing.regions)) pool.Allocate(bytes);
  EXPECT_EQ(pool.reserved(), reserved);
}

}  // namespace
}  // namespace lanescope::exec
