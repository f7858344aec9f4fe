// SPDX-License-Identifier: Apache-2.0
#include "profiler/capture_server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "profiler/batch_codec.h"
#include "profiler/clock_alignment.h"
#include "profiler/frame_buffer.h"

namespace lanescope::profiler {
namespace {

constexpr size_t kReadBytes = size_t{256} << 10;
// A process that lives on and goes on sending is not waited for.
constexpr int64_t kLastRoundsNs = 5000000000;
constexpr size_t kMaxLine = 1000;
constexpr size_t kMaxLines = 64;

[[noreturn]] void Fail(const char* what) {
  Throw(Code::kResourceExhausted, "cannot make a socket for the captured processes: {}: {}", what,
        std::strerror(errno));
}

// A line of another process, as it may be shown.
std::string Line(std::string_view text) {
  std::string line(text.substr(0, kMaxLine));
  std::replace_if(
      line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; },
      '?');
  return line;
}

void AddLine(std::vector<std::string>* lines, std::string_view text) {
  std::string line = Line(text);
  if (lines->size() >= kMaxLines || std::find(lines->begin(), lines->end(), line) != lines->end()) return;
  lines->push_back(std::move(line));
}

}  // namespace

struct CaptureServer::Connection {
  ~Connection() { close(socket); }
  int socket = -1;
  uint32_t pid = 0;
  std::string program;
  bool finished = false;
  size_t device_rows = 0;
  FrameBuffer received{sizeof(FrameHeader) + kMaxFrameBytes};  // frames that are not whole yet
};

CaptureServer::CaptureServer(traces::ActivitySink* sink, const CaptureLimits& limits)
    : sink_(sink), limits_(limits), piece_(kReadBytes) {
  std::error_code error;
  std::filesystem::path base = std::filesystem::temp_directory_path(error);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  constexpr std::string_view kPattern = "/lanescope-XXXXXX";
  // The path of a socket holds about a hundred characters.
  if (error || base.string().size() + kPattern.size() + 3 > sizeof(address.sun_path)) base = "/tmp";
  folder_ = base.string() + std::string(kPattern);
  if (mkdtemp(folder_.data()) == nullptr) {
    Throw(Code::kResourceExhausted,
          "cannot make a folder for the socket of the captured processes: {}: {}; set TMPDIR to a folder "
          "that can be written",
          folder_, std::strerror(errno));
  }
  guard_ = std::make_unique<AfterDeath>(kRemoveFolder, std::vector{folder_});
  path_ = folder_ + "/s";
  std::memcpy(address.sun_path, path_.c_str(), path_.size() + 1);
  listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  spare_ = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (listener_ < 0 || wake_ < 0 || spare_ < 0 ||
      bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
      listen(listener_, 128) != 0) {
    const int reason = errno;
    CloseSocket();
    errno = reason;
    Fail(path_.c_str());
  }
  try {
    thread_ = Thread("captured processes", [this] { Serve(); });
  } catch (...) {
    CloseSocket();
    throw;
  }
}

// From then on nobody connects, and waits for an answer.
void CaptureServer::CloseListener() {
  if (listener_ >= 0) close(listener_);
  listener_ = -1;
}

void CaptureServer::CloseSocket() {
  CloseListener();
  if (wake_ >= 0) close(wake_);
  if (spare_ >= 0) close(spare_);
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

CaptureServer::~CaptureServer() {
  Finish();
  CloseSocket();
}

CaptureReport CaptureServer::Report() const {
  std::lock_guard lock(mutex_);
  return report_;
}

CaptureReport CaptureServer::Finish() {
  stop_.store(true);
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_, &one, sizeof(one));
  thread_.Wait();
  return Report();
}

void CaptureServer::Serve() {
  try {
    Loop();
  } catch (...) {
    std::string reason = ErrorInFlight().message();
    std::lock_guard lock(mutex_);
    report_.ended_early = std::move(reason);
  }
  CloseListener();
  while (!connections_.empty()) Drop(connections_.size() - 1);
}

void CaptureServer::Loop() {
  int64_t deadline = 0;
  while (true) {
    const bool last = stop_.load();
    if (last && deadline == 0) deadline = NowNs() + kLastRoundsNs;
    const bool any = ReadReady(last);
    // The last round goes on until nothing more has arrived.
    if (last && (!any || NowNs() > deadline)) break;
  }
}

// Whether anything had arrived.
bool CaptureServer::ReadReady(bool last) {
  std::vector<pollfd> ready{{listener_, POLLIN, 0}, {wake_, POLLIN, 0}};
  // poll looks past negative numbers.
  for (const auto& connection : connections_)
    ready.push_back({MayRead(*connection) ? connection->socket : -1, POLLIN, 0});
  const int changed = poll(ready.data(), ready.size(), last ? 0 : 1000);
  if (changed <= 0) return false;
  bool any = false;
  for (size_t i = connections_.size(); i-- > 0;) {
    if (ready[i + 2].revents == 0 || !MayRead(*connections_[i])) continue;
    any = true;
    if (!ReadSome(connections_[i].get())) Drop(i);
  }
  if ((ready[0].revents & POLLIN) != 0) {
    any = true;
    Accept();
  }
  return any;
}

