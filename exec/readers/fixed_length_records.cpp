// SPDX-License-Identifier: Apache-2.0
#include "core/base/error.h"
#include "exec/readers/record_format.h"

namespace lanescope::exec {
namespace {

// Sizes above this are a mistake, and their sums would overflow.
constexpr int64_t kMaxBytes = int64_t{1} << 40;

class FixedLengthFormat final : public RecordFormat {
 public:
  explicit FixedLengthFormat(const FixedLength& layout) : layout_(layout) {}

  void Open(const std::string& work) override {
    stream_ = std::make_unique<ByteStream>(OpenBytes(work, layout_.compression));
    file_ = work;
    record_ = 0;
    if (!stream_->Skip(static_cast<uint64_t>(layout_.header_bytes))) {
      Throw(Code::kOutOfRange, "reached end of file");
    }
  }

  bool Next(Record* record) override {
    const auto size = static_cast<size_t>(layout_.record_bytes);
    const size_t needed = size + static_cast<size_t>(layout_.footer_bytes);
    const std::string_view bytes = stream_->Peek(needed);
    if (bytes.size() < needed) return false;
    record->value = bytes.substr(0, size);
    record->key = fmt::format("{}:{}", file_, record_++);
    stream_->Skip(static_cast<uint64_t>(layout_.hop_bytes == 0 ? layout_.record_bytes : layout_.hop_bytes));
    return true;
  }

 private:
  const FixedLength layout_;
  std::unique_ptr<ByteStream> stream_;
  std::string file_;
  int64_t record_ = 0;
};

void CheckBytes(const char* name, int64_t bytes, int64_t least) {
  if (bytes < least) Throw(Code::kInvalidArgument, "{} must be >= {} but got {}", name, least, bytes);
  if (bytes > kMaxBytes) Throw(Code::kInvalidArgument, "{} must be <= {} but got {}", name, kMaxBytes, bytes);
}

}  // namespace

std::unique_ptr<RecordFormat> FixedLengthRecords(const FixedLength& layout) {
  CheckBytes("header_bytes", layout.header_bytes, 0);
  CheckBytes("record_bytes", layout.record_bytes, 1);
  CheckBytes("footer_bytes", layout.footer_bytes, 0);
  CheckBytes("hop_bytes", layout.hop_bytes, 0);
  return std::make_unique<FixedLengthFormat>(layout);
}

}  // namespace lanescope::exec
