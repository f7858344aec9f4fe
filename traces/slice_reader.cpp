#include "traces/slice_reader.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>

#include "core/error.h"
#include "traces/btree_scan.h"
#include "traces/foreign_devices.h"
#include "traces/sqlite.h"
#include "traces/table_scan.h"

namespace lanescope {
namespace {

static_assert(kBulkNull == kNullValue);

constexpr size_t kLeavesPerBatch = 64;
constexpr size_t kRowsPerBatch = 4096;
// Smaller tables are not worth a second thread.
constexpr size_t kLeavesPerThread = 64;

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

// Collects the first error of several threads.
class Failure {
 public:
  void Keep() {
    std::lock_guard lock(mutex_);
    if (!error_) error_ = std::current_exception();
    stop_.store(true, std::memory_order_relaxed);
  }
  void Stop() { stop_.store(true, std::memory_order_relaxed); }
  bool stopped() const { return stop_.load(std::memory_order_relaxed); }
  void Rethrow() {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
  std::atomic<bool> stop_{false};
};

}  // namespace

class SliceReader::Impl {
 public:
  Impl(const std::string& path, int threads) {
    // The first connection's lock keeps the file as it is while the others open.
    for (int i = 0; i < std::max(1, threads); ++i) connections_.push_back(std::make_unique<Connection>(path));
    if (!first().HasTable("LANESCOPE_RUN")) devices_ = DeviceNumbers(first());
  }

  const DeviceNumbers& devices() const { return devices_; }
  // Of this reader in the process.
  int64_t number() const { return number_; }

  Database& first() { return connections_.front()->database(); }

  // False: some row is for SQLite.
  bool ReadPages(std::string_view table, const std::vector<std::string_view>& names, BulkSink* sink,
                 const std::atomic<bool>* cancelled, const std::function<void(double)>& progress) {
    std::vector<std::unique_ptr<BtreeScan>> scans;
    scans.push_back(BtreeScan::Open(first(), table, names));
    if (scans.front() == nullptr) return false;
    const size_t leaves = scans.front()->num_leaves();
    const size_t parts = std::clamp(leaves / kLeavesPerThread, size_t{1}, connections_.size());
    for (size_t p = 1; p < parts; ++p) {
      scans.push_back(BtreeScan::Open(connections_[p]->database(), table, names));
      if (scans.back() == nullptr || scans.back()->num_leaves() != leaves) return false;
    }
    sink->Begin(static_cast<int>(parts));
    Failure failure;
    std::mutex progress_mutex;
    size_t done = 0;
    bool readable = true;  // guarded by progress_mutex
    const auto read_part = [&](size_t part) {
      try {
        BtreeScan::Rows rows;
        const size_t end = leaves * (part + 1) / parts;
        for (size_t i = leaves * part / parts; i < end && !failure.stopped(); i += kLeavesPerBatch) {
          if (cancelled != nullptr && cancelled->load(std::memory_order_relaxed)) {
            Throw(Code::kCancelled, "reading was cancelled");
          }
          const size_t last = std::min(end, i + kLeavesPerBatch);
          const bool good = scans[part]->Read(i, last, &rows);
          if (good) sink->Rows(static_cast<int>(part), rows.size, rows.columns);
          std::lock_guard lock(progress_mutex);
          done += last - i;
          if (progress) progress(static_cast<double>(done) / static_cast<double>(leaves));
          if (good) continue;
          readable = false;
          failure.Stop();
        }
      } catch (...) {
        failure.Keep();
      }
    };
    std::vector<std::thread> threads;
    for (size_t p = 1; p < parts; ++p) threads.emplace_back(read_part, p);
    read_part(0);
    for (std::thread& thread : threads) thread.join();
    failure.Rethrow();
    return readable;
  }

  void ReadRows(std::string_view table, std::span<const BulkColumn> columns, BulkSink* sink,
                const std::atomic<bool>* cancelled, const std::function<void(double)>& progress) {
    std::string list;
    for (const BulkColumn& column : columns) {
      if (!list.empty()) list += ", ";
      list += first().HasColumn(table, column.name) ? fmt::format("\"{}\"", column.name) : "NULL";
    }
    const auto expected = static_cast<double>(std::max<int64_t>(1, EstimateRows(table)));
    Statement statement(first(), fmt::format("SELECT {} FROM main.\"{}\"", list, table));
    sink->Begin(1);
    std::vector<std::vector<int64_t>> batch(columns.size());
    size_t rows = 0, total = 0;
    const auto deliver = [&] {
      if (cancelled != nullptr && cancelled->load(std::memory_order_relaxed)) {
        Throw(Code::kCancelled, "reading was cancelled");
      }
      sink->Rows(0, rows, batch);
      total += rows;
      if (progress) progress(std::min(1.0, static_cast<double>(total) / expected));
      rows = 0;
      for (auto& column : batch) column.clear();
    };
    while (statement.Step()) {
      for (size_t c = 0; c < batch.size(); ++c) {
        batch[c].push_back(statement.Integer(static_cast<int>(c), kBulkNull));
      }
      if (++rows == kRowsPerBatch) deliver();
    }
    deliver();
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
  std::vector<std::string_view> names;
  for (const BulkColumn& column : columns) {
    names.push_back(column.name);
    if (column.required && !HasColumn(table, column.name)) {
      Throw(Code::kDataLoss, "{}: table {} has no column {}; the file is damaged or no trace",
            impl_->first().path(), table, column.name);
    }
  }
  if (impl_->ReadPages(table, names, sink, cancelled, progress)) return;
  impl_->ReadRows(table, columns, sink, cancelled, progress);
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
