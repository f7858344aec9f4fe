// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "core/base/crc32c.h"
#include "core/base/error.h"
#include "exec/readers/record_format.h"

namespace lanescope::exec {
namespace {

constexpr size_t kLengthBytes = 8;
constexpr size_t kCrcBytes = 4;
constexpr size_t kHeaderBytes = kLengthBytes + kCrcBytes;
constexpr uint64_t kMaxLength = std::numeric_limits<int64_t>::max() - kCrcBytes;

// Little-endian.
uint64_t NumberAt(std::string_view bytes, size_t at, size_t size) {
  uint64_t number = 0;
  for (size_t i = size; i-- > 0;) number = number << 8 | static_cast<uint8_t>(bytes[at + i]);
  return number;
}

bool IsIntact(std::string_view bytes, size_t size) {
  return NumberAt(bytes, size, kCrcBytes) == MaskedCrc32c(bytes.substr(0, size));
}

class TfRecordFormat final : public RecordFormat {
 public:
  explicit TfRecordFormat(Compression compression) : compression_(compression) {}

  void Open(const std::string& work) override {
    stream_ = std::make_unique<ByteStream>(OpenBytes(work, compression_));
    file_ = work;
  }

  bool Next(Record* record) override {
    const uint64_t offset = stream_->position();
    const std::string_view header = stream_->Peek(kHeaderBytes);
    if (header.empty()) return false;
    if (header.size() < kHeaderBytes) Throw(Code::kDataLoss, "truncated record at {}", offset);
    if (!IsIntact(header, kLengthBytes)) {
      Throw(Code::kDataLoss, "corrupted record at {} (Is this even a TFRecord file?)", offset);
    }
    const uint64_t length = NumberAt(header, 0, kLengthBytes);
    stream_->Consume(kHeaderBytes);
    // Whose sum with the checksum would overflow.
    if (length > kMaxLength) Throw(Code::kDataLoss, "truncated record at {}", offset);
    const uint64_t needed = length + kCrcBytes;
    const std::string_view body = stream_->Peek(needed);
    if (body.size() < needed) Throw(Code::kDataLoss, "truncated record at {}", offset);
    if (!IsIntact(body, length)) Throw(Code::kDataLoss, "corrupted record at {}", stream_->position());
    record->value = body.substr(0, length);
    record->key = fmt::format("{}:{}", file_, offset);
    stream_->Consume(needed);
    return true;
  }

 private:
  const Compression compression_;
  std::unique_ptr<ByteStream> stream_;
  std::string file_;
};

}  // namespace

std::unique_ptr<RecordFormat> TfRecords(Compression compression) {
  return std::make_unique<TfRecordFormat>(compression);
}

}  // namespace lanescope::exec
