// SPDX-License-Identifier: Apache-2.0
// A device's use of an interval: the whole run, or a step.
#pragma once

#include <cstdint>
#include <string>

namespace lanescope::traces {

// All by union of intervals inside the window (ns). A moment counts in the first that applies: compute,
// communication, copies, memory sets, idle:
//   window = compute + exposed + exposed_copies + exposed_memsets + idle.
struct DeviceTime {
  std::string device;  // "GPU:0"
  int64_t window_ns = 0;
  int64_t compute_ns = 0;        // a launch that is no communication runs
  int64_t communication_ns = 0;  // a kernel of NCCL runs
  int64_t overlapped_ns = 0;     // of communication: beside compute
  int64_t exposed_ns = 0;        // of communication: the rest
  int64_t copies_ns = 0;         // a copy to, from or on the device runs
  int64_t hidden_copies_ns = 0;  // of copies: beside compute or communication
  int64_t exposed_copies_ns = 0;
  int64_t exposed_memsets_ns = 0;
  int64_t idle_ns = 0;
};

}  // namespace lanescope::traces
