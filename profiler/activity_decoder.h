// From buffers of activity records, as CUPTI fills them, to rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "traces/activity_rows.h"

namespace lanescope {

class CuptiLibrary;

// Walks buffers with the CUPTI library's own iterator, since only it knows the size of every record, and
// checks every step: a record must lie in the buffer as a whole and behind the one before. Texts are read
// with ReadText. What cannot be a record ends its buffer and is counted; records of kinds that nobody asked
// for are skipped. Enumerations become those of the Nsight Systems export. Not thread-safe; throws nothing.
class ActivityDecoder {
 public:
  // The library must outlive the decoder. `offset_ns` is what the clock of records is ahead of
  // CLOCK_MONOTONIC.
  explicit ActivityDecoder(const CuptiLibrary& library, int64_t offset_ns = 0)
      : library_(library), offset_ns_(offset_ns) {}

  // Appends the rows of one buffer.
  void Decode(uint8_t* buffer, size_t bytes, ActivityBatch* batch);
  int64_t records() const { return records_; }

 private:
  struct Function {
    TextId name = 0;
    bool launches = false;
  };
  size_t SizeOf(const uint8_t* record);
  template <typename Record>
  void Add(const uint8_t* record, ActivityBatch* batch);
  void AddRecord(const uint8_t* record, size_t room, ActivityBatch* batch);
  int64_t Time(uint64_t ns) const;
  TextId Text(const char* address, ActivityBatch* batch);
  TextId Name(uint32_t domain, uint32_t function, bool* launches, ActivityBatch* batch);

  const CuptiLibrary& library_;
  const int64_t offset_ns_;
  int64_t records_ = 0;
  // texts_ and functions_ are of the buffer at hand: a name may go with the module that it belongs to.
  std::unordered_map<const char*, TextId> texts_;
  std::unordered_map<uint64_t, Function> functions_;  // by domain and number
  std::unordered_map<int32_t, size_t> sizes_;         // of records by kind
};

}  // namespace lanescope
