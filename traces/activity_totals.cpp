#include "traces/activity_totals.h"

#include <sqlite3.h>

#include <algorithm>
#include <cctype>
#include <exception>
#include <future>

#include "core/error.h"
#include "traces/table_scan.h"

namespace lanescope {
namespace {

// Foreign files hold any 32-bit pattern; beyond that no device is meant.
int DeviceNumber(int64_t device) { return static_cast<int>(static_cast<uint32_t>(device)); }

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
  std::optional<int64_t> Maybe(sqlite3_value* value) const {
    if (sqlite3_value_type(value) == SQLITE_NULL) return std::nullopt;
    return Integer(value);
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
  // Start and end of an activity; empty for what are no usable times, which are counted.
  std::optional<Interval> Times(sqlite3_value* start, sqlite3_value* end, ActivityTotals* totals) const {
    const auto usable = [](const std::optional<int64_t>& time) {
      return time && *time >= -kMaxMagnitude && *time <= kMaxMagnitude;
    };
    const std::optional<int64_t> from = Maybe(start), to = Maybe(end);
    if (usable(from) && usable(to) && *from <= *to) return Interval{*from, *to};
    ++totals->invalid_rows;
    return std::nullopt;
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

class KernelRows : public RowFunction {
 public:
  KernelRows(const TotalsSource& source, ActivityTotals* totals)
      : source_(source), devices_(source.devices), totals_(totals) {}
  void Row(sqlite3_value** values) override {
    const int64_t process = Integer(values[3]);
    if (!source_.processes.Has(process)) return;
    const auto times = Times(values[0], values[1], totals_);
    if (!times) return;
    const int64_t name = Integer(values[4], -1);
    const bool communication =
        !source_.communication_names.empty() && source_.communication_names.contains(name);
    totals_->AddLaunch(devices_.Of(process, DeviceNumber(Integer(values[2]))), name, communication,
                       times->start, times->end);
  }

 private:
  const TotalsSource& source_;
  DeviceNumbers devices_;
  ActivityTotals* totals_;
};

class CopyRows : public RowFunction {
 public:
  CopyRows(const TotalsSource& source, ActivityTotals* totals)
      : source_(source), devices_(source.devices), totals_(totals) {}
  void Row(sqlite3_value** values) override {
    const int64_t process = Integer(values[3]);
    if (!source_.processes.Has(process)) return;
    const auto times = Times(values[0], values[1], totals_);
    if (!times) return;
    CopyColumns columns;
    columns.device = devices_.Of(process, DeviceNumber(Integer(values[2])));
    columns.copy_kind = Integer(values[5]);
    columns.src_kind = Maybe(values[6]);
    columns.dst_kind = Maybe(values[7]);
    if (const auto src = Maybe(values[8])) columns.src_device = devices_.Of(process, DeviceNumber(*src));
    if (const auto dst = Maybe(values[9])) columns.dst_device = devices_.Of(process, DeviceNumber(*dst));
    const CopyRoute route = ClassifyCopy(columns, source_.host_device);
    totals_->AddCopy(route, KindOfRoute(route, columns.copy_kind), columns.device, Bounded(values[4]),
                     times->start, times->end);
  }

 private:
  const TotalsSource& source_;
  DeviceNumbers devices_;
  ActivityTotals* totals_;
};

class MemsetRows : public RowFunction {
 public:
  MemsetRows(const TotalsSource& source, ActivityTotals* totals)
      : source_(source), devices_(source.devices), totals_(totals) {}
  void Row(sqlite3_value** values) override {
    const int64_t process = Integer(values[3]);
    if (!source_.processes.Has(process)) return;
    if (const auto times = Times(values[0], values[1], totals_)) {
      totals_->AddMemset(devices_.Of(process, DeviceNumber(Integer(values[2]))), times->start, times->end);
    }
  }

 private:
  const TotalsSource& source_;
  DeviceNumbers devices_;
  ActivityTotals* totals_;
};

class ApiRows : public RowFunction {
 public:
  ApiRows(const ProcessFilter& processes, ActivityTotals* totals) : processes_(processes), totals_(totals) {}
  void Row(sqlite3_value** values) override {
    if (!processes_.Has(GlobalPidOf(Integer(values[2])))) return;
    if (const auto times = Times(values[0], values[1], totals_)) {
      totals_->api_calls[Integer(values[3], -1)].Add(times->end - times->start);
    }
  }

 private:
  const ProcessFilter& processes_;
  ActivityTotals* totals_;
};

// Below this many rows a second thread is not worth its connection.
constexpr int64_t kRowsWorthAThread = 500'000;

void AddKernels(Database& database, const TotalsSource& source, const std::string& suffix,
                ActivityTotals* totals) {
  // A column that no table has reads as NULL.
  const std::string_view name = source.name_column.empty() ? "noName" : std::string_view(source.name_column);
  KernelRows(source, totals)
      .Run(database, "CUPTI_ACTIVITY_KIND_KERNEL",
           {{"start", true}, {"end", true}, {"deviceId", true}, {"globalPid"}, {name}}, suffix);
}

void MergeSets(IntervalSet* more, IntervalSet* into) {
  for (const Interval& interval : more->Union()) into->Add(interval.start, interval.end);
}

void MergeKernels(ActivityTotals* more, ActivityTotals* totals) {
  for (auto& [id, device] : more->devices) {
    ActivityTotals::Device& into = totals->devices[id];
    for (const auto& [name, time] : device.launches.Used()) into.launches[name].Merge(time);
    MergeSets(&device.compute, &into.compute);
    MergeSets(&device.communication, &into.communication);
  }
  totals->first_ns = std::min(totals->first_ns, more->first_ns);
  totals->last_ns = std::max(totals->last_ns, more->last_ns);
  totals->invalid_rows += more->invalid_rows;
}

// Large tables in two halves, the second on another thread and connection.
void AddAllKernels(Database& database, const TotalsSource& source, ActivityTotals* totals) {
  const int64_t first = database.QueryInteger("SELECT MIN(rowid) FROM CUPTI_ACTIVITY_KIND_KERNEL");
  const int64_t last = database.QueryInteger("SELECT MAX(rowid) FROM CUPTI_ACTIVITY_KIND_KERNEL");
  if (first < 0 || last < first || last - first < kRowsWorthAThread) {
    AddKernels(database, source, {}, totals);
    return;
  }
  const int64_t middle = first + (last - first) / 2;
  std::future<ActivityTotals> upper = std::async(std::launch::async, [&] {
    Database connection(database.path(), OpenMode::kReadOnly);
    ActivityTotals half;
    AddKernels(connection, source, fmt::format("WHERE rowid > {}", middle), &half);
    return half;
  });
  AddKernels(database, source, fmt::format("WHERE rowid <= {}", middle), totals);
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

void ActivityTotals::Widen(int64_t start, int64_t end) {
  first_ns = std::min(first_ns, start);
  last_ns = std::max(last_ns, end);
}

ActivityTotals::Device& ActivityTotals::DeviceOf(int64_t id) {
  if (last_device_.second == nullptr || last_device_.first != id) last_device_ = {id, &devices[id]};
  return *last_device_.second;
}

void ActivityTotals::AddLaunch(int64_t device, int64_t name, bool communication, int64_t start, int64_t end) {
  Widen(start, end);
  Device& on = DeviceOf(device);
  on.launches[name].Add(end - start);
  (communication ? on.communication : on.compute).Add(start, end);
}

void ActivityTotals::AddCopy(const CopyRoute& route, int64_t kind, int device, int64_t bytes, int64_t start,
                             int64_t end) {
  Widen(start, end);
  const auto add = [&](RouteTotals& totals) {
    ++totals.count;
    totals.bytes = AddSaturating(totals.bytes, bytes);
    totals.ns = AddSaturating(totals.ns, end - start);
  };
  add(routes[{route.src, route.dst}]);
  copies[kind].Add(end - start);
  const auto add_to = [&](int end_device) {
    DeviceActivity::Copies& on = DeviceOf(end_device).copies[static_cast<size_t>(route.copy_class)];
    on.busy.Add(start, end);
    add(on.totals);
  };
  switch (route.copy_class) {
    case CopyClass::kHostToDevice:
      return add_to(route.dst);
    case CopyClass::kDeviceToHost:
      return add_to(route.src);
    case CopyClass::kDeviceToDevice:
      add_to(route.src);
      if (route.dst != kUnknownDevice) add_to(route.dst);
      return;
    default:
      return add_to(device);
  }
}

void ActivityTotals::AddMemset(int64_t device, int64_t start, int64_t end) {
  Widen(start, end);
  memsets.Add(end - start);
  DeviceOf(device).memsets.Add(start, end);
}

bool IsCommunication(std::string_view kernel_name) {
  constexpr std::string_view kNccl = "nccl";
  const auto found =
      std::search(kernel_name.begin(), kernel_name.end(), kNccl.begin(), kNccl.end(),
                  [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; });
  return found != kernel_name.end();
}

ActivityTotals ComputeTotals(Database& database, const TotalsSource& source) {
  ActivityTotals totals;
  if (database.HasTable("CUPTI_ACTIVITY_KIND_KERNEL")) AddAllKernels(database, source, &totals);
  if (database.HasTable("CUPTI_ACTIVITY_KIND_MEMCPY")) {
    CopyRows(source, &totals)
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
    MemsetRows(source, &totals)
        .Run(database, "CUPTI_ACTIVITY_KIND_MEMSET",
             {{"start", true}, {"end", true}, {"deviceId"}, {"globalPid"}});
  }
  if (database.HasTable("CUPTI_ACTIVITY_KIND_RUNTIME")) {
    ApiRows(source.processes, &totals)
        .Run(database, "CUPTI_ACTIVITY_KIND_RUNTIME",
             {{"start", true}, {"end", true}, {"globalTid"}, {"nameId"}});
  }
  return totals;
}

namespace {

// Gives every activity of the run to the totals that `totals_of` names for its step; null: to none.
template <typename TotalsOf>
void AddActivities(const TraceRun& run, bool full_names, TotalsOf totals_of) {
  std::vector<char> communication;
  for (const std::string& text : run.texts) communication.push_back(IsCommunication(text) ? 1 : 0);
  for (const TraceLaunch& launch : run.launches) {
    ActivityTotals* totals = totals_of(launch.step);
    if (totals == nullptr) continue;
    const int name = full_names ? launch.name : launch.op;
    totals->AddLaunch(launch.device, name, name >= 0 && communication[static_cast<size_t>(name)] != 0,
                      launch.start_ns, launch.end_ns);
  }
  for (const TraceCopy& copy : run.copies) {
    if (ActivityTotals* totals = totals_of(copy.step)) {
      totals->AddCopy({copy.src, copy.dst, copy.copy_class}, copy.kind, copy.device, copy.bytes,
                      copy.start_ns, copy.end_ns);
    }
  }
  for (const TraceMemset& memset : run.memsets) {
    if (ActivityTotals* totals = totals_of(memset.step)) {
      totals->AddMemset(memset.device, memset.start_ns, memset.end_ns);
    }
  }
  for (const TraceApiCall& call : run.api_calls) {
    if (ActivityTotals* totals = totals_of(call.step)) {
      totals->api_calls[call.name].Add(call.end_ns - call.start_ns);
    }
  }
}

}  // namespace

ActivityTotals ComputeTotals(const TraceRun& run, bool full_names, int step) {
  ActivityTotals totals;
  totals.invalid_rows = run.invalid_rows;
  AddActivities(run, full_names, [&](int of) { return step < 0 || of == step ? &totals : nullptr; });
  return totals;
}

std::map<int, ActivityTotals> ComputeTotalsBySteps(const TraceRun& run, bool full_names) {
  std::map<int, ActivityTotals> totals;
  AddActivities(run, full_names, [&](int step) { return &totals[step]; });
  return totals;
}

}  // namespace lanescope
