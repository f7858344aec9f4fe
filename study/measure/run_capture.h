// SPDX-License-Identifier: Apache-2.0
// Activities of GPUs while a graph runs, into the trace of the run.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/record/capture_mode.h"
#include "core/record/launch_observer.h"
#include "core/schedule/schedule.h"
#include "traces/record/activity_rows.h"

namespace lanescope::profiler {
class CaptureSession;
}  // namespace lanescope::profiler

namespace lanescope::study {

// A run is asked to capture so much, by somebody or by default.
struct CaptureWish {
  CaptureMode mode = CaptureMode::kOff;
  bool is_asked_for = true;  // false: where it cannot be had, nobody is told
};
inline constexpr std::string_view kAutomaticCapture = "auto";
// By one of kCaptureModeNames, or "auto": where a trace is written kernels, whose times a profiler knows
// best.
CaptureWish CaptureWishOf(std::string_view name, bool has_trace);

// Make it before anything touches a GPU. Without one it does nothing: host events are recorded anyway.
class RunCapture : private LaunchObserver, private traces::ActivitySink {
 public:
  explicit RunCapture(CaptureWish wish);
  ~RunCapture() override;
  RunCapture(const RunCapture&) = delete;
  RunCapture& operator=(const RunCapture&) = delete;

  bool active() const { return session_ != nullptr; }
  // Why it is not active; empty: it is.
  const std::string& problem() const { return problem_; }
  // Whether somebody wants to know that.
  bool is_asked_for() const { return is_asked_for_; }
  // For the session that runs; null when not active.
  LaunchObserver* observer() { return active() ? this : nullptr; }
  // Rows go there, from the first one on; those of what was recorded before to whoever had them until now.
  void SendTo(traces::ActivitySink* sink);
  // The activities so far, where they go to no sink.
  std::vector<traces::ActivityBatch> Take();
  // Suspends and resumes recording, between steps: what does not record costs them nothing.
  void SetRecording(bool on);
  // Rows of work that begins before this call are left out.
  void BeginRecording();
  // Everything is with the sink. Idempotent.
  void Stop();

 private:
  void Begin(int schedule, int step, CommandId command) override;
  void End() override;
  void GraphRecorded(int schedule, std::span<const std::pair<const void*, CommandId>> nodes) override;
  void Consume(traces::ActivityBatch batch) override;

  const bool is_asked_for_;
  std::string problem_;
  std::mutex mutex_;
  bool keeps_rows_ = false;
  traces::ActivitySink* sink_ = nullptr;     // mutex_
  std::vector<traces::ActivityBatch> held_;  // mutex_; until there is a sink
  std::unique_ptr<profiler::CaptureSession> session_;
};

}  // namespace lanescope::study
