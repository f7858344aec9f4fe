// SPDX-License-Identifier: Apache-2.0
#include "profiler/batch_codec.h"

#include <cstring>
#include <type_traits>

namespace lanescope::profiler {
namespace {

constexpr uint32_t kFormat = 1;

void Put(std::string* out, const void* data, size_t bytes) {
  out->append(static_cast<const char*>(data), bytes);
}

template <typename Number>
void Put(std::string* out, Number number) {
  Put(out, &number, sizeof(number));
}

// Reads the rest of a message. After the first failure every read fails.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  bool Read(void* data, size_t size) {
    if (size > bytes_.size()) return Fail();
    if (size > 0) std::memcpy(data, bytes_.data(), size);
    bytes_.remove_prefix(size);
    return true;
  }
  // A number of things of at least `size` bytes each, all of which must be there.
  bool ReadCount(size_t size, uint64_t* count) {
    return Read(count, sizeof(*count)) && (*count <= bytes_.size() / size || Fail());
  }
  bool ReadText(std::string* text) {
    uint32_t size = 0;
    if (!Read(&size, sizeof(size)) || size > bytes_.size()) return Fail();
    text->assign(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
    return true;
  }
  bool ok() const { return ok_; }
  bool at_end() const { return bytes_.empty(); }

 private:
  bool Fail() {
    ok_ = false;
    bytes_ = {};
    return false;
  }
  std::string_view bytes_;
  bool ok_ = true;
};

template <typename Row>
bool ReadRows(Reader* reader, uint64_t texts, std::vector<Row>* rows) {
  static_assert(std::is_trivially_copyable_v<Row>);
  uint32_t size = 0;
  uint64_t count = 0;
  if (!reader->Read(&size, sizeof(size)) || size != sizeof(Row) || !reader->ReadCount(size, &count))
    return false;
  rows->resize(count);
  if (!reader->Read(rows->data(), count * sizeof(Row))) return false;
  for (const Row& row : *rows) {
    bool known = true;
    traces::ForEachText(row, [&](traces::TextId text) { known = known && text < texts; });
    if (!known) return false;
  }
  return true;
}

bool ReadTexts(Reader* reader, std::vector<std::string>* texts) {
  uint64_t count = 0;
  if (!reader->ReadCount(sizeof(uint32_t), &count) || count == 0) return false;
  texts->assign(count, {});
  for (std::string& text : *texts) {
    if (!reader->ReadText(&text)) return false;
  }
  return texts->front().empty();
}

}  // namespace

std::string EncodeBatch(const traces::ActivityBatch& batch) {
  std::string out;
  out.reserve(traces::NumBytes(batch) + 1024);
  Put(&out, kFormat);
  Put(&out, batch.pid);
  Put(&out, batch.program);
  Put(&out, batch.losses.data(), sizeof(batch.losses));
  Put(&out, uint64_t{batch.texts.size()});
  for (const std::string& text : batch.texts) {
    Put(&out, static_cast<uint32_t>(text.size()));
    Put(&out, text.data(), text.size());
  }
  traces::ForEachTable(batch, [&](const auto& rows) {
    using Row = std::remove_cvref_t<decltype(rows[0])>;
    Put(&out, uint32_t{sizeof(Row)});
    Put(&out, uint64_t{rows.size()});
    Put(&out, rows.data(), rows.size() * sizeof(Row));
  });
  return out;
}

bool DecodeBatch(std::string_view bytes, traces::ActivityBatch* batch) {
  *batch = traces::ActivityBatch();
  Reader reader(bytes);
  uint32_t format = 0;
  if (!reader.Read(&format, sizeof(format)) || format != kFormat) return false;
  if (!reader.Read(&batch->pid, sizeof(batch->pid)) ||
      !reader.Read(&batch->program, sizeof(batch->program)) ||
      !reader.Read(batch->losses.data(), sizeof(batch->losses)) || !ReadTexts(&reader, &batch->texts) ||
      batch->program >= batch->texts.size()) {
    return false;
  }
  bool valid = true;
  traces::ForEachTable(*batch,
                       [&](auto& rows) { valid = valid && ReadRows(&reader, batch->texts.size(), &rows); });
  for (const int64_t count : batch->losses) valid = valid && count >= 0;
  return valid && reader.ok() && reader.at_end();
}

}  // namespace lanescope::profiler
