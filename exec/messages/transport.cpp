// SPDX-License-Identifier: Apache-2.0
#include "exec/messages/transport.h"

#include <chrono>
#include <thread>

#include "core/base/clock.h"

namespace lanescope::exec {

void Transport::TestSome(std::span<const Ticket> tickets, std::vector<Ticket>* done) {
  for (const Ticket ticket : tickets) {
    if (Test(ticket)) done->push_back(ticket);
  }
}

void Transport::AwaitNews(uint32_t, int64_t until_ns) {
  const int64_t left_ns = until_ns - NowNs();
  if (left_ns > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(left_ns));
}

}  // namespace lanescope::exec
