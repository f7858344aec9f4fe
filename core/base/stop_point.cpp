// SPDX-License-Identifier: Apache-2.0
#include "core/base/stop_point.h"

#include <algorithm>

#include "core/base/clock.h"
#include "core/base/error.h"

namespace lanescope {
namespace {

thread_local const StopScope* innermost = nullptr;

}  // namespace

StopScope::StopScope(const std::atomic<bool>* cancelled, int64_t deadline_ns)
    : around_(innermost),
      cancelled_(cancelled),
      deadline_ns_(around_ == nullptr ? deadline_ns : std::min(deadline_ns, around_->deadline_ns_)) {
  innermost = this;
}

StopScope::~StopScope() { innermost = around_; }

bool StopScope::IsCancelled() const {
  if (cancelled_ != nullptr && cancelled_->load(std::memory_order_relaxed)) return true;
  return around_ != nullptr && around_->IsCancelled();
}

bool StopScope::IsLate() const { return deadline_ns_ != kNoDeadline && NowNs() >= deadline_ns_; }

void StopPoint() {
  if (innermost == nullptr) return;
  if (innermost->IsCancelled()) Throw(Code::kCancelled, "it was stopped");
  if (innermost->IsLate()) Throw(Code::kDeadlineExceeded, "the time for it is over");
}

bool MustStop() { return innermost != nullptr && (innermost->IsCancelled() || innermost->IsLate()); }

}  // namespace lanescope
