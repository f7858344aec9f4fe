// SPDX-License-Identifier: Apache-2.0
// The one clock of everything that is measured and captured.
#pragma once

#include <cstdint>

namespace lanescope {

// CLOCK_MONOTONIC in ns, read through the time-stamp counter where that is invariant: 12 ns instead of 23,
// which is what keeps a recorded op below its 50 ns. Within a microsecond of the kernel's; on one thread it
// never goes back. Any thread.
int64_t NowNs();

// Processor time that the calling thread has had so far, in ns. A system call.
int64_t ThreadNs();

}  // namespace lanescope
