// SPDX-License-Identifier: Apache-2.0
// How a thread waits for messages that come in while it looks again and again.
#pragma once

#include <cstdint>

#include "exec/messages/transport.h"

namespace lanescope::exec {

// Used by one thread. Waits between two looks at a transport: not at all at first, later until there is news,
// or a little where only looking tells. Where there is news of all that comes in, long waits are looked into
// less and less often.
class PatientWait {
 public:
  explicit PatientWait(Transport* transport) : transport_(*transport), seen_(transport->News()) {}

  // After a look that found nothing. Returns at `until_ns` at the latest: then something is due that is no
  // news.
  void Next(int64_t until_ns = INT64_MAX);
  // A look found something.
  void Reset() { looks_ = 0; }

 private:
  Transport& transport_;
  uint32_t seen_;  // what came in later has not been looked at
  int looks_ = 0;
  int64_t since_ns_ = 0;  // when it first waited since a look found something
};

}  // namespace lanescope::exec
