#include "traces/activity_totals.h"

#include <sqlite3.h>

#include <exception>
#include <future>

#include "core/error.h"
#include "traces/table_scan.h"

namespace lanescope {
namespace {

// A function of SQL that takes a row and yields nothing; its callback may throw, which ends the statement and
// comes out of Run.
class RowFunction {
 public:
  virtual ~RowFunction() = default;
  virtual void Row(sqlite3_value** values) = 0;

  // `suffix`: a WHERE clause.
  void Run(Database& database, std::string_view table, std::initializer_list<ScanColumn> columns,
           const std::string& suffix = {}) {
    const std::string path = database.path();
    path_ = &path;
    const int result = sqlite3_create_function_v2(
        database.handle(), "lanescope_row", static_cast<int>(columns.size()), SQLITE_UTF8 | SQLITE_DIRECTONLY,
        this, nullptr, &RowFunction::Step, [](sqlite3_context* context) { sqlite3_result_null(context); },
        nullptr);
    if (result != SQLITE_OK) database.Fail(result, "access");
    try {
      Statement statement(database, AggregateSql(database, table, columns) + " " + suffix);
      statement.Run();
    } catch (...) {
      if (!error_) throw;
    }
    if (error_) std::rethrow_exception(error_);
  }

 protected:
  // NULL reads as `fallback`. Throw DataLoss.
  int64_t Integer(sqlite3_value* value, int64_t fallback = 0) const {
    switch (sqlite3_value_type(value)) {
      case SQLITE_INTEGER:
        return sqlite3_value_int64(value);
      case SQLITE_NULL:
        return fallback;
      default:
        Throw(Code::kDataLoss,
              "{}: an activity holds something that is no integer; the file is damaged or no trace", *path_);
    }
  }
  int64_t Bounded(sqlite3_value* value) const {
    const int64_t number = Integer(value);
    if (number < -kMaxMagnitude || number > kMaxMagnitude) {
      Throw(Code::kDataLoss,
            "{}: an activity holds {}, which is out of range; the file is damaged or no trace", *path_,
            number);
    }
    return number;
  }

 private:
  static void Step(sqlite3_context* context, int, sqlite3_value** values) {
    auto* self = static_cast<RowFunction*>(sqlite3_user_data(context));
    if (self->error_) return;
    try {
      self->Row(values);
    } catch (...) {
      self->error_ = std::current_exception();
      sqlite3_result_error(context, "stopped", -1);
    }
  }

  static std::string AggregateSql(Database& database, std::string_view table,
                                  std::initializer_list<ScanColumn> columns) {
    std::string sql = ScanSql(database, table, columns);
    const size_t from = sql.rfind(" FROM ");
    std::string list = sql.substr(7, from - 7);
    // Arguments have no names.
    for (size_t at = list.find("NULL AS "); at != std::string::npos; at = list.find("NULL AS ", at + 4)) {
      const size_t end = list.find(',', at);
      list.replace(at, (end == std::string::npos ? list.size() : end) - at, "NULL");
    }
    return "SELECT lanescope_row(" + list + ")" + sql.substr(from);
  }

  const std::string* path_ = nullptr;
  std::exception_ptr error_;
};

// Widens the run's span; false for an activity that ends before it starts.
bool Admit(int64_t start, int64_t end, ActivityTotals* totals) {
  if (end < start) {
    ++totals->invalid_rows;
    return false;
  }
  totals->first_ns = std::min(totals->first_ns, start);
  totals->last_ns = std::max(totals->last_ns, end);
  return true;
}

class KernelRows : public RowFunction {
 public:
  KernelRows(const ProcessFilter& processes, ActivityTotals* totals)
      : processes_(processes), totals_(totals) {}
  void Row(sqlite3_value** values) override {
    if (!processes_.Has(Integer(values[4]))) return;
    const int64_t start = Bounded(values[0]), end = Bounded(values[1]);
    if (!Admit(start, end, totals_)) return;
    const int64_t device = Integer(values[2]);
    if (last_ == nullptr || device != last_device_) {
      last_ = &totals_->devices[device];
      last_device_ = device;
    }
    last_->launches[Integer(values[3])].Add(end - start);
    last_->busy.Add(start, end);
  }

