// SPDX-License-Identifier: Apache-2.0
#include "study/base/cancellation.h"

#include <thread>

#include "core/base/error.h"
#include "core/base/interrupt_reason.h"
#include "exec/run/session.h"

namespace lanescope::study {

void Cancellation::Cancel(int signal) noexcept {
  if (!cancelled_.load()) {
    int none = 0;
    signal_.compare_exchange_strong(none, signal);
  }
  cancelled_.store(true);
  ending_.fetch_add(1);
  for (const std::atomic<exec::Session*>& running : running_) {
    if (exec::Session* session = running.load()) session->Cancel();
  }
  ending_.fetch_sub(1);
}

std::string Cancellation::Reason() const {
  const int signal = signal_.load();
  return signal != 0 ? InterruptReason(signal) : "it was stopped";
}

void Cancellation::Check() const {
  if (cancelled()) Throw(Code::kCancelled, "{}", Reason());
}

Cancellation::Running::Running(Cancellation* of, exec::Session* session) : of_(of) {
  if (of_ == nullptr) return;
  of_->Check();
  for (std::atomic<exec::Session*>& slot : of_->running_) {
    exec::Session* none = nullptr;
    if (!slot.compare_exchange_strong(none, session)) continue;
    slot_ = &slot;
    return;
  }
  Throw(Code::kInternal, "more than {} sessions run at once", kMaxRunning);
}

Cancellation::Running::~Running() {
  if (of_ == nullptr) return;
  slot_->store(nullptr);
  while (of_->ending_.load() > 0) std::this_thread::yield();
}

}  // namespace lanescope::study
