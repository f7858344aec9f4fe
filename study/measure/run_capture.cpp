// SPDX-License-Identifier: Apache-2.0
#include "study/measure/run_capture.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/base/error.h"
#include "core/record/recorder.h"
#include "profiler/capture_session.h"

namespace lanescope::study {

CaptureWish CaptureWishOf(std::string_view name, bool has_trace) {
  if (name == kAutomaticCapture) return {has_trace ? CaptureMode::kKernels : CaptureMode::kOff, false};
  const auto found = std::ranges::find(kCaptureModeNames, name);
  if (found == kCaptureModeNames.end()) {
    Throw(Code::kInvalidArgument, "there is no profile '{}'; take {}, {}", name, kAutomaticCapture,
          fmt::join(kCaptureModeNames, ", "));
  }
  return {static_cast<CaptureMode>(found - kCaptureModeNames.begin())};
}

RunCapture::RunCapture(CaptureWish wish)
    : is_asked_for_(wish.is_asked_for && wish.mode != CaptureMode::kOff) {
  if (wish.mode == CaptureMode::kOff) {
    problem_ = "it was not asked for";
    return;
  }
  profiler::CaptureOptions options;
  options.mode = wish.mode;
  options.with_tags = true;
  session_ = profiler::CaptureSession::Start(options, this, &problem_);
  if (session_ != nullptr) session_->KeepFrom(INT64_MAX);
}

RunCapture::~RunCapture() { Stop(); }

void RunCapture::SendTo(traces::ActivitySink* sink) {
  if (sink_ == sink) return;  // which only this method writes
  if (sink_ != nullptr && session_ != nullptr) session_->Flush();
  if (keeps_rows_) BeginRecording();  // what is late would go to the wrong one
  std::lock_guard lock(mutex_);
  sink_ = sink;
  for (traces::ActivityBatch& batch : std::exchange(held_, {})) sink_->Consume(std::move(batch));
}

std::vector<traces::ActivityBatch> RunCapture::Take() {
  std::lock_guard lock(mutex_);
  return std::exchange(held_, {});
}

void RunCapture::BeginRecording() {
  keeps_rows_ = true;
  if (session_ != nullptr) session_->KeepFrom(NowNs());
}

void RunCapture::SetRecording(bool on) {
  if (session_ != nullptr) session_->SetRecording(on);
}

void RunCapture::Stop() {
  if (session_ != nullptr) session_->Stop();
}

void RunCapture::Begin(int schedule, int step, CommandId command) {
  session_->PushTag(traces::MakeActivityTag(static_cast<uint32_t>(schedule), static_cast<uint32_t>(step),
                                            static_cast<uint32_t>(command.number())));
}

void RunCapture::End() { session_->PopTag(); }

// Nodes of a graph are its own: which step they run in says the launch of the graph.
void RunCapture::GraphRecorded(int schedule, std::span<const std::pair<const void*, CommandId>> nodes) {
  for (const auto& [node, command] : nodes) {
    session_->AddGraphNode(
        const_cast<void*>(node),
        traces::MakeActivityTag(static_cast<uint32_t>(schedule), 0, static_cast<uint32_t>(command.number())));
  }
}

void RunCapture::Consume(traces::ActivityBatch batch) {
  batch.pid = static_cast<uint32_t>(getpid());
  std::lock_guard lock(mutex_);
  if (sink_ != nullptr) {
    sink_->Consume(std::move(batch));
  } else {
    held_.push_back(std::move(batch));
  }
}

}  // namespace lanescope::study
