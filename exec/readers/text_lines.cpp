// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include "exec/readers/record_format.h"

namespace lanescope::exec {
namespace {

class TextLineFormat final : public RecordFormat {
 public:
  explicit TextLineFormat(int64_t skip_header_lines) : skip_header_lines_(skip_header_lines) {}

  void Open(const std::string& work) override {
    stream_ = std::make_unique<ByteStream>(OpenBytes(work, Compression::kNone));
    file_ = work;
    line_ = 0;
  }

  bool Next(Record* record) override {
    for (; line_ < skip_header_lines_; ++line_) {
      if (!ReadLine(&record->value)) return false;
    }
    if (!ReadLine(&record->value)) return false;
    record->key = fmt::format("{}:{}", file_, ++line_);
    return true;
  }

 private:
  bool ReadLine(std::string* line) {
    line->clear();
    bool is_line = false;
    while (true) {
      const std::string_view bytes = stream_->PeekSome();
      if (bytes.empty()) return is_line;
      is_line = true;
      const size_t end = bytes.find('\n');
      line->append(bytes.substr(0, end));
      stream_->Consume(end == bytes.npos ? bytes.size() : end + 1);
      if (end == bytes.npos) continue;
      if (line->ends_with('\r')) line->pop_back();
      return true;
    }
  }

  const int64_t skip_header_lines_;
  std::unique_ptr<ByteStream> stream_;
  std::string file_;
  int64_t line_ = 0;
};

}  // namespace

std::unique_ptr<RecordFormat> TextLines(int64_t skip_header_lines) {
  return std::make_unique<TextLineFormat>(skip_header_lines);
}

}  // namespace lanescope::exec
