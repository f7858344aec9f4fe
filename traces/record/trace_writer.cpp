// SPDX-License-Identifier: Apache-2.0
#include "traces/record/trace_writer.h"

#include <sqlite3.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <variant>
#include <vector>

#include "core/base/error.h"
#include "core/base/thread.h"
#include "traces/record/event_batch.h"
#include "traces/record/run_writer.h"
#include "traces/record/trace_place.h"
#include "traces/store/trace_file.h"

namespace lanescope::traces {
namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kCommitInterval(150);
// A sink waits while this many events are pending (40 bytes each).
constexpr size_t kMaxPendingEvents = 4 << 20;
// Between two looks at the clock.
constexpr size_t kEventsPerSlice = 8192;

// Rows of captures are counted as events of the same size.
constexpr size_t kBytesPerEvent = 40;

}  // namespace

// Invariants: the queue keeps the order of calls. Only the writing thread touches what stands under "writing
// thread"; everything else is guarded by mutex_.
class TraceWriter::Impl {
 public:
  Impl(const std::string& path, NewTrace appears)
      : path_(path),
        place_(path, appears),
        database_(OpenTraceForWriting(place_.path(), path)),
        strings_(database_) {
    thread_ = Thread("writing a trace", [this] { Loop(); });
  }

  ~Impl() {
    try {
      Close();
    } catch (...) {
      // Close is what reports; see the header.
    }
    StopThread();
  }

  int BeginRun(const RunInfo& info) {
    return Call([&] {
      RunWriter run(database_, strings_, *tables_, info);
      const int id = run.id();
      runs_.emplace(id, std::move(run));
      any_run_ = true;
      return id;
    });
  }

  int AddSchedule(int run, const Schedule& schedule) {
    return Call([&] { return FindRun(run).AddSchedule(schedule); });
  }

  EventSink* SinkOf(int run) {
    std::lock_guard lock(sinks_mutex_);
    std::unique_ptr<Sink>& sink = sinks_[run];
    if (!sink) sink = std::make_unique<Sink>(this, run);
    return sink.get();
  }

  void AddInput(int run, InputRecord input) {
    const size_t weight = input.size();
    Enqueue({run, {}, 0, std::nullopt, weight, std::move(input)});
  }

  ActivitySink* CaptureOf(int run) {
    Call([&] {
      if (!activity_tables_) activity_tables_.emplace(database_);
      FindRun(run).BeginCapture(*activity_tables_);
    });
    std::lock_guard lock(sinks_mutex_);
    std::unique_ptr<Captured>& sink = captures_[run];
    if (!sink) sink = std::make_unique<Captured>(this, run);
    return sink.get();
  }

  void EndRun(int run, const RunOutcome& outcome) {
    Call([&] {
      FindRun(run).Finish(outcome);
      Commit();
      runs_.erase(run);
    });
  }

  void Flush() {
    Call([this] { Commit(); });
  }

  void Close() {
    {
      std::lock_guard lock(mutex_);
      if (closed_) return;
      closed_ = true;
    }
    const bool holds_runs = Call([this] {
      Commit();
      FinishTraceFile(database_);
      if (!place_.is_new() || any_run_ || !IsUnused()) return true;
      place_.Remove();
      return false;
    });
    StopThread();
    if (holds_runs) place_.Commit();
  }

  const std::string& path() const { return path_; }

  // Any thread. Acquire: the failure was kept before, and stays as it is.
  void RequireHealthy() const {
    if (failed_.load(std::memory_order_acquire)) std::rethrow_exception(failure_);
  }

 private:
  class Sink : public EventSink {
   public:
    Sink(Impl* impl, int run) : impl_(impl), run_(run) {}
    void Consume(std::span<const Event> events) override {
      impl_->Enqueue({run_, {events.begin(), events.end()}, 0, std::nullopt, events.size()});
    }
    void CountDropped(int64_t records) override { impl_->Enqueue({run_, {}, records, std::nullopt, 0}); }

