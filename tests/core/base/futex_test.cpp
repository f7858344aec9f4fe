// SPDX-License-Identifier: Apache-2.0
#include "core/base/futex.h"

#include <gtest/gtest.h>

#include <thread>

#include "core/base/clock.h"

namespace lanescope {
namespace {

// Law: who waits for a word that has changed already, or until a time that has passed, does not sleep.
TEST(Futex, WaitsOnlyForWhatIsToCome) {
  std::atomic<uint32_t> word{1};
  FutexWait(word, 0);
  FutexWait(word, 1, NowNs());
  FutexWait(word, 1, 0);
}

// Law: a change that is told is seen by everybody who sleeps, whenever it comes.
TEST(Futex, WakesWhoSleeps) {
  constexpr uint32_t kTurns = 2000;
  std::atomic<uint32_t> turn{0};
  const auto play = [&](uint32_t parity) {
    for (uint32_t seen = turn; seen < kTurns; seen = turn) {
      if (seen % 2 == parity) {
        turn = seen + 1;
        FutexWake(turn);
      } else {
        FutexWait(turn, seen);
      }
    }
  };
  std::thread other(play, 1);
  play(0);
  other.join();
  EXPECT_EQ(turn, kTurns);
}

}  // namespace
}  // namespace lanescope
