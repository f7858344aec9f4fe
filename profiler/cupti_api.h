// SPDX-License-Identifier: Apache-2.0
// The functions and numbers of CUPTI's C interface that are
// used here, which are the same from CUDA 12.2 on. Written down, so that one build works with every CUPTI and
// is made where there is none; tests hold them against the headers of the toolkit at hand.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lanescope::profiler::cupti {

enum Result : int32_t {
  kSuccess = 0,
  kMaxLimitReached = 12,  // the iterator is at the end
  kNotInitialized = 15,
  kMultipleSubscribers = 39,
};

// Kinds of activity records. Records from outside may hold any number.
enum Kind : int32_t {
  kMemcpy = 1,
  kMemset = 2,
  kKernel = 3,
  kDriver = 4,
  kRuntime = 5,
  kDevice = 8,
  kContext = 9,
  kConcurrentKernel = 10,
  kOverhead = 17,
  kMemcpy2 = 22,  // between devices
  kCudaEvent = 36,
  kStream = 37,
  kSynchronization = 38,
  kExternalCorrelation = 39,
  kNvlink = 40,
  kGraphTrace = 51,
};

// Whose calls, for callbacks and names of calls.
enum Domain : int32_t { kDriverApi = 1, kRuntimeApi = 2, kResource = 3 };
inline constexpr uint32_t kGraphNodeCloned = 20;  // of kResource

inline constexpr uint32_t kFlushForced = 1;
inline constexpr int32_t kZeroedBuffers = 5;   // an attribute
inline constexpr int32_t kSystemThreads = 1;   // thread ids are the system's
inline constexpr int32_t kOurCorrelation = 3;  // the kind of external correlation ids that is ours
inline constexpr uint32_t kNoValue = UINT32_MAX;

// Values of fields.
inline constexpr uint32_t kObjectThread = 2;
inline constexpr uint32_t kSharedLimitOptIn = 1;
inline constexpr uint32_t kEndIsGpu = 1;

// CUPTI hands this to a callback about a resource; the node of a graph lies behind `description`.
struct ResourceData {
  void* context;
  void* stream;
  const void* description;
};
struct GraphData {
  void* graph;
  void* original_graph;
  void* node;
  void* original_node;
};
struct SubscriberParams {
  size_t bytes;
  const char* name;
  char* other;  // the name of the subscriber that is there already
  size_t other_bytes;
};

using Subscriber = struct SubscriberHandle*;
using Callback = void (*)(void* user, int32_t domain, uint32_t call, const void* data);
using BufferRequested = void (*)(uint8_t** buffer, size_t* bytes, size_t* max_records);
using BufferCompleted = void (*)(void* context, uint32_t stream, uint8_t* buffer, size_t bytes, size_t valid);

// The functions by the names that they have behind "cupti" or "cuptiActivity". Those that a version may lack
// are null there.
struct Functions {
  Result (*GetVersion)(uint32_t*) = nullptr;
  Result (*GetResultString)(Result, const char**) = nullptr;
  Result (*GetTimestamp)(uint64_t*) = nullptr;
  Result (*GetCallbackName)(Domain, uint32_t call, const char**) = nullptr;
  Result (*Subscribe)(Subscriber*, Callback, void* user) = nullptr;
  Result (*SubscribeNamed)(Subscriber*, Callback, void* user, SubscriberParams*) = nullptr;  // from 13.0
  Result (*Unsubscribe)(Subscriber) = nullptr;
  Result (*EnableCallback)(uint32_t enable, Subscriber, Domain, uint32_t call) = nullptr;
  Result (*GetNextRecord)(uint8_t* buffer, size_t bytes, void** record) = nullptr;
  Result (*Enable)(Kind) = nullptr;
  Result (*Disable)(Kind) = nullptr;
  Result (*RegisterCallbacks)(BufferRequested, BufferCompleted) = nullptr;
  Result (*RegisterTimestampCallback)(uint64_t (*)()) = nullptr;
  Result (*FlushAll)(uint32_t flag) = nullptr;
  Result (*GetNumDroppedRecords)(void* context, uint32_t stream, size_t*) = nullptr;
  Result (*SetAttribute)(int32_t attribute, size_t* bytes, void* value) = nullptr;
  Result (*SetThreadIdType)(int32_t) = nullptr;
  Result (*EnableRuntimeApi)(uint32_t call, uint8_t enable) = nullptr;  // from 12.5
  Result (*EnableDriverApi)(uint32_t call, uint8_t enable) = nullptr;   // from 12.5
  Result (*PushExternalCorrelationId)(int32_t kind, uint64_t) = nullptr;
  Result (*PopExternalCorrelationId)(int32_t kind, uint64_t*) = nullptr;
  Result (*GetGraphNodeId)(void* node, uint64_t*) = nullptr;
};

}  // namespace lanescope::profiler::cupti
