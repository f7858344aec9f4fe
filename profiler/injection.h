// SPDX-License-Identifier: Apache-2.0
// The capture inside a program that is not ours: what liblanescope_inject.so does when CUDA or NVTX loads it.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "profiler/capture_channel.h"
#include "profiler/capture_session.h"
#include "profiler/nvtx_recorder.h"

namespace lanescope::profiler {

// One for each process; never destroyed, since the program's threads may use it until the end. A fork leaves
// the child with a new one that has done nothing yet: no lock, thread or descriptor of the parent is touched
// there. Never throws.
class Injection : private traces::ActivitySink {
 public:
  // The process's own injection; null where nobody captures it.
  static Injection* Get();

  // CUDA was initialized.
  void StartCuda();
  // Something is about to be recorded: connects and starts the flushing thread, once.
  void Start();
  // Everything is handed over. Once, at the end of the process.
  void Finish();

  NvtxRecorder& nvtx() { return nvtx_; }

 private:
  explicit Injection(InjectionSettings settings);
  static void AfterFork();
  void Consume(traces::ActivityBatch batch) override;
  void SendLine(FrameKind kind, const std::string& text);
  void SendNotes();
  void FlushLoop();
  void ApplyGate();
  bool IsGateOpen() const;

  const InjectionSettings settings_;
  const pid_t pid_;
  std::once_flag started_, cuda_started_, finished_;
  NvtxRecorder nvtx_;
  std::atomic<bool> range_open_{false};
  std::atomic<bool> stop_{false};

  std::mutex gate_mutex_;
  CaptureSession* session_ = nullptr;  // gate_mutex_

  std::mutex client_mutex_;
  CaptureClient client_;  // client_mutex_
  int64_t unsent_ = 0;    // client_mutex_
  size_t notes_sent_ = 0;
};

}  // namespace lanescope::profiler
