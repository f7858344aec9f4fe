// SPDX-License-Identifier: Apache-2.0
#include "traces/store/parallel_reader.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <utility>

#include "core/base/error.h"
#include "core/base/thread.h"
#include "traces/store/schema.h"

namespace lanescope::traces {
namespace {

// So that no thread waits long for one that the system has slowed down.
constexpr size_t kPartsPerThread = 8;

void BeginReading(Database& database) {
  database.Execute("BEGIN");
  database.QueryInteger("SELECT COUNT(*) FROM main.sqlite_schema");
}

}  // namespace

// The state that the threads share that read one table.
class ParallelReader::Progress {
 public:
  Progress(int64_t expected, const ReadWatch& watch)
      : expected_(static_cast<double>(std::max<int64_t>(1, expected))), watch_(watch) {}

  // Throws Cancelled, also when another thread has failed.
  void Count(int64_t rows) {
    if (failed_.load(std::memory_order_relaxed) ||
        (watch_.cancelled != nullptr && watch_.cancelled->load(std::memory_order_relaxed))) {
      Throw(Code::kCancelled, "reading was cancelled");
    }
    std::lock_guard lock(mutex_);
    done_ += rows;
    if (watch_.progress) watch_.progress(std::min(1.0, static_cast<double>(done_) / expected_));
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
  const ReadWatch& watch_;
  std::atomic<bool> failed_{false};
  std::mutex mutex_;  // of what follows
  int64_t done_ = 0;
  std::exception_ptr error_;
};

void ParallelReader::Count::Look() { progress_->Count(std::exchange(rows_, 0)); }

ParallelReader::ParallelReader(const std::string& path, int threads)
    : threads_(threads), own_(std::make_unique<Database>(path, OpenMode::kReadOnly)), first_(own_.get()) {
  BeginReading(*first_);
}

ParallelReader::ParallelReader(Database& database, int threads)
    : threads_(database.InTransaction() ? threads : 1), first_(&database) {}

ParallelReader::~ParallelReader() = default;

Database& ParallelReader::database() { return *first_; }

int64_t ParallelReader::EstimateRows(const Table& table) {
  if (!first_->HasTable(table.sql_name())) return 0;
  try {
    return first_->QueryInteger(
        fmt::format("SELECT IFNULL(MAX(rowid), 0) FROM main.{}", Quoted(table.sql_name())));
  } catch (const Error&) {
    return 0;  // a table without row numbers
  }
}

// In a rollback journal mode the first connection's lock keeps the file as it is while the others open. In a
// write-ahead log each would see a state of its own.
void ParallelReader::OpenOthers() {
  if (first_->QueryText("PRAGMA journal_mode") == "wal") return;
  while (static_cast<int>(others_.size()) + 1 < threads_) {
    others_.push_back(std::make_unique<Database>(first_->path(), OpenMode::kReadOnly));
    BeginReading(*others_.back());
  }
}

void ParallelReader::ReadParts(const Table& table, const ReadWatch& watch,
                               const std::function<void(int)>& begin, const ReadPart& read) {
  if (!first_->HasTable(table.sql_name())) return begin(0);
  Progress progress(EstimateRows(table), watch);
  std::vector<std::string> ranges{std::string()};
  if (threads_ > 1) ranges = RowRanges(*first_, table, static_cast<size_t>(threads_) * kPartsPerThread);
  if (ranges.size() > 1) OpenOthers();
  if (others_.empty()) ranges = {std::string()};
  begin(static_cast<int>(ranges.size()));
  std::atomic<size_t> next{0};
  const auto read_parts = [&](Database& database, int worker) {
    try {
      for (size_t part = next++; part < ranges.size(); part = next++) {
        Count count(&progress);
        read(database, ranges[part], {static_cast<int>(part), worker}, count);
        count.Look();
      }
    } catch (...) {
      progress.Fail();
    }
  };
  std::vector<Thread> threads;
  try {
    for (size_t i = 0; i < others_.size() && ranges.size() > 1; ++i) {
      threads.emplace_back("reading a trace", [&, i] { read_parts(*others_[i], static_cast<int>(i) + 1); });
    }
  } catch (...) {
    progress.Fail();
  }
  read_parts(*first_, 0);
  JoinAll(threads);
  progress.Rethrow();
}

}  // namespace lanescope::traces
