// SPDX-License-Identifier: Apache-2.0
#include "traces/import/gzip_stream.h"

#include <zlib.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <iterator>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/thread.h"
#include "traces/import/import_trace.h"

namespace lanescope::traces {

namespace {

constexpr size_t kPieceBytes = size_t{1} << 17, kPiecesAhead = 8;

struct CloseGzip {
  void operator()(gzFile handle) const { gzclose(handle); }
};
using GzipHandle = std::unique_ptr<std::remove_pointer_t<gzFile>, CloseGzip>;

GzipHandle Open(const std::string& path) {
  GzipHandle handle(gzopen(path.c_str(), "rb"));
  if (handle == nullptr) Throw(Code::kNotFound, "no such file: {}", path);
  return handle;
}

// Fills the piece; false: there is no more.
bool ReadPiece(gzFile handle, std::vector<char>* piece) {
  piece->resize(kPieceBytes);
  const int count = gzread(handle, piece->data(), static_cast<unsigned>(piece->size()));
  piece->resize(static_cast<size_t>(std::max(0, count)));
  return count > 0;
}

}  // namespace

// One thread inflates and another takes; what both see is guarded by the mutex, but for the position.
class GzipBuffer::File {
 public:
  explicit File(const std::string& path) : handle_(Open(path)) {
    if (gzdirect(handle_.get()) == 0) thread_ = Thread("inflating a trace", [this] { Inflate(); });
  }
  ~File() { Stop(); }

  // False: there is no more.
  bool Next(std::vector<char>* piece) {
    if (!thread_.joinable()) {
      const bool is_there = ReadPiece(handle_.get(), piece);
      position_ = gzoffset(handle_.get());
      return is_there;
    }
    std::unique_lock lock(mutex_);
    free_.push_back(std::move(*piece));
    changed_.notify_one();
    changed_.wait(lock, [this] { return !full_.empty() || ended_; });
    if (full_.empty()) {
      lock.unlock();
      thread_.Join();
      return false;
    }
    *piece = std::move(full_.front());
    full_.pop_front();
    return true;
  }

  int64_t position() const { return position_.load(std::memory_order_relaxed); }  // a figure for progress

  std::string problem() {
    Stop();
    int status = Z_OK;
    const char* text = gzerror(handle_.get(), &status);
    if (status == Z_OK || status == Z_STREAM_END) return "";
    return status == Z_BUF_ERROR ? "its compressed data end early" : text;
  }

 private:
  void Inflate() {
    // A waiting reader gets what was thrown.
    const auto end = [this] {
      std::lock_guard lock(mutex_);
      ended_ = true;
      changed_.notify_one();
    };
    try {
      InflateAhead();
    } catch (...) {
      end();
      throw;
    }
    end();
  }
  void InflateAhead() {
    std::vector<char> piece;
    while (ReadPiece(handle_.get(), &piece)) {
      position_.store(gzoffset(handle_.get()), std::memory_order_relaxed);
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopped_ || full_.size() < kPiecesAhead; });
      if (stopped_) return;
      full_.push_back(std::exchange(piece, {}));
      if (!free_.empty()) {
        piece = std::move(free_.back());
        free_.pop_back();
      }
      changed_.notify_one();
    }
  }
  void Stop() {
    {
      std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
    thread_.Wait();
  }

  const GzipHandle handle_;  // of the thread, while it runs
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::vector<char>> full_, free_;
  bool ended_ = false, stopped_ = false;
  std::atomic<int64_t> position_{0};
  Thread thread_;
};

GzipBuffer::GzipBuffer(const std::string& path, OnRead on_read)
    : file_(std::make_unique<File>(path)), on_read_(std::move(on_read)) {}

GzipBuffer::~GzipBuffer() = default;

int64_t GzipBuffer::position() const { return file_->position(); }

std::string GzipBuffer::problem() { return file_->problem(); }

GzipBuffer::int_type GzipBuffer::underflow() {
  if (!file_->Next(&piece_)) return traits_type::eof();
  on_read_(std::ssize(piece_));
  setg(piece_.data(), piece_.data(), piece_.data() + piece_.size());
  return traits_type::to_int_type(piece_[0]);
}

std::string InflatedHead(const std::string& path) {
  constexpr size_t kLookedAt = 4096;
  const GzipHandle handle = Open(path);
  std::string head(kLookedAt, 0);
  head.resize(static_cast<size_t>(std::max(0, gzread(handle.get(), head.data(), kLookedAt))));
  return head;
}

std::string InflatedFile(const std::string& path, const std::atomic<bool>* cancelled) {
  constexpr int64_t kMost = int64_t{4} << 30;
  RefuseEndlessFile(path);
  int64_t read = 0;
  GzipBuffer buffer(path, [&](int64_t bytes) {
    CheckImportGoesOn(cancelled);
    if ((read += bytes) > kMost) Throw(Code::kResourceExhausted, "{} holds over 4 GiB; record less", path);
  });
  std::string text(std::istreambuf_iterator<char>(&buffer), {});
  if (const std::string damage = buffer.problem(); !damage.empty())
    Throw(Code::kDataLoss, "{} is damaged: {}", path, damage);
  return text;
}

}  // namespace lanescope::traces
