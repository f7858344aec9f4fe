// The totals of a file, one pass over each of its activity tables.
#include <sqlite3.h>

#include <algorithm>
#include <exception>
#include <future>
#include <thread>

#include "core/thread.h"
#include "traces/activity_totals.h"
#include "traces/graph_name.h"
#include "traces/row_function.h"

namespace lanescope {
namespace {

// Foreign files hold any 32-bit pattern; beyond that no device is meant.
int DeviceNumber(int64_t device) { return static_cast<int>(static_cast<uint32_t>(device)); }

// Columns that every table of device activities has, in this order.
constexpr ScanColumn kStartColumn{"start", true}, kEndColumn{"end", true}, kDeviceColumn{"deviceId"},
    kProcessColumn{"globalPid"};
enum { kStartValue, kEndValue, kDeviceValue, kProcessValue, kNumSharedValues };

// Rows of device activities that belong to the run and have times.
class ActivityRows : public RowFunction {
 public:
  ActivityRows(const TotalsSource& source, ActivityTotals* totals)
      : totals_(totals), source_(source), devices_(source.devices) {}

 protected:
  virtual void Activity(sqlite3_value** values, int64_t process, int device, Interval time) = 0;
  int DeviceOf(int64_t process, int64_t device) { return devices_.Of(process, DeviceNumber(device)); }
  const TotalsSource& source() const { return source_; }

  ActivityTotals* const totals_;

 private:
  void Row(sqlite3_value** values) final {
    const int64_t process = Integer(values[kProcessValue]);
    if (!source_.processes.Has(process)) return;
    const std::optional<Interval> time = totals_->Times(Maybe(values[kStartValue]), Maybe(values[kEndValue]));
    if (time) Activity(values, process, DeviceOf(process, Integer(values[kDeviceValue])), *time);
  }

  const TotalsSource& source_;
  DeviceNumbers devices_;
};

class KernelRows : public ActivityRows {
 public:
  using ActivityRows::ActivityRows;
  void Run(Database& database, const std::string& suffix) {
    // A column that no table has reads as NULL.
    const auto name = [&](size_t i) {
      const auto& columns = source().name_columns;
      return ScanColumn{i < columns.size() ? std::string_view(columns[i]) : "noName"};
    };
    const ScanColumn columns[] = {kStartColumn, kEndColumn, kDeviceColumn, kProcessColumn,
                                  name(0),      name(1),    name(2)};
    RowFunction::Run(database, "CUPTI_ACTIVITY_KIND_KERNEL", columns, suffix);
  }

 private:
  void Activity(sqlite3_value** values, int64_t, int device, Interval time) override {
    int64_t name = -1;
    for (int i = kNumSharedValues; name < 0 && i < kNumSharedValues + 3; ++i) {
      name = std::max<int64_t>(-1, Integer(values[i], -1));
    }
    totals_->AddLaunch(device, name, source().communication_names.contains(name), time.start, time.end);
  }
};

// Launches of whole graphs, whose kernels have no rows of their own.
class GraphRows : public ActivityRows {
 public:
  using ActivityRows::ActivityRows;
  void Run(Database& database) {
    const ScanColumn columns[] = {kStartColumn, kEndColumn, kDeviceColumn, kProcessColumn, {"graphId"}};
    RowFunction::Run(database, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", columns);
  }

 private:
  void Activity(sqlite3_value** values, int64_t, int device, Interval time) override {
    totals_->AddLaunch(device, GraphNameId(Integer(values[kNumSharedValues])), false, time.start, time.end);
  }
};

class CopyRows : public ActivityRows {
 public:
  using ActivityRows::ActivityRows;
  void Run(Database& database) {
    const ScanColumn columns[] = {kStartColumn, kEndColumn,  kDeviceColumn, kProcessColumn,  {"bytes"},
                                  {"copyKind"}, {"srcKind"}, {"dstKind"},   {"srcDeviceId"}, {"dstDeviceId"}};
    RowFunction::Run(database, "CUPTI_ACTIVITY_KIND_MEMCPY", columns);
  }

