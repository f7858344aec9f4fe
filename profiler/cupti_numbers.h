// Numbers of the Nsight Systems export by CUPTI's.
#pragma once

#include <cstdint>
#include <cstring>

#include "profiler/cupti_library.h"

namespace lanescope {

// CUPTI's 1 (pageable) to 7 (managed static) are 0 to 6 there, unknown is 7.
inline uint8_t MemoryKind(unsigned cupti) {
  return static_cast<uint8_t>(cupti >= 1 && cupti <= 7 ? cupti - 1 : 7);
}

inline uint8_t CopyKind(uint8_t cupti) { return cupti <= CUPTI_ACTIVITY_MEMCPY_KIND_PTOP ? cupti : 0; }

// CUPTI's 0 (regular) to 2 are 1 to 3 there, 0 is unknown.
inline uint8_t LaunchType(uint8_t cupti) {
  return static_cast<uint8_t>(cupti <= CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_MULTI_DEVICE ? cupti + 1 : 0);
}

inline uint32_t SyncType(uint32_t cupti) {
  return cupti <= CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE ? cupti : 0;
}

inline uint32_t OverheadType(int64_t cupti) {
  switch (cupti) {
    case CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER:
      return 2;
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH:
      return 3;
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION:
      return 4;
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE:
      return 5;
    case CUPTI_ACTIVITY_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING:
      return 6;
    case CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING:
      return 7;
    case CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL:
      return 8;
    default:
      return 1;
  }
}

// An enumeration of a hostile record may hold any number, which no variable of its type must: it is read as a
// number.
inline uint32_t Number(const uint8_t* field) {
  uint32_t number;
  std::memcpy(&number, field, sizeof(number));
  return number;
}

}  // namespace lanescope
