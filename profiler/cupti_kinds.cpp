// SPDX-License-Identifier: Apache-2.0
#include "profiler/cupti_kinds.h"

#include <algorithm>

#include "profiler/cupti_calls.h"

namespace lanescope::profiler {
namespace {

// With the flushes, so for ten seconds.
constexpr int kMaxRetries = 50;

constexpr cupti::Kind kFacts[] = {cupti::kDevice, cupti::kContext, cupti::kStream, cupti::kNvlink};
// MEMCPY2 is delivered only while MEMCPY is enabled too. KERNEL would run one kernel at a time.
constexpr cupti::Kind kWork[] = {cupti::kConcurrentKernel, cupti::kMemcpy, cupti::kMemcpy2, cupti::kMemset};
constexpr cupti::Kind kRest[] = {cupti::kRuntime, cupti::kSynchronization, cupti::kOverhead};

}  // namespace

void CuptiKinds::Enable(cupti::Kind kind) {
  if (library_->Enable(kind) != cupti::kSuccess) refused_.push_back(kind);
}

void CuptiKinds::Disable(cupti::Kind kind) {
  std::erase(refused_, kind);
  library_->Disable(kind);
}

void CuptiKinds::EnableFacts() {
  std::lock_guard lock(mutex_);
  for (const cupti::Kind kind : kFacts) Enable(kind);
}

void CuptiKinds::DisableFacts() {
  std::lock_guard lock(mutex_);
  for (const cupti::Kind kind : kFacts) Disable(kind);
}

void CuptiKinds::SetRecording(bool on) {
  std::lock_guard lock(mutex_);
  if (on == recording_) return;
  recording_ = on;
  retries_ = 0;
  const auto change = [&](cupti::Kind kind) { on ? Enable(kind) : Disable(kind); };
  for (const cupti::Kind kind : kWork) change(kind);
  if (mode_ == CaptureMode::kFull) {
    for (const cupti::Kind kind : kRest) change(kind);
  }
  if (with_tags_) change(cupti::kExternalCorrelation);
  if (!library_->CanChooseCalls() && (mode_ == CaptureMode::kFull || with_tags_)) {
    if (mode_ != CaptureMode::kFull) change(cupti::kRuntime);
    change(cupti::kDriver);
  }
  calls_are_set_ = SwitchCalls(on);
}

// After the kinds: enabling all calls of the runtime overrides what is said of single ones.
bool CuptiKinds::SwitchCalls(bool on) {
  if (!library_->CanChooseCalls()) return true;
  bool done = true;
  const auto runtime = [&](uint32_t call, bool wanted) {
    done = library_->EnableRuntimeApi(call, wanted ? 1 : 0) == cupti::kSuccess && done;
  };
  if (mode_ == CaptureMode::kFull && on) {
    for (const CuptiCall& call : kChattyCalls) runtime(call.number, false);
  }
  if (mode_ != CaptureMode::kFull && with_tags_) {
    for (const CuptiCall& call : kRuntimeLaunches) runtime(call.number, on);
  }
  if (mode_ == CaptureMode::kFull || with_tags_) {
    for (const CuptiCall& call : kDriverLaunches) {
      done = library_->EnableDriverApi(call.number, on ? 1 : 0) == cupti::kSuccess && done;
    }
  }
  return done;
}

void CuptiKinds::Retry() {
  std::lock_guard lock(mutex_);
  if ((refused_.empty() && calls_are_set_) || retries_ >= kMaxRetries) return;
  ++retries_;
  const bool last = retries_ == kMaxRetries;
  const size_t before = refused_.size();
  std::erase_if(refused_, [&](cupti::Kind kind) {
    const cupti::Result result = library_->Enable(kind);
    if (result != cupti::kSuccess && last) {
      note_("records of kind " + std::to_string(kind) + " are not available: " + library_->Describe(result));
    }
    return result == cupti::kSuccess;
  });
  if (refused_.size() == before && calls_are_set_) return;
  calls_are_set_ = SwitchCalls(recording_);
  if (last && !calls_are_set_) note_("some API calls cannot be switched on or off");
}

}  // namespace lanescope::profiler
