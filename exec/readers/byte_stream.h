// SPDX-License-Identifier: Apache-2.0
// The bytes of a file one after the other, decompressed if need be, as many at once as a reader wants to see.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lanescope::exec {

enum class Compression { kNone, kZlib, kGzip };

// "", "ZLIB" or "GZIP", as ops call them. Throws InvalidArgument for other names.
Compression ParseCompression(std::string_view name);

// Where a stream's bytes come from. Thread-compatible.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Up to `size` bytes to `to`; 0 at the end alone.
  virtual size_t Read(char* to, size_t size) = 0;
};

// Throws NotFound for a file that is not there, InvalidArgument for a folder or a device.
std::unique_ptr<ByteSource> OpenBytes(const std::string& path, Compression compression);

// Owns its source; memory grows with what the file really holds, not with what is asked for.
// Thread-compatible.
class ByteStream {
 public:
  explicit ByteStream(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {}

  // The next `size` bytes, fewer where the file ends; until the next call. Throws DataLoss where the file
  // cannot be decompressed.
  std::string_view Peek(size_t size) {
    if (end_ - begin_ < size) Fill(size);
    return {buffer_.data() + begin_, std::min(size, end_ - begin_)};
  }
  // All bytes that are there already; some, unless the file ends.
  std::string_view PeekSome() { return Peek(std::max<size_t>(end_ - begin_, 1)); }
  // Passes over bytes that were peeked.
  void Consume(size_t size) {
    begin_ += size;
    position_ += size;
  }
  // Passes over `size` bytes; false where the file ends before.
  bool Skip(uint64_t size);
  // The place of the next byte, in the decompressed file.
  uint64_t position() const { return position_; }

 private:
  void Fill(size_t size);

  std::unique_ptr<ByteSource> source_;
  std::vector<char> buffer_;
  size_t begin_ = 0;  // of what is not consumed yet
  size_t end_ = 0;
  uint64_t position_ = 0;
  bool at_end_ = false;
};

}  // namespace lanescope::exec
