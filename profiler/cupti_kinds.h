// SPDX-License-Identifier: Apache-2.0
// Which records and calls a capture asks CUPTI for.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "profiler/capture_session.h"
#include "profiler/cupti_library.h"

namespace lanescope::profiler {

// Switches kinds of records on and off. What cannot be enabled yet, inside cuInit for one, is tried again
// with Retry; in the end a note says what is missing. Thread-safe.
class CuptiKinds {
 public:
  CuptiKinds(std::shared_ptr<const CuptiLibrary> library, CaptureMode mode, bool with_tags,
             std::function<void(const std::string&)> note)
      : library_(std::move(library)), mode_(mode), with_tags_(with_tags), note_(std::move(note)) {}

  // Facts about devices, contexts and streams.
  void EnableFacts();
  // Everything that happens.
  void SetRecording(bool on);
  void Retry();
  void DisableFacts();

 private:
  void Enable(cupti::Kind kind);
  void Disable(cupti::Kind kind);
  bool SwitchCalls(bool on);

  const std::shared_ptr<const CuptiLibrary> library_;
  const CaptureMode mode_;
  const bool with_tags_;
  const std::function<void(const std::string&)> note_;
  std::mutex mutex_;  // of what follows
  bool recording_ = false;
  bool calls_are_set_ = true;
  std::vector<cupti::Kind> refused_;
  int retries_ = 0;
};

}  // namespace lanescope::profiler
