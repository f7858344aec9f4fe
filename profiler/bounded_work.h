// SPDX-License-Identifier: Apache-2.0
// Work that is waited for so long and no longer. Internal to profiler.
#pragma once

#include <chrono>
#include <future>
#include <memory>
#include <system_error>

#include "profiler/quiet_thread.h"

namespace lanescope::profiler {

// Runs `work` in a thread of its own. False if it takes longer; then it goes on, so it must own what it uses.
// False too where the system has no thread left.
template <typename Work>
bool RunBounded(int milliseconds, Work work) {
  auto done = std::make_shared<std::promise<void>>();
  std::future<void> waiting = done->get_future();
  try {
    StartQuietThread([done, work] {
      work();
      done->set_value();
    }).detach();
  } catch (const std::system_error&) {
    return false;
  }
  return waiting.wait_for(std::chrono::milliseconds(milliseconds)) == std::future_status::ready;
}

}  // namespace lanescope::profiler
