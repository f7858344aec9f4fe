// SPDX-License-Identifier: Apache-2.0
#include "core/base/interrupt_reason.h"

#include <signal.h>
#include <string.h>

namespace lanescope {

std::string InterruptReason(int signal) {
  const char* name = signal == SIGINT ? nullptr : sigabbrev_np(signal);
  return name == nullptr ? "interrupted" : std::string("interrupted by SIG") + name;
}

}  // namespace lanescope
