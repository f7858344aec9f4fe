// SPDX-License-Identifier: Apache-2.0
// From buffers of activity records, as CUPTI fills them, to rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "traces/record/activity_rows.h"

namespace lanescope::profiler {

class ActivityRecord;
class CuptiLibrary;

// Walks buffers with the CUPTI library's own iterator and with the sizes that its records were found to have,
// and checks every step: a record must lie in the buffer as a whole and behind the one before. Texts are read
// with ReadText. What cannot be a record ends its buffer and is counted; records of kinds that nobody asked
// for, and calls that no trace has, are skipped. Fields that a version's records do not have are unknown in
// the rows. Enumerations become those of the Nsight Systems export. Not thread-safe; throws nothing.
class ActivityDecoder {
 public:
  // The library must outlive the decoder. `offset_ns` is what the clock of records is ahead of
  // CLOCK_MONOTONIC.
  explicit ActivityDecoder(const CuptiLibrary& library, int64_t offset_ns = 0)
      : library_(library), offset_ns_(offset_ns) {}

  // Appends the rows of one buffer.
  void Decode(uint8_t* buffer, size_t bytes, traces::ActivityBatch* batch);
  int64_t records() const { return records_; }

 private:
  struct Function {
    traces::TextId name = 0;
    bool launches = false, wanted = true;
  };
  size_t SizeOf(int32_t kind);
  void AddRecord(int32_t kind, const ActivityRecord& record, traces::ActivityBatch* batch);
  void AddKernel(const ActivityRecord& record, traces::ActivityBatch* batch);
  void AddCopy(const ActivityRecord& record, bool between_devices, traces::ActivityBatch* batch);
  void AddMemset(const ActivityRecord& record, traces::ActivityBatch* batch);
  void AddCall(const ActivityRecord& record, bool of_driver, traces::ActivityBatch* batch);
  void AddSync(const ActivityRecord& record, traces::ActivityBatch* batch);
  void AddCudaEvent(const ActivityRecord& record, traces::ActivityBatch* batch);
  void AddOverhead(const ActivityRecord& record, traces::ActivityBatch* batch);
  void AddTag(const ActivityRecord& record, traces::ActivityBatch* batch);
  void AddGraph(const ActivityRecord& record, traces::ActivityBatch* batch);
  void AddNvlink(const ActivityRecord& record, traces::ActivityBatch* batch);
  void AddDevice(const ActivityRecord& record, traces::ActivityBatch* batch);
  void AddContext(const ActivityRecord& record, traces::ActivityBatch* batch);
  void AddStream(const ActivityRecord& record, traces::ActivityBatch* batch);
  int64_t Time(uint64_t ns) const;
  traces::TextId Text(const char* address, traces::ActivityBatch* batch);
  const Function& FunctionOf(bool of_driver, uint32_t number, traces::ActivityBatch* batch);

  const CuptiLibrary& library_;
  const int64_t offset_ns_;
  int64_t records_ = 0;
  // texts_ and functions_ are of the buffer at hand: a name may go with the module that it belongs to.
  std::unordered_map<const char*, traces::TextId> texts_;
  std::unordered_map<uint64_t, Function> functions_;  // by API and number
  std::unordered_map<int32_t, size_t> sizes_;         // of records by kind
};

}  // namespace lanescope::profiler
