// SPDX-License-Identifier: Apache-2.0
// A CUPTI library for a machine without a GPU: of the version in STUB_CUPTI_VERSION. It keeps CUPTI's
// contract with its one subscriber: a flush asks for a buffer, fills it with one record of every kind, and
// hands it back. With STUB_CUPTI_COMMANDS it has a kernel of whatever is tagged instead, from push to pop.
// Built twice: STUB_CUPTI_12 lacks what CUPTI has had from 12.5 and 13.0 on.
#include "tests/profiler/stub_cupti.h"

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <utility>
#include <vector>

#include "tests/profiler/cupti_records.h"

namespace lanescope::profiler {
namespace {

uint32_t Version() {
  static const uint32_t version = static_cast<uint32_t>(std::atoi(std::getenv("STUB_CUPTI_VERSION")));
  return version;
}

cupti::BufferRequested request;
cupti::BufferCompleted complete;
uint64_t (*read_clock)();
// Nothing here may be destroyed: the capture ends after that.
std::atomic<bool> records_kernels{false}, filled{false};

struct TaggedCommand {
  uint64_t tag = 0, start = 0, end = 0;
};
thread_local TaggedCommand open;
std::mutex commands_mutex;
std::vector<TaggedCommand>& Commands() {
  static auto* commands = new std::vector<TaggedCommand>;
  return *commands;
}

bool RecordsCommands() { return std::getenv("STUB_CUPTI_COMMANDS") != nullptr; }

void Pop() {
  open.end = read_clock();
  const std::lock_guard lock(commands_mutex);
  if (records_kernels) Commands().push_back(open);
}

// A record of the kernel, and one that tells its tag; as many as fit.
void FlushCommands() {
  static uint32_t correlation = 1000;
  const std::lock_guard lock(commands_mutex);
  while (!Commands().empty()) {
    uint8_t* buffer = nullptr;
    size_t bytes = 0, most = 0;
    request(&buffer, &bytes, &most);
    if (buffer == nullptr) return;
    RecordBuffer records;
    while (!Commands().empty()) {
      const TaggedCommand& command = Commands().back();
      RecordBuffer both;
      both.Add(MadeRecord(cupti::kExternalCorrelation, Version())
                   .Set(ExternalCorrelationFields::kind, cupti::kOurCorrelation)
                   .Set(ExternalCorrelationFields::id, command.tag)
                   .Set(ExternalCorrelationFields::correlation, ++correlation));
      both.Add(KernelRecord("stub_kernel", command.start, command.end, correlation, Version())
                   .Set(KernelFields::device, 0));
      if (records.size() + both.size() > bytes) break;
      records.bytes().insert(records.bytes().end(), both.data(), both.data() + both.size());
      Commands().pop_back();
    }
    std::memcpy(buffer, records.data(), records.size());
    complete(nullptr, 0, buffer, bytes, records.size());
  }
}

// The first flush that finds kernels enabled fills as many buffers as STUB_CUPTI_BUFFERS says, all in use at
// once.
void Flush() {
  if (RecordsCommands()) return FlushCommands();
  if (!records_kernels || filled.exchange(true)) return;
  const char* text = std::getenv("STUB_CUPTI_BUFFERS");
  const size_t wanted = text == nullptr ? 1 : static_cast<size_t>(std::atoi(text));
  std::vector<std::pair<uint8_t*, size_t>> buffers;
  for (size_t i = 0; i < wanted; ++i) {
    uint8_t* buffer = nullptr;
    size_t bytes = 0, most = 0;
    request(&buffer, &bytes, &most);
    // Versions before 12.9 go on with what they were given.
    if (buffer == nullptr && Version() < kCupti12_9) std::abort();
    if (buffer != nullptr) buffers.emplace_back(buffer, bytes);
  }
  for (const auto& [buffer, bytes] : buffers) {
    RecordBuffer records = EveryKind(Version(), "stub_kernel", "Stub GPU", read_clock());
    std::memcpy(buffer, records.data(), records.size());
    complete(nullptr, 0, buffer, bytes, records.size());
  }
}

}  // namespace
}  // namespace lanescope::profiler

using lanescope::profiler::cupti::kSuccess;
using lanescope::profiler::cupti::Result;

extern "C" {
Result cuptiGetVersion(uint32_t* version) {
  *version = lanescope::profiler::Version();
  return kSuccess;
}
Result cuptiGetResultString(Result, const char** text) {
  *text = "CUPTI_ERROR_STUB";
  return kSuccess;
}
Result cuptiGetTimestamp(uint64_t* now) {
  *now = lanescope::profiler::read_clock();
  return kSuccess;
}
Result cuptiGetCallbackName(lanescope::profiler::cupti::Domain domain, uint32_t call, const char** name) {
  return lanescope::profiler::StubCallName(domain, call, name);
}
Result cuptiSubscribe(void** subscriber, void*, void*) {
  *subscriber = subscriber;
  return kSuccess;
}
Result cuptiUnsubscribe(void*) { return kSuccess; }
Result cuptiEnableCallback(uint32_t, void*, int32_t, uint32_t) { return kSuccess; }
Result cuptiActivityGetNextRecord(uint8_t* buffer, size_t bytes, void** record) {
  return lanescope::profiler::NextStubRecord(buffer, bytes, record, [](int32_t kind) {
    return lanescope::profiler::StubRecordBytes(kind, lanescope::profiler::Version());
  });
}
Result cuptiActivityEnable(int32_t kind) {
  if (kind == lanescope::profiler::cupti::kConcurrentKernel) lanescope::profiler::records_kernels = true;
  return kSuccess;
}
Result cuptiActivityDisable(int32_t kind) {
  if (kind == lanescope::profiler::cupti::kConcurrentKernel) lanescope::profiler::records_kernels = false;
  return kSuccess;
}
Result cuptiActivityRegisterCallbacks(lanescope::profiler::cupti::BufferRequested request,
                                      lanescope::profiler::cupti::BufferCompleted complete) {
  lanescope::profiler::request = request;
  lanescope::profiler::complete = complete;
  return kSuccess;
}
Result cuptiActivityRegisterTimestampCallback(uint64_t (*clock)()) {
  lanescope::profiler::read_clock = clock;
  return kSuccess;
}
Result cuptiActivityFlushAll(uint32_t) {
  lanescope::profiler::Flush();
  return kSuccess;
}
Result cuptiActivityGetNumDroppedRecords(void*, uint32_t, size_t* dropped) {
  *dropped = 0;
  return kSuccess;
}
Result cuptiActivitySetAttribute(int32_t, size_t*, void*) { return kSuccess; }
Result cuptiSetThreadIdType(int32_t) { return kSuccess; }
Result cuptiActivityPushExternalCorrelationId(int32_t, uint64_t tag) {
  lanescope::profiler::open = {tag, lanescope::profiler::read_clock()};
  return kSuccess;
}
Result cuptiActivityPopExternalCorrelationId(int32_t, uint64_t*) {
  lanescope::profiler::Pop();
  return kSuccess;
}
Result cuptiGetGraphNodeId(void*, uint64_t*) { return kSuccess; }
#ifndef STUB_CUPTI_12
Result cuptiSubscribe_v2(void** subscriber, void*, void*, void*) {
  return cuptiSubscribe(subscriber, nullptr, nullptr);
}
Result cuptiActivityEnableRuntimeApi(uint32_t, uint8_t) { return kSuccess; }
Result cuptiActivityEnableDriverApi(uint32_t, uint8_t) { return kSuccess; }
#endif
}
