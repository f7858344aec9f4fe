// SPDX-License-Identifier: Apache-2.0
// Numbers of the Nsight Systems export by CUPTI's.
#pragma once

#include <cstdint>

namespace lanescope::profiler {

// CUPTI's 1 (pageable) to 7 (managed static) are 0 to 6 there, unknown is 7.
inline uint8_t MemoryKind(uint32_t number) {
  return static_cast<uint8_t>(number >= 1 && number <= 7 ? number - 1 : 7);
}

// Both number them alike up to 10 (between devices).
inline uint8_t CopyKind(uint8_t number) { return number <= 10 ? number : 0; }

// CUPTI's 0 (regular) to 2 (cooperative on several devices) are 1 to 3 there, 0 is unknown.
inline uint8_t LaunchType(uint8_t number) { return static_cast<uint8_t>(number <= 2 ? number + 1 : 0); }

// Both number them alike up to 4 (waits for a context).
inline uint32_t SyncType(uint32_t number) { return number <= 4 ? number : 0; }

// CUPTI's 1 is the compiler of the driver, 2 there; those of its own are 1 to 6 times 65536, 3 to 8 there.
inline uint32_t OverheadType(uint32_t number) {
  if (number == 1) return 2;
  const uint32_t own = number >> 16;
  return (own << 16) == number && own >= 1 && own <= 6 ? own + 2 : 1;
}

// Both number them alike up to 3 (the null stream).
inline uint32_t StreamFlag(uint32_t number) { return number <= 3 ? number : 0; }

}  // namespace lanescope::profiler
