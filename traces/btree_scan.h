// Integer columns of a table straight from the pages of the database file, several times faster than through
// statements. Private to traces/.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "traces/sqlite.h"

namespace lanescope {

// What stands for NULL in a bulk column.
inline constexpr int64_t kNullValue = INT64_MIN;

// The pages are read through SQLite's own file handle under the shared lock of an open transaction, so that
// nobody writes meanwhile. Only for files in a rollback journal mode and ordinary rowid tables; format:
// https://www.sqlite.org/fileformat2.html. Belongs to the thread of its connection.
class BtreeScan {
 public:
  // `columns`: positions in the record; -1 reads as NULL. Null where only SQLite can read the table: WAL, no
  // rowid, generated columns, a wanted column that is the rowid. The connection must be in a read transaction
  // that has begun to read, and must outlive the scan.
  static std::unique_ptr<BtreeScan> Open(Database& database, std::string_view table,
                                         const std::vector<std::string_view>& columns);

  size_t num_leaves() const { return leaves_.size(); }

  // Rows of one batch of leaves, in columns.
  struct Rows {
    size_t size = 0;
    std::vector<std::vector<int64_t>> columns;
  };
  // Reads leaves [first, last) and replaces `rows`. False where a row is of a kind that only SQLite can read
  // (it spans pages, or a value is no integer). Throws DataLoss for a damaged page.
  bool Read(size_t first, size_t last, Rows* rows);

 private:
  explicit BtreeScan(Database& database) : database_(database) {}
  void ReadPages(uint32_t first, size_t count, uint8_t* to) const;
  void CollectLeaves(uint32_t page, int depth, size_t* visited);
  bool ReadLeaf(const uint8_t* page, uint32_t number, Rows* rows) const;
  bool ReadRecord(const uint8_t* record, const uint8_t* end, Rows* rows) const;
  [[noreturn]] void Damaged(uint32_t page) const;

  Database& database_;
  size_t page_bytes_ = 0, usable_bytes_ = 0;
  uint32_t page_count_ = 0;
  std::vector<uint32_t> leaves_;
  std::vector<int> slot_of_column_;  // by position in the record: which output column; -1: not wanted
  size_t num_slots_ = 0;
  std::vector<uint8_t> buffer_;
};

}  // namespace lanescope
