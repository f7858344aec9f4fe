// SPDX-License-Identifier: Apache-2.0
// The capturing program's end of the channel.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "core/base/after_death.h"
#include "core/base/thread.h"
#include "profiler/capture_channel.h"
#include "traces/record/activity_rows.h"

namespace lanescope::profiler {

// Counts what the server saw of captured processes.
struct CaptureReport {
  int processes = 0;                  // that connected
  int unfinished = 0;                 // connections that ended without saying that everything was sent
  int refused = 0;                    // connections beyond those that could be open at once
  int unfinished_with_device = 0;     // of those, the ones that had delivered work of devices
  int64_t malformed_frames = 0;       // each ended its connection
  int64_t rows = 0, device_rows = 0;  // received; those of kernels, copies and memory sets
  std::vector<std::string> notes;     // distinct lines of status
  std::vector<std::string> failures;  // why processes could not be captured
  std::string ended_early;            // why the server read no more before it was finished; empty: it did
  size_t most_held_bytes = 0;         // of incomplete frames, in memory at once
};

struct CaptureLimits {
  size_t connections = 512;  // open at once
  // Limits incomplete frames of all connections. Beyond it one connection reads on, up to the end of its
  // frame, and the others wait.
  size_t held_bytes = size_t{256} << 20;
};

// Listens on a socket in a folder that only this user can enter, and hands every batch to the sink, from one
// thread of its own. Frames are checked: a process that sends anything else is cut off and counted. Its pid
// is the kernel's word, not the frame's. While the sink waits, so do the processes: nothing is buffered
// without bound. A server that fails, as without memory, ends its connections: the processes go on
// uncaptured.
class CaptureServer {
 public:
  // Throws ResourceExhausted when there can be no socket or no thread. The sink must outlive the server.
  explicit CaptureServer(traces::ActivitySink* sink, const CaptureLimits& limits = {});
  ~CaptureServer();
  CaptureServer(const CaptureServer&) = delete;
  CaptureServer& operator=(const CaptureServer&) = delete;

  const std::string& socket_path() const { return path_; }
  // Reads what has arrived, closes everything, and says what there was. Idempotent.
  CaptureReport Finish();
  CaptureReport Report() const;

 private:
  struct Connection;
  void CloseSocket();
  void CloseListener();
  void Serve();
  void Loop();
  bool ReadReady(bool last);
  bool MayRead(const Connection& connection) const;
  void Accept();
  void RefuseForDescriptors();
  bool ReadSome(Connection* connection);
  void NoteHeld(size_t bytes);
  void Drop(size_t connection);
  bool TakeFrames(Connection* connection);
  bool TakeFrame(Connection* connection, FrameKind kind, std::string_view payload);

  traces::ActivitySink* const sink_;
  const CaptureLimits limits_;
  std::string folder_, path_;
  std::unique_ptr<AfterDeath> guard_;  // of the folder
  int listener_ = -1;
  int wake_ = -1;
  int spare_ = -1;  // given up to accept, and refuse, what comes when there are no more descriptors
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<char> piece_;  // that was read last
  size_t held_bytes_ = 0;    // capacities of all connections' frames
  std::atomic<bool> stop_{false};
  mutable std::mutex mutex_;  // of report_
  CaptureReport report_;
  std::set<uint32_t> pids_;
  Thread thread_;
};

}  // namespace lanescope::profiler
