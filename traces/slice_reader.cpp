#include "traces/slice_reader.h"

#include <sqlite3.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "core/error.h"
#include "core/thread.h"
#include "traces/foreign_devices.h"
#include "traces/row_function.h"
#include "traces/sqlite.h"
#include "traces/table_scan.h"

namespace lanescope {
namespace {

// Between two looks at whether to go on.
constexpr size_t kRowsPerBatch = 4096;

// A read transaction from construction on.
class Connection {
 public:
  explicit Connection(const std::string& path) : database_(path, OpenMode::kReadOnly) {
    database_.Execute("BEGIN");
    database_.QueryInteger("SELECT COUNT(*) FROM main.sqlite_schema");
  }
  Database& database() { return database_; }

 private:
  Database database_;
};

// What the threads that read one table share.
class SharedReading {
 public:
  SharedReading(double expected, const std::atomic<bool>* cancelled,
                const std::function<void(double)>& progress)
      : expected_(std::max(1.0, expected)), cancelled_(cancelled), progress_(progress) {}

  // After every batch. Throws Cancelled, also when another thread has failed.
  void Count(size_t rows) {
    if (failed_.load(std::memory_order_relaxed) ||
        (cancelled_ != nullptr && cancelled_->load(std::memory_order_relaxed))) {
      Throw(Code::kCancelled, "reading was cancelled");
    }
    std::lock_guard lock(mutex_);
    done_ += rows;
    if (progress_) progress_(std::min(1.0, static_cast<double>(done_) / expected_));
  }
  // Keeps the first exception.
  void Fail() {
    std::lock_guard lock(mutex_);
    if (!error_) error_ = std::current_exception();
    failed_.store(true, std::memory_order_relaxed);
  }
  void Rethrow() {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  const double expected_;
  const std::atomic<bool>* const cancelled_;
  const std::function<void(double)>& progress_;
  std::atomic<bool> failed_{false};
  std::mutex mutex_;  // of what follows
  size_t done_ = 0;
  std::exception_ptr error_;
};

// So that no thread waits long for one that the system has slowed down.
constexpr size_t kPartsPerThread = 8;

class PartRows : public RowFunction {
 public:
  PartRows(size_t columns, int part, BulkSink* sink, SharedReading* reading)
      : values_(columns), part_(part), sink_(sink), reading_(reading) {}

  // Of the rows since the last time.
  void Count() { reading_->Count(std::exchange(rows_, 0)); }

 private:
  void Row(sqlite3_value** values) override {
    for (int64_t& value : values_) value = Integer(*values++, kBulkNull);
    sink_->Row(part_, values_);
    if (++rows_ == kRowsPerBatch) Count();
  }

  std::vector<int64_t> values_;
  const int part_;
  BulkSink* const sink_;
  SharedReading* const reading_;
  size_t rows_ = 0;
};

}  // namespace

class SliceReader::Impl {
 public:
  Impl(const std::string& path, int threads) {
    // In a rollback journal mode the first connection's lock keeps the file as it is while the others open.
    // In a write-ahead log each would see a state of its own.
    connections_.push_back(std::make_unique<Connection>(path));
    Statement mode(first(), "PRAGMA journal_mode");
    const bool logs = mode.Step() && mode.Text(0) == "wal";
    for (int i = 1; i < threads && !logs; ++i) connections_.push_back(std::make_unique<Connection>(path));
    if (!first().HasTable("LANESCOPE_RUN")) devices_ = DeviceNumbers(first());
  }

  const DeviceNumbers& devices() const { return devices_; }
  // Of this reader in the process.
  int64_t number() const { return number_; }

  Database& first() { return connections_.front()->database(); }

  void Read(std::string_view table, std::span<const ScanColumn> columns, BulkSink* sink,
            SharedReading* reading) {
    const size_t threads = connections_.size();
    const std::vector<std::string> ranges =
        RowRanges(first(), table, threads == 1 ? 1 : threads * kPartsPerThread);
    sink->Begin(static_cast<int>(ranges.size()));
    std::atomic<size_t> next{0};
    const auto read_parts = [&](Database& database) {
      try {
        for (size_t part = next++; part < ranges.size(); part = next++) {
          PartRows rows(columns.size(), static_cast<int>(part), sink, reading);
          rows.Run(database, table, columns, ranges[part]);
          rows.Count();
        }
      } catch (...) {
        reading->Fail();
      }
    };
    std::vector<std::thread> others;
    try {
      for (size_t i = 1; i < std::min(threads, ranges.size()); ++i) {
        Database& database = connections_[i]->database();
        others.push_back(StartThread("reading a trace", [&] { read_parts(database); }));
      }
    } catch (...) {
      reading->Fail();
    }
    read_parts(first());
    for (std::thread& other : others) other.join();
    reading->Rethrow();
  }

  int64_t EstimateRows(std::string_view table) {
    try {
      return first().QueryInteger(fmt::format("SELECT IFNULL(MAX(rowid), 0) FROM main.\"{}\"", table));
    } catch (const Error&) {
      return 0;  // a table without row numbers
    }
  }

 private:
  std::vector<std::unique_ptr<Connection>> connections_;
  DeviceNumbers devices_;
  const int64_t number_ = next_number_.fetch_add(1, std::memory_order_relaxed);
  static inline std::atomic<int64_t> next_number_{0};
};

SliceReader::SliceReader(const std::string& path, int threads)
    : impl_(std::make_unique<Impl>(path, threads)) {}
SliceReader::~SliceReader() = default;

bool SliceReader::HasTable(std::string_view table) const { return impl_->first().HasTable(table); }

bool SliceReader::HasColumn(std::string_view table, std::string_view column) const {
  return impl_->first().HasColumn(table, column);
}

int64_t SliceReader::EstimateRows(std::string_view table) const {
  return HasTable(table) ? impl_->EstimateRows(table) : 0;
}

void SliceReader::Read(std::string_view table, std::span<const BulkColumn> columns, BulkSink* sink,
                       const std::atomic<bool>* cancelled, const std::function<void(double)>& progress) {
  std::vector<ScanColumn> wanted;
  for (const BulkColumn& column : columns) wanted.push_back({column.name, column.required});
  SharedReading reading(static_cast<double>(impl_->EstimateRows(table)), cancelled, progress);
  impl_->Read(table, wanted, sink, &reading);
}

int SliceReader::DeviceOf(int64_t global_pid, int device) const {
  // DeviceNumbers remembers its last answer, so every thread asks one of its own.
  thread_local int64_t asked = -1;
  thread_local DeviceNumbers numbers;
  if (asked != impl_->number()) {
    asked = impl_->number();
    numbers = impl_->devices();
  }
  return numbers.Of(global_pid, device);
}

std::vector<std::pair<int64_t, std::string>> SliceReader::Texts() {
  std::vector<std::pair<int64_t, std::string>> texts;
  if (!HasTable("StringIds")) return texts;
  TableScan scan(impl_->first(), "StringIds", {{"id", true}, {"value", true}});
  while (scan.Next()) texts.emplace_back(scan.Integer(0), scan.Text(1));
  return texts;
}

}  // namespace lanescope
