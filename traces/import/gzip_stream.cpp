// SPDX-License-Identifier: Apache-2.0
#include "traces/import/gzip_stream.h"

#include <zlib.h>

#include <utility>

#include "core/base/error.h"

namespace lanescope::traces {

struct GzipBuffer::File {
  gzFile handle = nullptr;
  ~File() {
    if (handle != nullptr) gzclose(handle);
  }
};

GzipBuffer::GzipBuffer(const std::string& path, OnRead on_read)
    : file_(std::make_unique<File>()), on_read_(std::move(on_read)) {
  file_->handle = gzopen(path.c_str(), "rb");
  if (file_->handle == nullptr) Throw(Code::kNotFound, "no such file: {}", path);
}

GzipBuffer::~GzipBuffer() = default;

int64_t GzipBuffer::position() const { return gzoffset(file_->handle); }

std::string GzipBuffer::problem() const {
  int status = Z_OK;
  const char* text = gzerror(file_->handle, &status);
  if (status == Z_OK || status == Z_STREAM_END) return "";
  if (status == Z_BUF_ERROR) return "its compressed data end early";
  return text;
}

std::string InflatedHead(const std::string& path) {
  constexpr std::streamsize kLookedAt = 4096;
  GzipBuffer file(path, [](int64_t) {});
  std::string head(kLookedAt, 0);
  head.resize(static_cast<size_t>(file.sgetn(head.data(), kLookedAt)));
  return head;
}

GzipBuffer::int_type GzipBuffer::underflow() {
  const int count = gzread(file_->handle, buffer_.data(), static_cast<unsigned>(buffer_.size()));
  if (count <= 0) return traits_type::eof();
  on_read_(count);
  setg(buffer_.data(), buffer_.data(), buffer_.data() + count);
  return traits_type::to_int_type(buffer_[0]);
}

}  // namespace lanescope::traces
