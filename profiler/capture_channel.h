// SPDX-License-Identifier: Apache-2.0
// How captured processes hand their activities to the program that captures them: frames over a Unix socket.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "profiler/capture_session.h"

namespace lanescope::profiler {

// A frame is this header and `bytes` bytes.
enum class FrameKind : uint32_t {
  kHello = 1,   // the name of the program
  kBatch = 2,   // EncodeBatch
  kStatus = 3,  // one line that a user should know
  kFailed = 4,  // one line: nothing is captured in this process, and why
  kBye = 5,     // everything was sent
};
struct FrameHeader {
  static constexpr uint32_t kMagic = 0x6c61736e;
  uint32_t magic = kMagic;
  FrameKind kind = FrameKind::kHello;
  uint64_t bytes = 0;
};
inline constexpr uint64_t kMaxFrameBytes = uint64_t{64} << 20;

// The settings of captured processes, which environment variables carry.
struct InjectionSettings {
  std::string socket;
  CaptureMode mode = CaptureMode::kFull;
  int64_t begin_ns = 0;    // record from then on (CLOCK_MONOTONIC); 0: from the start
  int64_t end_ns = 0;      // until then; 0: until the end
  std::string nvtx_range;  // record only inside NVTX ranges with this text; empty: always

  // False in a process that nobody captures.
  static bool Read(InjectionSettings* settings);
};
inline constexpr char kSocketVariable[] = "LANESCOPE_CAPTURE_SOCKET";
inline constexpr char kModeVariable[] = "LANESCOPE_CAPTURE_MODE";
inline constexpr char kBeginVariable[] = "LANESCOPE_CAPTURE_BEGIN_NS";
inline constexpr char kEndVariable[] = "LANESCOPE_CAPTURE_END_NS";
inline constexpr char kRangeVariable[] = "LANESCOPE_CAPTURE_RANGE";

// The captured process's end. The descriptor lives at a high number, and before every use it is checked to be
// the socket still, since programs close and reuse descriptors that they did not open. Not thread-safe. Never
// throws.
class CaptureClient {
 public:
  CaptureClient() = default;
  ~CaptureClient() { Close(); }
  CaptureClient(const CaptureClient&) = delete;
  CaptureClient& operator=(const CaptureClient&) = delete;

  bool Connect(const std::string& path);
  // Waits while the other end is behind, but not for more than `timeout_ms` without progress. After false the
  // channel is closed.
  bool Send(FrameKind kind, std::string_view payload, int timeout_ms = 10000);
  bool is_open() const { return socket_ >= 0; }
  void Close();

 private:
  bool IsOurs() const;
  int socket_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace lanescope::profiler
