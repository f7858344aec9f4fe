// SPDX-License-Identifier: Apache-2.0
#include "exec/readers/reader.h"

#include "core/base/error.h"

namespace lanescope::exec {

void Reader::StartWork(const std::string& work) {
  LANESCOPE_CHECK(!has_work_);
  try {
    format_->Open(work);
  } catch (const Error& error) {
    if (error.code() == Code::kOutOfRange) ++work_units_completed_;
    throw;
  }
  has_work_ = true;
}

bool Reader::Next(Record* record) {
  if (!has_work_) return false;
  has_work_ = false;  // also where this throws
  if (!format_->Next(record)) {
    ++work_units_completed_;
    return false;
  }
  ++records_produced_;
  if (format_->is_one_record()) {
    ++work_units_completed_;
  } else {
    has_work_ = true;
  }
  return true;
}

void Reader::Reset() {
  has_work_ = false;
  records_produced_ = 0;
  work_units_completed_ = 0;
}

}  // namespace lanescope::exec
