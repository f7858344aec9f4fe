// SPDX-License-Identifier: Apache-2.0
// Records of one unit of work after the other, counted: what every reader op does.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "exec/readers/record_format.h"

namespace lanescope::exec {

// The caller gives it work whenever it needs some. After an error it needs work: the rest of that unit is
// left, so that a damaged file costs its own records alone. Thread-compatible.
class Reader {
 public:
  explicit Reader(std::unique_ptr<RecordFormat> format) : format_(std::move(format)) {}

  bool needs_work() const { return !has_work_; }
  // Throws what the format's Open throws; the unit counts as completed where it ended in its header.
  void StartWork(const std::string& work);
  // The next record; false where the unit ended, or there was none.
  bool Next(Record* record);

  int64_t records_produced() const { return records_produced_; }
  int64_t work_units_completed() const { return work_units_completed_; }
  // As a new one.
  void Reset();

 private:
  std::unique_ptr<RecordFormat> format_;
  bool has_work_ = false;
  int64_t records_produced_ = 0;
  int64_t work_units_completed_ = 0;
};

}  // namespace lanescope::exec
