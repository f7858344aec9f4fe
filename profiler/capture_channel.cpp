// SPDX-License-Identifier: Apache-2.0
#include "profiler/capture_channel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "core/base/clock.h"
#include "profiler/clock_alignment.h"

namespace lanescope::profiler {
namespace {

// Above what programs count on, below the usual limit of 1024.
constexpr int kHighDescriptor = 700;

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int64_t Number(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? 0 : std::strtoll(value, nullptr, 10);
}

}  // namespace

bool InjectionSettings::Read(InjectionSettings* settings) {
  settings->socket = Variable(kSocketVariable);
  settings->mode = Variable(kModeVariable) == "kernels" ? CaptureMode::kKernels : CaptureMode::kFull;
  settings->begin_ns = Number(kBeginVariable);
  settings->end_ns = Number(kEndVariable);
  settings->nvtx_range = Variable(kRangeVariable);
  return !settings->socket.empty();
}

bool CaptureClient::Connect(const std::string& path) {
  Close();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return false;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const int low = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (low < 0) return false;
  const int high = fcntl(low, F_DUPFD_CLOEXEC, kHighDescriptor);
  socket_ = high >= 0 ? high : low;
  if (high >= 0) close(low);
  struct stat identity {};
  int result;
  do {
    result = connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address));
  } while (result != 0 && errno == EINTR);
  if (result != 0 || fstat(socket_, &identity) != 0) {
    close(socket_);
    socket_ = -1;
    return false;
  }
  device_ = identity.st_dev;
  inode_ = identity.st_ino;
  return true;
}

bool CaptureClient::IsOurs() const {
  struct stat now {};
  return socket_ >= 0 && fstat(socket_, &now) == 0 && now.st_dev == device_ && now.st_ino == inode_;
}

bool CaptureClient::Send(FrameKind kind, std::string_view payload, int timeout_ms) {
  FrameHeader header;
  header.kind = kind;
  header.bytes = payload.size();
  std::string_view parts[] = {{reinterpret_cast<const char*>(&header), sizeof(header)}, payload};
  int64_t deadline = NowNs() + int64_t{timeout_ms} * 1000000;
  for (std::string_view part : parts) {
    while (!part.empty()) {
      const ssize_t sent = IsOurs() ? send(socket_, part.data(), part.size(), MSG_NOSIGNAL | MSG_DONTWAIT)
                                    : (errno = EBADF, -1);
      if (sent > 0) {
        part.remove_prefix(static_cast<size_t>(sent));
        deadline = NowNs() + int64_t{timeout_ms} * 1000000;
        continue;
      }
      const bool full = errno == EAGAIN || errno == EWOULDBLOCK;
      if ((!full && errno != EINTR) || NowNs() > deadline) {
        Close();
        return false;
      }
      if (full) {
        pollfd ready{socket_, POLLOUT, 0};
        poll(&ready, 1, 50);
      }
    }
  }
  return true;
}

void CaptureClient::Close() {
  if (IsOurs()) close(socket_);
  socket_ = -1;
}

}  // namespace lanescope::profiler
