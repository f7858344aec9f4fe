#include "exec/step_exchange.h"

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "exec/message_progress.h"

namespace lanescope::exec {

int EndOfStepTag(const TaskShare& share, int64_t step) {
  return MessageProgress::kStepsOfTags * share.num_messages +
         static_cast<int>(step % MessageProgress::kStepsOfTags);
}

std::vector<StepTimes> ExchangeTimes(Transport* transport, const StepTimes& own, int tag,
                                     const std::function<void(int missing)>& wait) {
  struct Open {
    Transport::Ticket ticket;
    int peer;
  };
  const int size = transport->size();
  std::vector<StepTimes> times(static_cast<size_t>(size), own);
  std::vector<Open> open;
  for (int rank = 0; rank < size; ++rank) {
    if (rank == transport->rank()) continue;
    open.push_back({transport->Send(rank, tag, &own, sizeof own), rank});
    open.push_back({transport->Receive(rank, tag, &times[static_cast<size_t>(rank)], sizeof own), rank});
  }
  PatientWait patience;
  try {
    for (;;) {
      std::erase_if(open, [&](const Open& message) { return transport->Test(message.ticket); });
      if (open.empty()) return times;
      wait(open.front().peer);
      patience.Next();
    }
  } catch (...) {
    for (const Open& message : open) transport->Cancel(message.ticket);
    throw;
  }
}

void PatientWait::Next() {
  // Who sleeps is let in soon, even where devices keep all cores busy; who yields waits for their slices.
  constexpr int kLooksAtOnce = 3;
  constexpr std::chrono::microseconds kShort{20}, kLong{100};
  constexpr int kShortSleeps = 100;
  thread_local const bool fine_timer = prctl(PR_SET_TIMERSLACK, 1UL) == 0;  // 50 us would be the least else
  static_cast<void>(fine_timer);
  ++looks_;
  if (looks_ > kLooksAtOnce)
    std::this_thread::sleep_for(looks_ < kLooksAtOnce + kShortSleeps ? kShort : kLong);
}

}  // namespace lanescope::exec
