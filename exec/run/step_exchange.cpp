// SPDX-License-Identifier: Apache-2.0
#include "exec/run/step_exchange.h"

#include <algorithm>

#include "core/base/error.h"
#include "exec/messages/message_tags.h"
#include "exec/messages/patient_wait.h"
#include "exec/run/message_progress.h"

namespace lanescope::exec {

void RequireTags(const TaskShare& share, const Transport& transport) {
  const int64_t most = (transport.most_tag() - kFirstStepTag) / MessageProgress::kStepsOfTags - 1;
  if (share.num_messages <= most) return;
  Throw(Code::kResourceExhausted,
        "a step of {} messages between tasks, and this MPI tells {} apart: place it with fewer",
        share.num_messages, most);
}

int EndOfStepTag(const TaskShare& share, int64_t step) {
  return kFirstStepTag + MessageProgress::kStepsOfTags * share.num_messages +
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
  PatientWait patience(transport);
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

}  // namespace lanescope::exec
