#include "traces/kineto_import.h"

#include <algorithm>
#include <map>

#include "core/error.h"
#include "core/output_file.h"
#include "traces/kineto_events.h"
#include "traces/row_inserter.h"
#include "traces/schema.h"
#include "traces/string_table.h"

namespace lanescope {
namespace {

constexpr int kNvtxPushPopRange = 59;

int64_t GlobalPidOfFile(int file, int64_t pid) { return (int64_t{file} << 48) | ((pid & 0xffffff) << 24); }

class ExportWriter {
 public:
  explicit ExportWriter(Database& database)
      : strings_(database),
        kernels_(database, "CUPTI_ACTIVITY_KIND_KERNEL",
                 {"start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid",
                  "demangledName", "shortName"}),
        copies_(database, "CUPTI_ACTIVITY_KIND_MEMCPY",
                {"start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "bytes",
                 "copyKind", "srcKind", "dstKind"}),
        memsets_(
            database, "CUPTI_ACTIVITY_KIND_MEMSET",
            {"start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "bytes"}),
        calls_(database, "CUPTI_ACTIVITY_KIND_RUNTIME",
               {"start", "end", "eventClass", "globalTid", "correlationId", "nameId"}),
        ranges_(database, "NVTX_EVENTS", {"start", "end", "eventType", "globalTid", "textId", "eventId"}),
        gpus_(database, "TARGET_INFO_GPU", {"vmId", "id", "name", "totalMemory", "smCount"}) {}

  void Add(const KinetoTrace& trace, int file, int64_t time_zero, const std::atomic<bool>* cancelled,
           ImportCounts* counts) {
    // What runs on a device does not name its process: the call that launched it does.
    std::map<int64_t, int64_t> process_of;
    int64_t some_pid = 0;
    for (const KinetoEvent& event : trace.events) {
      if (event.kind != KinetoEvent::Kind::kApiCall) continue;
      if (some_pid == 0) some_pid = event.pid;
      process_of.emplace(event.correlation, event.pid);
    }
    std::vector<int64_t> ids;
    for (const std::string& name : trace.names) ids.push_back(strings_.Intern(name));
    for (const KinetoEvent& event : trace.events) {
      CheckImportGoesOn(cancelled);
      const auto launched = process_of.find(event.correlation);
      const int64_t pid = launched == process_of.end() ? some_pid : launched->second;
      AddEvent(event, trace, ids[static_cast<size_t>(event.name)], file, pid, time_zero, counts);
    }
    for (const KinetoDevice& device : trace.devices) {
      if (!known_gpus_.emplace(device.id, true).second) continue;
      gpus_.Add({int64_t{file} << 48, device.id, std::string_view(device.name), device.memory,
                 device.multiprocessors});
      gpus_.Flush();
    }
    counts->skipped += trace.skipped;
  }

  void Flush() {
    for (RowInserter* table : {&kernels_, &copies_, &memsets_, &calls_, &ranges_}) table->Flush();
  }

 private:
  void AddEvent(const KinetoEvent& event, const KinetoTrace& trace, int64_t name, int file,
                int64_t launched_by, int64_t time_zero, ImportCounts* counts) {
    const int64_t start = event.start_ns - time_zero, end = event.end_ns - time_zero;
    const int64_t process = GlobalPidOfFile(file, launched_by);
    const int64_t thread = GlobalPidOfFile(file, event.pid) | (event.tid & 0xffffff);
    switch (event.kind) {
      case KinetoEvent::Kind::kKernel:
        ++counts->kernels;
        return kernels_.Add(
            {start, end, event.device, event.context, event.stream, event.correlation, process, name, name});
      case KinetoEvent::Kind::kCopy: {
        ++counts->copies;
        const CopyEnds ends = ParseCopyName(trace.names[static_cast<size_t>(event.name)]);
        return copies_.Add({start, end, event.device, event.context, event.stream, event.correlation, process,
                            event.bytes, ends.kind, ends.src_memory, ends.dst_memory});
      }
      case KinetoEvent::Kind::kMemset:
        ++counts->memsets;
        return memsets_.Add(
            {start, end, event.device, event.context, event.stream, event.correlation, process, event.bytes});
      case KinetoEvent::Kind::kApiCall:
        ++counts->api_calls;
        return calls_.Add({start, end, 0, thread, event.correlation, name});
      case KinetoEvent::Kind::kRange:
        ++counts->ranges;
        return ranges_.Add({start, end, kNvtxPushPopRange, thread, name, counts->ranges});
    }
  }

  StringTable strings_;
  RowInserter kernels_, copies_, memsets_, calls_, ranges_, gpus_;
  std::map<int64_t, bool> known_gpus_;
};

void CreateTables(Database& database) {
  for (const Table& table : NsysTables()) database.Execute(CreateTableSql(table));
  for (const EnumTable& table : NsysEnums()) {
    database.Execute(
        fmt::format("CREATE TABLE {} (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT)", table.name));
    for (const EnumValue& value : table.values) {
      Statement insert(database, fmt::format("INSERT INTO {} VALUES (?, ?, ?)", table.name));
      insert.BindInteger(1, value.id);
      insert.BindText(2, value.name);
      insert.BindText(3, value.label);
      insert.Run();
    }
  }
}

ImportCounts WriteExport(const std::vector<KinetoTrace>& traces, const std::string& path,
                         const std::string& name, const std::atomic<bool>* cancelled) {
  int64_t time_zero = INT64_MAX;
  for (const KinetoTrace& trace : traces) {
    for (const KinetoEvent& event : trace.events) time_zero = std::min(time_zero, event.start_ns);
  }
  ImportCounts counts;
  Database database(path, OpenMode::kCreate, name);
  database.Execute("PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF; BEGIN");
  CreateTables(database);
  {
    ExportWriter writer(database);
    int file = 0;
    for (const KinetoTrace& trace : traces) writer.Add(trace, ++file, time_zero, cancelled, &counts);
    writer.Flush();
  }
  Statement meta(database, "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PRODUCT_NAME', ?)");
  meta.BindText(1, "Lanescope import of Kineto");
  meta.Run();
  database.Execute("COMMIT");
  return counts;
}

}  // namespace

ImportCounts ImportKineto(const std::vector<std::string>& files, const std::string& out,
                          const std::atomic<bool>* cancelled) {
  OutputFile file(out, Existing::kRefuse);
  std::vector<KinetoTrace> traces;
  for (const std::string& each : files) traces.push_back(ReadKineto(each, cancelled));
  const ImportCounts counts = WriteExport(traces, file.temporary_path(), out, cancelled);
  file.Commit();
  return counts;
}

}  // namespace lanescope
