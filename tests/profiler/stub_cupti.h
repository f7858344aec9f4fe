// SPDX-License-Identifier: Apache-2.0
// A stub of CUPTI of any version: sizes of records and calls, its iterator, names.
#pragma once

#include <cstring>

#include "profiler/activity_layout.h"
#include "profiler/cupti_calls.h"

namespace lanescope::profiler {

// Bytes of a record; also of markers, which nothing here reads.
inline size_t StubRecordBytes(int32_t kind, uint32_t version) {
  constexpr int32_t kMarker = 12;
  return kind == kMarker ? 56 : KnownBytes(static_cast<cupti::Kind>(kind), version);
}

// As the real iterator: a record that is cut off is like the end of the buffer.
template <typename SizeOf>
cupti::Result NextStubRecord(uint8_t* buffer, size_t bytes, void** record, const SizeOf& size_of) {
  constexpr auto kInvalidKind = static_cast<cupti::Result>(21);
  const auto size_at = [&](size_t at) {
    int32_t kind = 0;
    std::memcpy(&kind, buffer + at, sizeof(kind));
    return size_of(kind);
  };
  size_t at = 0;
  if (*record != nullptr) {
    at = static_cast<size_t>(static_cast<uint8_t*>(*record) - buffer);
    at += size_at(at);
  }
  if (at + sizeof(int32_t) > bytes) return cupti::kMaxLimitReached;
  const size_t size = size_at(at);
  if (size == 0) return kInvalidKind;
  if (at + size > bytes) return cupti::kMaxLimitReached;
  *record = buffer + at;
  return cupti::kSuccess;
}

inline cupti::Result StubCallName(cupti::Domain domain, uint32_t number, const char** name) {
  const auto find = [&](const auto& calls) {
    for (const CuptiCall& call : calls) {
      if (call.number == number) *name = call.name;
    }
  };
  *name = nullptr;
  if (domain == cupti::kDriverApi) {
    find(kDriverLaunches);
  } else {
    find(kRuntimeLaunches);
  }
  return *name == nullptr ? static_cast<cupti::Result>(1) : cupti::kSuccess;
}

}  // namespace lanescope::profiler
