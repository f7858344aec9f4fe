// Activity buffers made by hand, with one record of every kind that a capture asks for.
#pragma once

#include <cupti.h>

#include <cstring>
#include <vector>

#include "profiler/cupti_library.h"

namespace lanescope {

// A buffer that grows record by record.
class RecordBuffer {
 public:
  template <typename Record>
  RecordBuffer& Add(const Record& record) {
    const size_t at = bytes_.size();
    bytes_.resize(at + sizeof(Record));
    std::memcpy(bytes_.data() + at, &record, sizeof(Record));
    return *this;
  }
  uint8_t* data() { return bytes_.data(); }
  size_t size() const { return bytes_.size(); }
  std::vector<uint8_t>& bytes() { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
};

template <typename Record>
Record MakeRecord(CUpti_ActivityKind kind) {
  Record record;
  std::memset(static_cast<void*>(&record), 0, sizeof(record));
  record.kind = kind;
  return record;
}

inline CUpti_ActivityKernel10 KernelRecord(const char* name, uint64_t start, uint64_t end,
                                           uint32_t correlation) {
  auto record = MakeRecord<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  record.name = name;
  record.start = start;
  record.end = end;
  record.correlationId = correlation;
  record.deviceId = 1;
  record.contextId = 2;
  record.streamId = 7;
  record.gridX = 10;
  record.gridY = 20;
  record.gridZ = 30;
  record.blockX = 32;
  record.blockY = 4;
  record.blockZ = 2;
  record.registersPerThread = 40;
  record.staticSharedMemory = 1024;
  record.dynamicSharedMemory = 2048;
  record.sharedMemoryExecuted = 8192;
  record.localMemoryPerThread = 16;
  record.localMemoryTotal_v2 = 5000000000;
  record.gridId = 99;
  record.cacheConfig.both = 0x21;
  record.launchType = CUPTI_ACTIVITY_LAUNCH_TYPE_REGULAR;
  record.clusterX = 2;
  record.clusterY = 1;
  record.clusterZ = 1;
  record.maxActiveClusters = 66;
  return record;
}

inline CUpti_ActivityAPI CallRecord(CUpti_ActivityKind kind, uint32_t function, uint64_t start, uint64_t end,
                                    uint32_t thread, uint32_t correlation) {
  auto record = MakeRecord<CUpti_ActivityAPI>(kind);
  record.cbid = function;
  record.start = start;
  record.end = end;
  record.threadId = thread;
  record.correlationId = correlation;
  return record;
}

// The CUPTI that this was built with. Its iterator needs neither GPU nor driver.
inline const CuptiLibrary* TestLibrary() {
  static std::string reason;
  static const CuptiLibrary* library = CuptiLibrary::Load("", &reason).release();
  return library;
}

}  // namespace lanescope