   private:
    Impl* impl_;
    int run_;
  };
  class Captured : public ActivitySink {
   public:
    Captured(Impl* impl, int run) : impl_(impl), run_(run) {}
    void Consume(ActivityBatch batch) override {
      const size_t weight = NumBytes(batch) / kBytesPerEvent;
      impl_->Enqueue({run_, {}, 0, std::move(batch), weight});
    }

   private:
    Impl* impl_;
    int run_;
  };
  using Task = std::variant<EventBatch, std::function<void()>>;

  // Runs `work` on the writing thread inside the current transaction, after everything queued before; what it
  // throws comes back here and takes its rows along.
  template <typename Work>
  auto Call(Work work) -> decltype(work()) {
    using Result = decltype(work());
    std::conditional_t<std::is_void_v<Result>, std::monostate, std::optional<Result>> result;
    std::exception_ptr error;
    bool done = false;
    Post([&] {
      std::exception_ptr caught;
      try {
        RequireHealthy();
        if constexpr (std::is_void_v<Result>) {
          InSavepoint(work);
        } else {
          InSavepoint([&] { result = work(); });
        }
      } catch (...) {
        caught = std::current_exception();
      }
      // Notified under the lock: the waiter owns `done`, and may be gone as soon as it sees it.
      std::lock_guard lock(mutex_);
      error = caught;
      done = true;
      called_.notify_all();
    });
    std::unique_lock lock(mutex_);
    called_.wait(lock, [&] { return done; });
    if (error) std::rethrow_exception(error);
    if constexpr (!std::is_void_v<Result>) return std::move(*result);
  }

  void Enqueue(EventBatch batch) {
    std::unique_lock lock(mutex_);
    taken_.wait(lock, [this] { return pending_events_ < kMaxPendingEvents || stop_; });
    if (stop_) return;
    pending_events_ += batch.weight;
    queue_.emplace_back(std::move(batch));
    wake_.notify_one();
  }

  RunWriter& FindRun(int run) {
    const auto found = runs_.find(run);
    if (found == runs_.end()) Throw(Code::kNotFound, "run {} is not being written to {}", run, path_);
    return found->second;
  }

  void Commit() {
    if (!in_transaction_) return;
    FlushTables();
    database_.Execute("COMMIT");
    in_transaction_ = false;
  }

  void Post(std::function<void()> work) {
    std::lock_guard lock(mutex_);
    if (stop_) Throw(Code::kFailedPrecondition, "{} is closed", path_);
    queue_.emplace_back(std::move(work));
    wake_.notify_one();
  }

