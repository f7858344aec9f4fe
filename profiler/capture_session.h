// SPDX-License-Identifier: Apache-2.0
// Capturing what this process does on its GPUs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/record/capture_mode.h"
#include "traces/record/activity_rows.h"

namespace lanescope::profiler {

struct CaptureOptions {
  CaptureMode mode = CaptureMode::kFull;
  bool with_tags = false;  // PushTag will be used
  bool recording = true;   // false: SetRecording begins it
  bool can_detach = true;  // false: the process ends with the capture
  int flush_interval_ms = 200;
};

// A capture: CUPTI's callbacks, a thread that decodes the buffers they fill, and one that flushes them. At
// most one at a time in a process; begin it before the process makes its first CUDA context. Rows go to the
// sink from the decoding thread. Thread-safe but for Start and Stop.
class CaptureSession {
 public:
  // Null, with a reason of one line, where nothing can be captured: no CUPTI on this machine or one that is
  // too old, no CUDA driver, another profiler attached (it is named). The sink must outlive the session.
  static std::unique_ptr<CaptureSession> Start(const CaptureOptions& options, traces::ActivitySink* sink,
                                               std::string* reason);

  virtual ~CaptureSession() = default;
  CaptureSession(const CaptureSession&) = delete;
  CaptureSession& operator=(const CaptureSession&) = delete;

  // Begins and ends the recording of activities.
  virtual void SetRecording(bool on) = 0;
  // Rows that start before this time (CLOCK_MONOTONIC) are left out: warm-up, whose first records can be
  // lost.
  virtual void KeepFrom(int64_t ns) = 0;
  // Calls of this thread between the two belong to `tag` (MakeActivityTag).
  virtual void PushTag(uint64_t tag) = 0;
  virtual void PopTag() = 0;
  // `node` (a CUgraphNode) executes the command of `tag`.
  virtual void AddGraphNode(void* node, uint64_t tag) = 0;
  // Waits for the devices (at most five seconds), then delivers what was recorded so far.
  virtual void Flush() = 0;
  // Flushes, and records nothing more. Idempotent.
  virtual void Stop() = 0;
  // Lines for the user: what this CUPTI cannot do, kinds of records that could not be enabled.
  virtual std::vector<std::string> Notes() const = 0;

 protected:
  CaptureSession() = default;
};

}  // namespace lanescope::profiler
