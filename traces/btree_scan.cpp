#include "traces/btree_scan.h"

#include <sqlite3.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/error.h"

namespace lanescope {
namespace {

constexpr size_t kHeaderBytes = 100;  // of the file, before the first page's own header
constexpr uint8_t kLeafTable = 13, kInteriorTable = 5;
constexpr int kMaxDepth = 20;
constexpr size_t kPagesPerRead = 64;
// SignedBig may read so far beyond a value.
constexpr size_t kReadAhead = 8;

uint32_t Big16(const uint8_t* at) { return static_cast<uint32_t>(at[0]) << 8 | at[1]; }
uint32_t Big32(const uint8_t* at) { return Big16(at) << 16 | Big16(at + 2); }

// A variable-length integer of 1 to 9 bytes. Null when it runs past `end`.
const uint8_t* Varint(const uint8_t* at, const uint8_t* end, uint64_t* value) {
  if (at < end && *at < 0x80) {
    *value = *at;
    return at + 1;
  }
  uint64_t result = 0;
  for (int i = 0; i < 9; ++i, ++at) {
    if (at >= end) return nullptr;
    if (i == 8) {
      *value = result << 8 | *at;
      return at + 1;
    }
    result = result << 7 | (*at & 0x7f);
    if (*at < 0x80) {
      *value = result;
      return at + 1;
    }
  }
  return nullptr;
}

// Bytes in the body of a record by serial type; 10 and 11 are reserved.
size_t BodyBytes(uint64_t type) {
  constexpr size_t kFixed[] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0};
  return type < 12 ? kFixed[type] : static_cast<size_t>((type - 12) / 2);
}

// Reads eight bytes, whatever `bytes` is.
int64_t SignedBig(const uint8_t* at, size_t bytes) {
  uint64_t value = 0;
  std::memcpy(&value, at, sizeof value);
  if constexpr (std::endian::native == std::endian::little) value = __builtin_bswap64(value);
  return static_cast<int64_t>(value) >> (64 - 8 * bytes);
}

}  // namespace

void BtreeScan::Damaged(uint32_t page) const {
  Throw(Code::kDataLoss, "{}: page {} is damaged", database_.path(), page);
}

void BtreeScan::ReadPages(uint32_t first, size_t count, uint8_t* to) const {
  sqlite3_file* file = nullptr;
  sqlite3_file_control(database_.handle(), "main", SQLITE_FCNTL_FILE_POINTER, &file);
  if (file == nullptr || file->pMethods == nullptr)
    Throw(Code::kInternal, "no file behind {}", database_.path());
  const auto offset = static_cast<sqlite3_int64>(first - 1) * static_cast<sqlite3_int64>(page_bytes_);
  if (file->pMethods->xRead(file, to, static_cast<int>(count * page_bytes_), offset) != SQLITE_OK) {
    Throw(Code::kDataLoss, "{} is shorter than its header says, or cannot be read", database_.path());
  }
}

std::unique_ptr<BtreeScan> BtreeScan::Open(Database& database, std::string_view table,
                                           const std::vector<std::string_view>& columns) {
  std::unique_ptr<BtreeScan> scan(new BtreeScan(database));
  sqlite3_file* file = nullptr;
  sqlite3_file_control(database.handle(), "main", SQLITE_FCNTL_FILE_POINTER, &file);
  if (file == nullptr || file->pMethods == nullptr) return nullptr;
  uint8_t header[kHeaderBytes];
  if (file->pMethods->xRead(file, header, kHeaderBytes, 0) != SQLITE_OK) return nullptr;
  if (header[18] != 1 || header[19] != 1) return nullptr;  // write-ahead log
  scan->page_bytes_ = Big16(header + 16) == 1 ? 65536 : Big16(header + 16);
  if (scan->page_bytes_ < 512 || header[20] > scan->page_bytes_ - 480) return nullptr;
  scan->usable_bytes_ = scan->page_bytes_ - header[20];
  sqlite3_int64 bytes = 0;
  if (file->pMethods->xFileSize(file, &bytes) != SQLITE_OK) return nullptr;
  scan->page_count_ = static_cast<uint32_t>(
      std::min<int64_t>(bytes / static_cast<int64_t>(scan->page_bytes_), UINT32_MAX - 1));

  Statement info(database, fmt::format("PRAGMA main.table_xinfo(\"{}\")", table));
  scan->num_slots_ = columns.size();
  while (info.Step()) {
    if (info.Integer(6) != 0) return nullptr;
    const std::string_view name = info.Text(1);
    int slot = -1;
    for (size_t i = 0; i < columns.size(); ++i) {
      if (columns[i] == name) slot = static_cast<int>(i);
    }
    if (slot >= 0 && info.Integer(5) != 0) return nullptr;  // perhaps the rowid, which is not in the record
    scan->slot_of_column_.push_back(slot);
  }
  while (!scan->slot_of_column_.empty() && scan->slot_of_column_.back() < 0) scan->slot_of_column_.pop_back();
  Statement root(database, "SELECT rootpage FROM main.sqlite_schema WHERE type = 'table' AND name = ?");
  root.BindText(1, table);
  if (!root.Step()) return nullptr;
  const int64_t page = root.Integer(0);
  if (page < 1 || page > scan->page_count_) return nullptr;
  std::vector<uint8_t> first(scan->page_bytes_);
  scan->ReadPages(static_cast<uint32_t>(page), 1, first.data());
  const uint8_t type = first[page == 1 ? kHeaderBytes : 0];
  if (type != kLeafTable && type != kInteriorTable) return nullptr;  // WITHOUT ROWID
  size_t visited = 0;
  scan->CollectLeaves(static_cast<uint32_t>(page), 0, &visited);
  return scan;
}

