// SPDX-License-Identifier: Apache-2.0
// A file to read from, inflated where it is a gzip file. Internal to traces.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <streambuf>
#include <string>
#include <vector>

namespace lanescope::traces {

// Reads a piece at a time; what is compressed is inflated a few pieces ahead by a thread of its own, while
// whoever reads makes something of it. Belongs to one thread.
class GzipBuffer : public std::streambuf {
 public:
  // Called after each piece with its bytes, inflated; what it throws ends the reading.
  using OnRead = std::function<void(int64_t)>;
  // Throws NotFound, ResourceExhausted where no thread is left.
  GzipBuffer(const std::string& path, OnRead on_read);
  ~GzipBuffer() override;
  // Bytes of the file that were taken so far, compressed or not as they lie there.
  int64_t position() const;
  // The fault of the compressed data that were read, or lie just ahead; empty: none. A file that
  // ends early is wrong. Ends the reading.
  std::string problem();

 protected:
  int_type underflow() override;

 private:
  class File;
  std::unique_ptr<File> file_;
  OnRead on_read_;
  std::vector<char> piece_;
};

// The first 4 KiB, inflated; less where there are no more, or they are damaged. Throws NotFound.
std::string InflatedHead(const std::string& path);

// All of a file, inflated where it is a gzip file. Throws NotFound, DataLoss for a damaged one, Cancelled,
// ResourceExhausted beyond 4 GiB: a few compressed bytes may stand for many.
std::string InflatedFile(const std::string& path, const std::atomic<bool>* cancelled);

}  // namespace lanescope::traces
