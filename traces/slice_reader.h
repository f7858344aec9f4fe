// Reads integer columns of large tables in bulk, on several threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lanescope {

// What stands for NULL, and for a column that the table lacks, in bulk columns.
inline constexpr int64_t kBulkNull = INT64_MIN;

struct BulkColumn {
  std::string_view name;  // empty: reads as NULL
  bool required = false;  // a table without it throws DataLoss; else it reads as NULL
};

// Who gets the rows of a table. A table is read in parts, each by one thread from begin to end; the parts one
// after the other are the table in the order of the file.
class BulkSink {
 public:
  virtual ~BulkSink() = default;
  // Before the first row of a table.
  virtual void Begin(int parts) = 0;
  // `values[i]` belongs to column i; called for different parts at the same time.
  virtual void Row(int part, std::span<const int64_t> values) = 0;
};

// A trace file open for bulk reading: one state of it, whoever writes meanwhile. Every thread reads a stretch
// of a table through a connection of its own.
// Belongs to one thread, which waits while others work.
class SliceReader {
 public:
  // Throws what TraceReader throws.
  explicit SliceReader(const std::string& path, int threads = 2);
  ~SliceReader();
  SliceReader(const SliceReader&) = delete;
  SliceReader& operator=(const SliceReader&) = delete;

  bool HasTable(std::string_view table) const;
  bool HasColumn(std::string_view table, std::string_view column) const;
  // About how many rows, by the largest row number.
  int64_t EstimateRows(std::string_view table) const;

  // Throws DataLoss (a value is no integer, a column is missing, the file is damaged), Cancelled soon after
  // `*cancelled` (may be null) became true. `progress` (may be null) gets 0..1, from any of the threads, one
  // at a time.
  void Read(std::string_view table, std::span<const BulkColumn> columns, BulkSink* sink,
            const std::atomic<bool>* cancelled, const std::function<void(double)>& progress);
  // StringIds.
  std::vector<std::pair<int64_t, std::string>> Texts();
  // The GPU that a process of another tool's trace means by a device number. From any thread.
  int DeviceOf(int64_t global_pid, int device) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lanescope