  void StopThread() {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
      wake_.notify_one();
      taken_.notify_all();
    }
    thread_.Wait();
  }

  void Loop() {
    std::unique_lock lock(mutex_);
    while (true) {
      const auto has_work = [this] { return !queue_.empty() || stop_; };
      if (in_transaction_) {
        wake_.wait_until(lock, commit_at_, has_work);
      } else {
        wake_.wait(lock, has_work);
      }
      if (queue_.empty() && stop_) break;
      std::optional<Task> task;
      if (!queue_.empty()) {
        task = std::move(queue_.front());
        queue_.pop_front();
      }
      lock.unlock();
      if (task) Execute(*task);
      CommitWhenDue();
      lock.lock();
    }
  }

  void Execute(Task& task) {
    if (auto* work = std::get_if<std::function<void()>>(&task)) {
      (*work)();
      return;
    }
    const auto& batch = std::get<EventBatch>(task);
    WriteBatch(batch);
    std::lock_guard lock(mutex_);
    pending_events_ -= batch.weight;
    taken_.notify_all();
  }

  void WriteBatch(const EventBatch& batch) {
    const auto run = runs_.find(batch.run);
    if (failure_ || run == runs_.end()) return;
    try {
      run->second.CountDropped(batch.dropped);
      if (batch.activities) {
        Begin();
        run->second.WriteActivities(*batch.activities);
        CommitWhenDue();
      }
      if (batch.input) {
        Begin();
        run->second.WriteInput(*batch.input);
        CommitWhenDue();
      }
      const std::span<const Event> events(batch.events);
      for (size_t i = 0; i < events.size(); i += kEventsPerSlice) {
        Begin();
        run->second.Write(events.subspan(i, std::min(kEventsPerSlice, events.size() - i)));
        CommitWhenDue();
        if (failure_) return;
      }
    } catch (...) {
      BreakDown();
    }
  }

  // Nobody else has the file open, which keeps its log, or wrote a run into it.
  bool IsUnused() {
    return database_.QueryText("PRAGMA journal_mode") != "wal" &&
           database_.QueryInteger(fmt::format("SELECT COUNT(*) FROM {}", tables::kRun.sql_name())) == 0;
  }

  void FlushTables() {
    if (tables_) tables_->Flush();
    if (activity_tables_) activity_tables_->Flush();
  }

  void Begin() {
    if (in_transaction_) return;
    database_.Execute("BEGIN IMMEDIATE");
    in_transaction_ = true;
    commit_at_ = SteadyClock::now() + kCommitInterval;
    if (!tables_) tables_.emplace(database_);
  }

  void CommitWhenDue() {
    if (!in_transaction_ || SteadyClock::now() < commit_at_) return;
    try {
      Commit();
    } catch (...) {
      BreakDown();
    }
  }

  // The batch is lost, and what the runs in memory say of the file is no longer true: nothing more is
  // written.
  void BreakDown() {
    failure_ = std::current_exception();
    failed_.store(true, std::memory_order_release);
    sqlite3_exec(database_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
    in_transaction_ = false;
  }

  template <typename Work>
  void InSavepoint(Work work) {
    Begin();
    FlushTables();
    database_.Execute("SAVEPOINT call");
    try {
      work();
    } catch (...) {
      if (sqlite3_get_autocommit(database_.handle()) != 0) {
        // The error ended the whole transaction, earlier rows included.
        BreakDown();
      } else {
        database_.Execute("ROLLBACK TO call; RELEASE call");
        strings_.Reload();
        tables_->correlation.Forget();
      }
      throw;
    }
    if (in_transaction_) database_.Execute("RELEASE call");
  }

  const std::string path_;
  TracePlace place_;

  // Writing thread.
  Database database_;
  StringTable strings_;
  std::optional<EventTables> tables_;
  std::optional<ActivityTables> activity_tables_;  // once a capture begins
  std::map<int, RunWriter> runs_;
  bool any_run_ = false;  // was begun here
  bool in_transaction_ = false;
  SteadyClock::time_point commit_at_;
  std::exception_ptr failure_;  // set once, before failed_
  std::atomic<bool> failed_{false};

  // Guarded by mutex_.
  std::mutex mutex_;
  std::condition_variable wake_, taken_, called_;
  std::deque<Task> queue_;
  size_t pending_events_ = 0;
  bool stop_ = false;
  bool closed_ = false;

  Thread thread_;

  std::mutex sinks_mutex_;
  std::map<int, std::unique_ptr<Sink>> sinks_;
  std::map<int, std::unique_ptr<Captured>> captures_;
};

TraceWriter::TraceWriter(const std::string& path, NewTrace appears)
    : impl_(std::make_unique<Impl>(path, appears)) {}
TraceWriter::~TraceWriter() = default;

int TraceWriter::BeginRun(const RunInfo& info) { return impl_->BeginRun(info); }
int TraceWriter::AddSchedule(int run, const Schedule& schedule) { return impl_->AddSchedule(run, schedule); }
EventSink* TraceWriter::Sink(int run) { return impl_->SinkOf(run); }
void TraceWriter::AddInput(int run, InputRecord input) { impl_->AddInput(run, std::move(input)); }
ActivitySink* TraceWriter::Capture(int run) { return impl_->CaptureOf(run); }
void TraceWriter::EndRun(int run, const RunOutcome& outcome) { impl_->EndRun(run, outcome); }
void TraceWriter::RequireHealthy() { impl_->RequireHealthy(); }
void TraceWriter::Flush() { impl_->Flush(); }
void TraceWriter::Close() { impl_->Close(); }
const std::string& TraceWriter::path() const { return impl_->path(); }

}  // namespace lanescope::traces
