// SPDX-License-Identifier: Apache-2.0
#include "exec/kernels/shared_reader.h"

#include <algorithm>
#include <utility>

namespace lanescope::exec {

SharedReader::Ticket SharedReader::Take(std::function<void()> granted) {
  const std::lock_guard lock(mutex_);
  if (!is_taken_) {
    is_taken_ = true;
    return 0;
  }
  waiting_.push_back({++last_ticket_, std::move(granted)});
  return last_ticket_;
}

void SharedReader::Release() {
  records_produced_.store(reader_.records_produced());
  work_units_completed_.store(reader_.work_units_completed());
  std::function<void()> granted;
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty()) {
      is_taken_ = false;
      return;
    }
    granted = std::move(waiting_.front().granted);
    waiting_.pop_front();
  }
  granted();
}

bool SharedReader::Leave(Ticket ticket) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(waiting_, ticket, &Waiting::ticket);
  if (found == waiting_.end()) return false;
  waiting_.erase(found);
  return true;
}

}  // namespace lanescope::exec
