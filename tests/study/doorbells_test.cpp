// SPDX-License-Identifier: Apache-2.0
// Processes of one computer that wake each other, here as threads: each has maps of its own of the same
// memory.
#include "study/job/doorbells.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <thread>

#include "core/base/clock.h"
#include "tests/support/memory_transport.h"

namespace lanescope::study {
namespace {

constexpr int64_t kLongNs = 100'000'000'000;

// As many as the names that `change` lets through; "" is a process of another computer.
std::vector<std::unique_ptr<Doorbells>> MakeBells(int ranks, bool (*is_near)(int rank) = nullptr) {
  test::MessageBoard board(ranks);
  std::vector<std::unique_ptr<Doorbells>> bells(static_cast<size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      bells[static_cast<size_t>(rank)] =
          std::make_unique<Doorbells>(rank, [&, rank](const std::string& mine) {
            std::vector<std::string> all = board.Share(rank, mine);
            for (size_t other = 0; is_near != nullptr && other < all.size(); ++other) {
              if (static_cast<int>(other) != rank && !is_near(static_cast<int>(other)))
                all[other] = "/lanescope-elsewhere";
            }
            return all;
          });
    });
  }
  for (std::thread& thread : threads) thread.join();
  return bells;
}

size_t SharedFiles() {
  size_t count = 0;
  for (const auto& file : std::filesystem::directory_iterator("/dev/shm"))
    count += file.path().filename().string().starts_with("lanescope-");
  return count;
}

// Laws: a ring is counted at its rank alone, wakes who sleeps there, and nothing stays in the file system.
TEST(Doorbells, ARingWakesItsRankAlone) {
  const size_t files_before = SharedFiles();
  const auto bells = MakeBells(3);
  EXPECT_EQ(SharedFiles(), files_before);
  for (const auto& bell : bells) EXPECT_TRUE(bell->AllRing());
  std::thread sleeper([&] {
    for (uint32_t seen = 0; seen < 1000; ++seen) {
      while (bells[1]->count() == seen) bells[1]->Await(seen, NowNs() + kLongNs);
      EXPECT_EQ(bells[1]->count(), seen + 1);
      bells[1]->Ring(0);
    }
  });
  for (uint32_t seen = 0; seen < 1000; ++seen) {
    bells[0]->Ring(1);
    while (bells[0]->count() == seen) bells[0]->Await(seen, NowNs() + kLongNs);
  }
  sleeper.join();
  EXPECT_EQ(bells[0]->count(), 1000U);
  EXPECT_EQ(bells[1]->count(), 1000U);
  EXPECT_EQ(bells[2]->count(), 0U);
}

// Laws: who has rung already is not waited for; without a ring a wait ends when it was told to.
TEST(Doorbells, AWaitEndsAtItsTime) {
  const auto bells = MakeBells(2);
  bells[0]->Ring(1);
  bells[1]->Await(0, NowNs() + kLongNs);  // returns: it was 0 before
  const int64_t until = NowNs() + 20'000'000;
  while (NowNs() < until) bells[1]->Await(1, until);
  EXPECT_EQ(bells[1]->count(), 1U);
  bells[1]->Await(1, NowNs() - 1);  // already over
}

// Law: with a process of another computer nobody counts on being rung, and those of one computer still do.
TEST(Doorbells, AnotherComputerHasNone) {
  const auto bells = MakeBells(3, [](int rank) { return rank != 2; });
  for (const auto& bell : bells) EXPECT_FALSE(bell->AllRing());
  bells[0]->Ring(1);
  bells[0]->Ring(2);
  bells[2]->Ring(2);
  EXPECT_EQ(bells[1]->count(), 1U);
  EXPECT_EQ(bells[2]->count(), 1U);
}

}  // namespace
}  // namespace lanescope::study