 private:
  const ProcessFilter& processes_;
  ActivityTotals* totals_;
  ActivityTotals::Device* last_ = nullptr;
  int64_t last_device_ = 0;
};

class CopyRows : public RowFunction {
 public:
  CopyRows(const ProcessFilter& processes, int host, ActivityTotals* totals)
      : processes_(processes), host_(host), totals_(totals) {}
  void Row(sqlite3_value** values) override {
    if (!processes_.Has(Integer(values[3]))) return;
    const int64_t start = Bounded(values[0]), end = Bounded(values[1]);
    if (!Admit(start, end, totals_)) return;
    CopyColumns columns;
    columns.device = static_cast<int>(Integer(values[2]));
    columns.copy_kind = Integer(values[5]);
    columns.src_kind = Maybe(values[6]);
    columns.dst_kind = Maybe(values[7]);
    if (const auto src = Maybe(values[8])) columns.src_device = static_cast<int>(*src);
    if (const auto dst = Maybe(values[9])) columns.dst_device = static_cast<int>(*dst);
    const CopyRoute route = ClassifyCopy(columns, host_);
    RouteTotals& totals = totals_->routes[{route.src, route.dst}];
    ++totals.count;
    totals.bytes = AddSaturating(totals.bytes, Bounded(values[4]));
    totals.ns = AddSaturating(totals.ns, end - start);
    totals_->copies[columns.copy_kind].Add(end - start);
    totals_->copying.Add(start, end);
  }

 private:
  std::optional<int64_t> Maybe(sqlite3_value* value) const {
    if (sqlite3_value_type(value) == SQLITE_NULL) return std::nullopt;
    return Integer(value);
  }
  const ProcessFilter& processes_;
  int host_;
  ActivityTotals* totals_;
};

class MemsetRows : public RowFunction {
 public:
  MemsetRows(const ProcessFilter& processes, ActivityTotals* totals)
      : processes_(processes), totals_(totals) {}
  void Row(sqlite3_value** values) override {
    if (!processes_.Has(Integer(values[2]))) return;
    const int64_t start = Bounded(values[0]), end = Bounded(values[1]);
    if (Admit(start, end, totals_)) totals_->memsets.Add(end - start);
  }

 private:
  const ProcessFilter& processes_;
  ActivityTotals* totals_;
};

class ApiRows : public RowFunction {
 public:
  ApiRows(const ProcessFilter& processes, ActivityTotals* totals) : processes_(processes), totals_(totals) {}
  void Row(sqlite3_value** values) override {
    const int64_t pid = Integer(values[2]) & ~int64_t{0xffffff};
    if (!processes_.Has(pid)) return;
    const int64_t start = Bounded(values[0]), end = Bounded(values[1]);
    if (end < start) {
      ++totals_->invalid_rows;
      return;
    }
    totals_->api_calls[Integer(values[3])].Add(end - start);
  }

