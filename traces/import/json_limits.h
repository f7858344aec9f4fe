// SPDX-License-Identifier: Apache-2.0
// Limits of what a trace in JSON may make its reader hold at once. Internal to traces.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace lanescope::traces {

// Events of profilers take some hundred bytes, those with a call stack some ten thousand, and their values
// lie four deep. A damaged or hostile file may hold gigabytes in one, which a few compressed bytes stand for.
inline constexpr int64_t kMostEventBytes = int64_t{16} << 20;
// Each takes memory, and time to give it back.
inline constexpr int64_t kMostEventValues = int64_t{1} << 18;
inline constexpr int kDeepestJson = 100;

// Told of every piece that is read and of every value that begins; where events are taken out of the text
// first (EventSieve), of what passes. Not thread-safe.
class JsonLimits {
 public:
  // Both must outlive it; `cancelled` may be null.
  JsonLimits(const std::string& path, const std::atomic<bool>* cancelled)
      : path_(path), cancelled_(cancelled) {}

  // After each piece, inflated. Throws Cancelled, and InvalidArgument for too much since the last event.
  void Read(int64_t bytes);
  // For each value that begins, within `depth` others. Throws InvalidArgument for too deep a one, and for too
  // many since the last event.
  void Begin(int depth);
  void EndEvent() { since_event_ = values_ = 0; }

 private:
  const std::string& path_;
  const std::atomic<bool>* cancelled_;
  int64_t since_event_ = 0, values_ = 0;
};

}  // namespace lanescope::traces