void BtreeScan::CollectLeaves(uint32_t number, int depth, size_t* visited) {
  if (number < 1 || number > page_count_ || depth > kMaxDepth || ++*visited > page_count_) Damaged(number);
  std::vector<uint8_t> page(page_bytes_);
  ReadPages(number, 1, page.data());
  const uint8_t* header = page.data() + (number == 1 ? kHeaderBytes : 0);
  if (header[0] == kLeafTable) {
    leaves_.push_back(number);
    return;
  }
  if (header[0] != kInteriorTable) Damaged(number);
  const size_t cells = Big16(header + 3);
  const uint8_t* pointers = header + 12;
  if (pointers + 2 * cells > page.data() + usable_bytes_) Damaged(number);
  // Children of one page are all leaves or all not; looking at the first saves reading every leaf here.
  bool children_are_leaves = false;
  for (size_t i = 0; i <= cells; ++i) {
    uint32_t child = Big32(header + 8);
    if (i < cells) {
      const size_t cell = Big16(pointers + 2 * i);
      if (cell + 4 > usable_bytes_) Damaged(number);
      child = Big32(page.data() + cell);
    }
    if (i == 0) {
      const size_t before = leaves_.size();
      CollectLeaves(child, depth + 1, visited);
      children_are_leaves = leaves_.size() == before + 1 && leaves_.back() == child;
    } else if (children_are_leaves) {
      if (child < 1 || child > page_count_ || ++*visited > page_count_) Damaged(number);
      leaves_.push_back(child);
    } else {
      CollectLeaves(child, depth + 1, visited);
    }
  }
}

bool BtreeScan::Read(size_t first, size_t last, Rows* rows) {
  rows->size = 0;
  rows->columns.resize(num_slots_);
  for (auto& column : rows->columns) column.clear();
  buffer_.resize(kPagesPerRead * page_bytes_ + kReadAhead);
  for (size_t i = first; i < last;) {
    size_t count = 1;
    while (count < kPagesPerRead && i + count < last && leaves_[i + count] == leaves_[i] + count) ++count;
    ReadPages(leaves_[i], count, buffer_.data());
    for (size_t p = 0; p < count; ++p) {
      if (!ReadLeaf(buffer_.data() + p * page_bytes_, leaves_[i + p], rows)) return false;
    }
    i += count;
  }
  return true;
}

bool BtreeScan::ReadLeaf(const uint8_t* page, uint32_t number, Rows* rows) const {
  const uint8_t* header = page + (number == 1 ? kHeaderBytes : 0);
  const uint8_t* end = page + usable_bytes_;
  if (header[0] != kLeafTable) Damaged(number);
  const size_t cells = Big16(header + 3);
  const uint8_t* pointers = header + 8;
  if (pointers + 2 * cells > end) Damaged(number);
  for (auto& column : rows->columns) column.resize(rows->size + cells, kNullValue);
  for (size_t i = 0; i < cells; ++i) {
    const size_t cell = Big16(pointers + 2 * i);
    if (cell >= usable_bytes_) Damaged(number);
    uint64_t payload = 0, rowid = 0;
    const uint8_t* at = Varint(page + cell, end, &payload);
    if (at != nullptr) at = Varint(at, end, &rowid);
    if (at == nullptr) Damaged(number);
    if (payload > usable_bytes_ - 35) return false;  // it overflows into other pages
    if (payload > static_cast<uint64_t>(end - at)) Damaged(number);
    if (!ReadRecord(at, at + payload, rows)) return false;
    ++rows->size;
  }
  return true;
}

bool BtreeScan::ReadRecord(const uint8_t* record, const uint8_t* end, Rows* rows) const {
  const size_t row = rows->size;
  uint64_t header_bytes = 0;
  const uint8_t* type_at = Varint(record, end, &header_bytes);
  if (type_at == nullptr || header_bytes > static_cast<uint64_t>(end - record)) return false;
  const uint8_t* const types_end = record + header_bytes;
  const uint8_t* body = types_end;
  for (const int slot : slot_of_column_) {
    uint64_t type = 0;
    type_at = Varint(type_at, types_end, &type);
    if (type_at == nullptr) return false;  // a column added after this row was written
    const size_t bytes = BodyBytes(type);
    if (bytes > static_cast<size_t>(end - body)) return false;
    if (slot >= 0) {
      int64_t value = kNullValue;
      if (type >= 1 && type <= 6) {
        value = SignedBig(body, bytes);
      } else if (type == 8 || type == 9) {
        value = static_cast<int64_t>(type) - 8;
      } else if (type != 0) {
        return false;
      }
      rows->columns[static_cast<size_t>(slot)][row] = value;
    }
    body += bytes;
  }
  return true;
}

}  // namespace lanescope