 private:
  const ProcessFilter& processes_;
  ActivityTotals* totals_;
};

// Below this many rows a second thread is not worth its connection.
constexpr int64_t kRowsWorthAThread = 500'000;

void AddKernels(Database& database, const ProcessFilter& processes, const char* name_column,
                const std::string& suffix, ActivityTotals* totals) {
  KernelRows(processes, totals)
      .Run(database, "CUPTI_ACTIVITY_KIND_KERNEL",
           {{"start", true}, {"end", true}, {"deviceId", true}, {name_column, true}, {"globalPid"}}, suffix);
}

void MergeKernels(ActivityTotals* more, ActivityTotals* totals) {
  for (auto& [id, device] : more->devices) {
    ActivityTotals::Device& into = totals->devices[id];
    for (const auto& [name, time] : device.launches.Used()) into.launches[name].Merge(time);
    for (const Interval& interval : device.busy.Union()) into.busy.Add(interval.start, interval.end);
  }
  totals->first_ns = std::min(totals->first_ns, more->first_ns);
  totals->last_ns = std::max(totals->last_ns, more->last_ns);
  totals->invalid_rows += more->invalid_rows;
}

// Large tables in two halves, the second on another thread and connection.
void AddAllKernels(Database& database, const ProcessFilter& processes, const char* name_column,
                   ActivityTotals* totals) {
  const int64_t first = database.QueryInteger("SELECT MIN(rowid) FROM CUPTI_ACTIVITY_KIND_KERNEL");
  const int64_t last = database.QueryInteger("SELECT MAX(rowid) FROM CUPTI_ACTIVITY_KIND_KERNEL");
  if (first < 0 || last < first || last - first < kRowsWorthAThread) {
    AddKernels(database, processes, name_column, {}, totals);
    return;
  }
  const int64_t middle = first + (last - first) / 2;
  std::future<ActivityTotals> upper = std::async(std::launch::async, [&] {
    Database connection(database.path(), OpenMode::kReadOnly);
    ActivityTotals half;
    AddKernels(connection, processes, name_column, fmt::format("WHERE rowid > {}", middle), &half);
    return half;
  });
  AddKernels(database, processes, name_column, fmt::format("WHERE rowid <= {}", middle), totals);
  ActivityTotals half = upper.get();
  MergeKernels(&half, totals);
}

}  // namespace

void TimeTotals::Merge(const TimeTotals& more) {
  total_ns = AddSaturating(total_ns, more.total_ns);
  calls += more.calls;
  min_ns = std::min(min_ns, more.min_ns);
  max_ns = std::max(max_ns, more.max_ns);
}

void TimeTotals::Add(int64_t ns) {
  total_ns = AddSaturating(total_ns, ns);
  ++calls;
  min_ns = std::min(min_ns, ns);
  max_ns = std::max(max_ns, ns);
}

std::map<int64_t, TimeTotals> TotalsById::Used() const {
  std::map<int64_t, TimeTotals> used(sparse_.begin(), sparse_.end());
  for (size_t id = 0; id < dense_.size(); ++id) {
    if (dense_[id].calls > 0) used.emplace(static_cast<int64_t>(id), dense_[id]);
  }
  return used;
}

ActivityTotals ComputeTotals(Database& database, const ProcessFilter& processes, int host_device,
                             const char* name_column) {
  ActivityTotals totals;
  if (database.HasTable("CUPTI_ACTIVITY_KIND_KERNEL")) {
    AddAllKernels(database, processes, name_column, &totals);
  }
  if (database.HasTable("CUPTI_ACTIVITY_KIND_MEMCPY")) {
    CopyRows(processes, host_device, &totals)
        .Run(database, "CUPTI_ACTIVITY_KIND_MEMCPY",
             {{"start", true},
              {"end", true},
              {"deviceId", true},
              {"globalPid"},
              {"bytes", true},
              {"copyKind", true},
              {"srcKind"},
              {"dstKind"},
              {"srcDeviceId"},
              {"dstDeviceId"}});
  }
  if (database.HasTable("CUPTI_ACTIVITY_KIND_MEMSET")) {
    MemsetRows(processes, &totals)
        .Run(database, "CUPTI_ACTIVITY_KIND_MEMSET", {{"start", true}, {"end", true}, {"globalPid"}});
  }
  if (database.HasTable("CUPTI_ACTIVITY_KIND_RUNTIME")) {
    ApiRows(processes, &totals)
        .Run(database, "CUPTI_ACTIVITY_KIND_RUNTIME",
             {{"start", true}, {"end", true}, {"globalTid"}, {"nameId", true}});
  }
  return totals;
}

}  // namespace lanescope