// While there is room for what it reads. Where there is none, the first in the middle of a frame reads on:
// once that is whole it gives its memory back, and the next one does.
bool CaptureServer::MayRead(const Connection& connection) const {
  if (held_bytes_ + connection.received.GrowthFor(kReadBytes) <= limits_.held_bytes) return true;
  const auto first = std::find_if(connections_.begin(), connections_.end(),
                                  [](const auto& other) { return !other->received.empty(); });
  return first == connections_.end() || first->get() == &connection;
}

void CaptureServer::Drop(size_t number) {
  {
    std::lock_guard lock(mutex_);
    const Connection& connection = *connections_[number];
    if (!connection.finished) {
      ++report_.unfinished;
      if (connection.device_rows > 0) ++report_.unfinished_with_device;
    }
  }
  held_bytes_ -= connections_[number]->received.capacity();
  connections_.erase(connections_.begin() + static_cast<ptrdiff_t>(number));
}

// A connection that waits while this process has no descriptor left would be reported as ready for ever: the
// spare descriptor makes room to take it, and to close it.
void CaptureServer::RefuseForDescriptors() {
  close(spare_);
  const int socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (socket >= 0) close(socket);
  spare_ = open("/dev/null", O_RDONLY | O_CLOEXEC);
  std::lock_guard lock(mutex_);
  ++report_.refused;
}

void CaptureServer::Accept() {
  const int socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (socket < 0) {
    if (errno == EMFILE || errno == ENFILE) RefuseForDescriptors();
    return;
  }
  auto connection = std::make_unique<Connection>();
  connection->socket = socket;
  ucred peer{};
  socklen_t size = sizeof(peer);
  const bool known = getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
  if (!known || (peer.uid != geteuid() && peer.uid != 0)) return;
  connection->pid = static_cast<uint32_t>(peer.pid);
  {
    std::lock_guard lock(mutex_);
    if (connections_.size() >= limits_.connections) {
      ++report_.refused;
      return;
    }
    if (pids_.insert(connection->pid).second) ++report_.processes;
  }
  connections_.push_back(std::move(connection));
}

// False where the connection has ended, or has to.
bool CaptureServer::ReadSome(Connection* connection) {
  const ssize_t size = recv(connection->socket, piece_.data(), piece_.size(), 0);
  if (size < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
  if (size == 0) {
    // A frame that is cut off in the middle came from a process that was killed while it sent.
    std::lock_guard lock(mutex_);
    if (!connection->received.empty()) ++report_.malformed_frames;
    return false;
  }
  FrameBuffer& received = connection->received;
  held_bytes_ -= received.capacity();
  received.Append({piece_.data(), static_cast<size_t>(size)});
  NoteHeld(held_bytes_ + received.capacity());
  const bool sound = TakeFrames(connection);
  held_bytes_ += received.capacity();
  if (sound) return true;
  std::lock_guard lock(mutex_);
  ++report_.malformed_frames;
  return false;
}

void CaptureServer::NoteHeld(size_t bytes) {
  std::lock_guard lock(mutex_);
  report_.most_held_bytes = std::max(report_.most_held_bytes, bytes);
}

bool CaptureServer::TakeFrames(Connection* connection) {
  const std::string_view received = connection->received.bytes();
  std::string_view rest = received;
  while (rest.size() >= sizeof(FrameHeader)) {
    FrameHeader header;
    std::memcpy(&header, rest.data(), sizeof(header));
    if (header.magic != FrameHeader::kMagic || header.bytes > kMaxFrameBytes) return false;
    if (rest.size() - sizeof(header) < header.bytes) break;
    if (!TakeFrame(connection, header.kind, rest.substr(sizeof(header), header.bytes))) return false;
    rest.remove_prefix(sizeof(header) + header.bytes);
  }
  connection->received.Take(received.size() - rest.size());
  return true;
}

bool CaptureServer::TakeFrame(Connection* connection, FrameKind kind, std::string_view payload) {
  switch (kind) {
    case FrameKind::kHello:
      connection->program = Line(payload);
      return true;
    case FrameKind::kBatch: {
      traces::ActivityBatch batch;
      if (!DecodeBatch(payload, &batch)) return false;
      batch.pid = connection->pid;
      batch.program = batch.AddText(connection->program);
      {
        std::lock_guard lock(mutex_);
        connection->device_rows += traces::NumDeviceRows(batch);
        report_.rows += static_cast<int64_t>(traces::NumRows(batch));
        report_.device_rows += static_cast<int64_t>(traces::NumDeviceRows(batch));
      }
      sink_->Consume(std::move(batch));
      return true;
    }
    case FrameKind::kStatus:
    case FrameKind::kFailed: {
      std::lock_guard lock(mutex_);
      AddLine(kind == FrameKind::kFailed ? &report_.failures : &report_.notes, payload);
      return true;
    }
    case FrameKind::kBye:
      connection->finished = true;
      return true;
  }
  return false;
}

}  // namespace lanescope::profiler
