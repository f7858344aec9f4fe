// SPDX-License-Identifier: Apache-2.0
#include "exec/readers/byte_stream.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/error.h"
#include "core/base/file.h"

namespace lanescope::exec {
namespace {

constexpr size_t kChunk = 256 << 10;

class FileSource final : public ByteSource {
 public:
  explicit FileSource(const std::string& path) : path_(path) {
    RefuseEndlessFile(path);
    file_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file_ >= 0) return;
    const int problem = errno;
    Throw(problem == ENOENT ? Code::kNotFound : Code::kFailedPrecondition, "{}; {}", path,
          std::strerror(problem));
  }
  ~FileSource() override { close(file_); }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  size_t Read(char* to, size_t size) override {
    while (true) {
      const ssize_t got = read(file_, to, size);
      if (got >= 0) return static_cast<size_t>(got);
      if (errno != EINTR) Throw(Code::kDataLoss, "{} cannot be read: {}", path_, std::strerror(errno));
    }
  }

 private:
  const std::string path_;
  int file_ = -1;
};

// A gzip file may be several ones behind each other.
class InflateSource final : public ByteSource {
 public:
  InflateSource(std::unique_ptr<ByteSource> packed, bool is_gzip)
      : packed_(std::move(packed)), is_gzip_(is_gzip) {
    if (inflateInit2(&zlib_, is_gzip ? 16 + MAX_WBITS : MAX_WBITS) != Z_OK) {
      Throw(Code::kResourceExhausted, "no memory left to decompress");
    }
  }
  ~InflateSource() override { inflateEnd(&zlib_); }
  InflateSource(const InflateSource&) = delete;
  InflateSource& operator=(const InflateSource&) = delete;

  size_t Read(char* to, size_t size) override {
    zlib_.next_out = reinterpret_cast<Bytef*>(to);
    zlib_.avail_out = static_cast<uInt>(std::min<size_t>(size, 1u << 30));
    const uInt wanted = zlib_.avail_out;
    while (zlib_.avail_out == wanted && !is_over_) Inflate();
    return wanted - zlib_.avail_out;
  }

 private:
  void Inflate() {
    if (zlib_.avail_in == 0) {
      const size_t got = packed_->Read(input_.data(), input_.size());
      if (got == 0) {
        is_over_ = true;
        return;
      }
      zlib_.next_in = reinterpret_cast<Bytef*>(input_.data());
      zlib_.avail_in = static_cast<uInt>(got);
    }
    const int status = inflate(&zlib_, Z_NO_FLUSH);
    if (status == Z_STREAM_END) {
      if (is_gzip_) {
        inflateReset(&zlib_);
      } else {
        is_over_ = true;
      }
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      Throw(Code::kDataLoss, "inflate() failed with error {}: {}", status,
            zlib_.msg == nullptr ? zError(status) : zlib_.msg);
    }
  }

  std::unique_ptr<ByteSource> packed_;
  const bool is_gzip_;
  z_stream zlib_{};
  std::array<char, 64 << 10> input_;
  bool is_over_ = false;
};

}  // namespace

Compression ParseCompression(std::string_view name) {
  if (name.empty() || name == "NONE") return Compression::kNone;
  if (name == "ZLIB") return Compression::kZlib;
  if (name == "GZIP") return Compression::kGzip;
  Throw(Code::kInvalidArgument, "Unsupported compression_type: {}; it is one of \"\", ZLIB and GZIP", name);
}

std::unique_ptr<ByteSource> OpenBytes(const std::string& path, Compression compression) {
  auto file = std::make_unique<FileSource>(path);
  if (compression == Compression::kNone) return file;
  return std::make_unique<InflateSource>(std::move(file), compression == Compression::kGzip);
}

bool ByteStream::Skip(uint64_t size) {
  while (size > 0) {
    const size_t some = std::min<uint64_t>(PeekSome().size(), size);
    if (some == 0) return false;
    Consume(some);
    size -= some;
  }
  return true;
}

void ByteStream::Fill(size_t size) {
  // An empty buffer has no address that memmove may be given.
  if (begin_ < end_) std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= std::exchange(begin_, 0);
  while (end_ < size && !at_end_) {
    if (buffer_.size() < kChunk) buffer_.resize(kChunk);
    if (end_ == buffer_.size()) buffer_.resize(2 * buffer_.size());
    const size_t got = source_->Read(buffer_.data() + end_, buffer_.size() - end_);
    at_end_ = got == 0;
    end_ += got;
  }
}

}  // namespace lanescope::exec