 private:
  void Activity(sqlite3_value** values, int64_t process, int device, Interval time) override {
    sqlite3_value** more = values + kNumSharedValues;
    CopyColumns columns;
    columns.device = device;
    columns.copy_kind = Integer(more[1]);
    columns.src_kind = Maybe(more[2]);
    columns.dst_kind = Maybe(more[3]);
    if (const auto src = Maybe(more[4])) columns.src_device = DeviceOf(process, *src);
    if (const auto dst = Maybe(more[5])) columns.dst_device = DeviceOf(process, *dst);
    const CopyRoute route = ClassifyCopy(columns, source().host_device);
    totals_->AddCopy(route, KindOfRoute(route, columns.copy_kind), device, Bounded(more[0]), time.start,
                     time.end);
  }
};

class MemsetRows : public ActivityRows {
 public:
  using ActivityRows::ActivityRows;
  void Run(Database& database) {
    const ScanColumn columns[] = {kStartColumn, kEndColumn, kDeviceColumn, kProcessColumn};
    RowFunction::Run(database, "CUPTI_ACTIVITY_KIND_MEMSET", columns);
  }

 private:
  void Activity(sqlite3_value**, int64_t, int device, Interval time) override {
    totals_->AddMemset(device, time.start, time.end);
  }
};

class ApiRows : public RowFunction {
 public:
  ApiRows(const ProcessFilter& processes, ActivityTotals* totals) : processes_(processes), totals_(totals) {}
  void Run(Database& database) {
    const ScanColumn columns[] = {kStartColumn, kEndColumn, {"globalTid"}, {"nameId"}};
    RowFunction::Run(database, "CUPTI_ACTIVITY_KIND_RUNTIME", columns);
  }

 private:
  void Row(sqlite3_value** values) override {
    if (!processes_.Has(GlobalPidOf(Integer(values[2])))) return;
    if (const auto time = totals_->Times(Maybe(values[0]), Maybe(values[1]))) {
      totals_->api_calls[Integer(values[3], -1)].Add(time->end - time->start);
    }
  }

  const ProcessFilter& processes_;
  ActivityTotals* const totals_;
};

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
void AddKernels(Database& database, const TotalsSource& source, ActivityTotals* totals) {
  const std::vector<std::string> ranges = RowRanges(database, "CUPTI_ACTIVITY_KIND_KERNEL", 2);
  if (ranges.size() == 1) return KernelRows(source, totals).Run(database, ranges[0]);
  std::packaged_task<ActivityTotals()> read_upper([&] {
    Database connection(database.path(), OpenMode::kReadOnly);
    ActivityTotals half;
    KernelRows(source, &half).Run(connection, ranges[1]);
    return half;
  });
  std::future<ActivityTotals> upper = read_upper.get_future();
  std::thread thread = StartThread("reading a trace", [&] { read_upper(); });
  std::exception_ptr failure;
  try {
    KernelRows(source, totals).Run(database, ranges[0]);
  } catch (...) {
    failure = std::current_exception();
  }
  thread.join();
  if (failure) std::rethrow_exception(failure);
  ActivityTotals half = upper.get();
  MergeKernels(&half, totals);
}

}  // namespace

ActivityTotals ComputeTotals(Database& database, const TotalsSource& source) {
  ActivityTotals totals;
  if (database.HasTable("CUPTI_ACTIVITY_KIND_KERNEL")) AddKernels(database, source, &totals);
  if (database.HasTable("CUPTI_ACTIVITY_KIND_GRAPH_TRACE")) GraphRows(source, &totals).Run(database);
  if (database.HasTable("CUPTI_ACTIVITY_KIND_MEMCPY")) CopyRows(source, &totals).Run(database);
  if (database.HasTable("CUPTI_ACTIVITY_KIND_MEMSET")) MemsetRows(source, &totals).Run(database);
  if (database.HasTable("CUPTI_ACTIVITY_KIND_RUNTIME")) ApiRows(source.processes, &totals).Run(database);
  return totals;
}

}  // namespace lanescope
