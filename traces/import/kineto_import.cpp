#include "traces/import/kineto_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "core/base/error.h"
#include "core/base/output_file.h"
#include "traces/import/kineto_events.h"
#include "traces/store/lanescope_tables.h"
#include "traces/store/nsys_tables.h"
#include "traces/store/row_inserter.h"
#include "traces/store/schema.h"
#include "traces/store/string_table.h"

namespace lanescope::traces {
namespace {

constexpr int kNvtxPushPopRange = 59;

int64_t GlobalPidOfFile(int file, int64_t pid) { return (int64_t{file} << 48) | ((pid & 0xffffff) << 24); }

class ExportWriter {
 public:
  explicit ExportWriter(Database& database)
      : database_(database),
        strings_(database),
        kernels_(database, tables::kKernel),
        copies_(database, tables::kMemcpy),
        memsets_(database, tables::kMemset),
        calls_(database, tables::kApiCall),
        ranges_(database, tables::kNvtxEvent),
        synchronizations_(database, tables::kSynchronization),
        events_(database, tables::kCudaEvent),
        threads_(database, tables::kThreadNames),
        gpus_(database, tables::kGpu) {}

  // `whose`: what tells the file's GPUs from those of others; empty: there are no others.
  void Add(const KinetoTrace& trace, int file, const std::string& whose, int64_t time_zero,
           const std::atomic<bool>* cancelled, ImportCounts* counts) {
    gpus_of_file_.clear();
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
    AddMemory(trace, time_zero, counts);
    for (const auto& [ordinal, gpu] : gpus_of_file_) {
      const auto described = std::ranges::find(trace.devices, ordinal, &KinetoDevice::id);
      const KinetoDevice device = described == trace.devices.end() ? KinetoDevice() : *described;
      const bool both = !device.name.empty() && !whose.empty();
      const std::string name = device.name + (both ? ", " : "") + whose;
      constexpr const auto& to = tables::kGpu;
      gpus_.Add({{to.vm, int64_t{file} << 48},
                 {to.id, gpu},
                 {to.name, name},
                 {to.memory_bytes, device.memory},
                 {to.processors, device.multiprocessors}});
      gpus_.Flush();
    }
    constexpr const auto& to = tables::kThreadNames;
    for (const KinetoThread& thread : trace.threads) {
      threads_.Add({{to.name, ids[static_cast<size_t>(thread.name)]},
                    {to.global_tid, GlobalPidOfFile(file, thread.pid) | (thread.tid & 0xffffff)}});
    }
    counts->skipped += trace.skipped;
    for (const auto& [category, count] : trace.left_out) counts->left_out[category] += count;
  }

  void Flush() {
    for (PendingRows* rows : std::initializer_list<PendingRows*>{
             &kernels_, &copies_, &memsets_, &calls_, &ranges_, &threads_, &synchronizations_, &events_}) {
      rows->Flush();
    }
  }

 private:
  // The number of a file's device among the GPUs of all files.
  int64_t GpuOf(int64_t ordinal) {
    const auto [entry, is_new] = gpus_of_file_.try_emplace(ordinal, ordinal);
    if (is_new && !known_gpus_.insert(ordinal).second) {
      while (!known_gpus_.insert(next_gpu_).second) ++next_gpu_;
      entry->second = next_gpu_;
    }
    return entry->second;
  }

  void AddEvent(const KinetoEvent& event, const KinetoTrace& trace, int64_t name, int file,
                int64_t launched_by, int64_t time_zero, ImportCounts* counts) {
    const int64_t start = event.start_ns - time_zero, end = event.end_ns - time_zero;
    const int64_t process = GlobalPidOfFile(file, launched_by);
    const int64_t thread = GlobalPidOfFile(file, event.pid) | (event.tid & 0xffffff);
    switch (event.kind) {
      case KinetoEvent::Kind::kKernel: {
        ++counts->kernels;
        constexpr const auto& to = tables::kKernel;
        return kernels_.Add({{to.start, start},
                             {to.end, end},
                             {to.device, GpuOf(event.device)},
                             {to.context, event.context},
                             {to.stream, event.stream},
                             {to.correlation, event.correlation},
                             {to.global_pid, process},
                             {to.full_name, name},
                             {to.short_name, name}});
      }
      case KinetoEvent::Kind::kCopy: {
        ++counts->copies;
        constexpr const auto& to = tables::kMemcpy;
        const CopyEnds ends = ParseCopyName(trace.names[static_cast<size_t>(event.name)]);
        return copies_.Add({{to.start, start},
                            {to.end, end},
                            {to.device, GpuOf(event.device)},
                            {to.context, event.context},
                            {to.stream, event.stream},
                            {to.correlation, event.correlation},
                            {to.global_pid, process},
                            {to.bytes, event.bytes},
                            {to.copy_kind, ends.kind},
                            {to.src_kind, ends.src_memory},
                            {to.dst_kind, ends.dst_memory}});
      }
      case KinetoEvent::Kind::kMemset: {
        ++counts->memsets;
        constexpr const auto& to = tables::kMemset;
        return memsets_.Add({{to.start, start},
                             {to.end, end},
                             {to.device, GpuOf(event.device)},
                             {to.context, event.context},
                             {to.stream, event.stream},
                             {to.correlation, event.correlation},
                             {to.global_pid, process},
                             {to.bytes, event.bytes}});
      }
      case KinetoEvent::Kind::kApiCall: {
        ++counts->api_calls;
        constexpr const auto& to = tables::kApiCall;
        return calls_.Add({{to.start, start},
                           {to.end, end},
                           {to.event_class, 0},
                           {to.global_tid, thread},
                           {to.correlation, event.correlation},
                           {to.name, name}});
      }
      case KinetoEvent::Kind::kRange: {
        ++counts->ranges;
        constexpr const auto& to = tables::kNvtxEvent;
        return ranges_.Add({{to.start, start},
                            {to.end, end},
                            {to.type, kNvtxPushPopRange},
                            {to.global_tid, thread},
                            {to.text_id, name},
                            {to.event, counts->ranges}});
      }
      case KinetoEvent::Kind::kSynchronization: {
        const int type = SynchronizationType(trace.names[static_cast<size_t>(event.name)]);
        return AddSynchronization(event, type, process, time_zero, ++counts->synchronizations);
      }
    }
  }

  // With the record of its event, where that is known; a number of ours joins them.
  void AddSynchronization(const KinetoEvent& event, int type, int64_t process, int64_t time_zero,
                          int64_t number) {
    constexpr const auto& to = tables::kSynchronization;
    synchronizations_.Add({{to.start, event.start_ns - time_zero},
                           {to.end, event.end_ns - time_zero},
                           {to.device, GpuOf(event.device)},
                           {to.context, event.context},
                           {to.stream, event.stream},
                           {to.correlation, event.correlation},
                           {to.global_pid, process},
                           {to.type, type},
                           {to.event, event.event},
                           {to.event_sync, number}});
    if (event.recorded_by < 0 || event.recorded_on < 0) return;
    constexpr const auto& record = tables::kCudaEvent;
    events_.Add({{record.device, GpuOf(event.device)},
                 {record.context, event.context},
                 {record.stream, event.recorded_on},
                 {record.correlation, event.recorded_by},
                 {record.global_pid, process},
                 {record.event, event.event},
                 {record.event_sync, number}});
  }

  void AddMemory(const KinetoTrace& trace, int64_t time_zero, ImportCounts* counts) {
    if (trace.memory.empty()) return;
    constexpr const auto& to = tables::kMemory;
    // Exports have no such table of their own.
    if (!database_.HasTable(to.sql_name())) database_.Execute(CreateTableSql(to));
    RowInserter<tables::Memory> rows(database_, to);
    for (const KinetoMemory& memory : trace.memory) {
      rows.Add({{to.run, 1},
                {to.device, GpuOf(memory.device)},
                {to.time, memory.time_ns - time_zero},
                {to.bytes, memory.bytes}});
      ++counts->memory;
    }
    rows.Flush();
  }

  Database& database_;
  StringTable strings_;
  RowInserter<tables::Kernel> kernels_;
  RowInserter<tables::Memcpy> copies_;
  RowInserter<tables::Memset> memsets_;
  RowInserter<tables::ApiCall> calls_;
  RowInserter<tables::NvtxEvent> ranges_;
  RowInserter<tables::Synchronization> synchronizations_;
  RowInserter<tables::CudaEvent> events_;
  RowInserter<tables::ThreadNames> threads_;
  RowInserter<tables::Gpu> gpus_;
  std::map<int64_t, int64_t> gpus_of_file_;  // by ordinal
  std::set<int64_t> known_gpus_;
  int64_t next_gpu_ = 0;
};

void CreateTables(Database& database) {
  for (const Table* table : NsysTables()) database.Execute(CreateTableSql(*table));
  database.Execute(CreateEnumsSql());
}

ImportCounts WriteExport(const std::vector<KinetoTrace>& traces, const std::string& path,
                         const std::string& name, const std::atomic<bool>* cancelled) {
  int64_t time_zero = INT64_MAX;
  for (const KinetoTrace& trace : traces) {
    for (const KinetoEvent& event : trace.events) time_zero = std::min(time_zero, event.start_ns);
    for (const KinetoMemory& memory : trace.memory) time_zero = std::min(time_zero, memory.time_ns);
  }
  ImportCounts counts;
  Database database(path, OpenMode::kCreate, name);
  database.Execute("PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF; BEGIN");
  CreateTables(database);
  {
    ExportWriter writer(database);
    int file = 0;
    for (const KinetoTrace& trace : traces) {
      ++file;
      const std::string whose = traces.size() == 1 ? ""
                                : trace.rank       ? fmt::format("rank {}", *trace.rank)
                                                   : fmt::format("file {}", file);
      writer.Add(trace, file, whose, time_zero, cancelled, &counts);
    }
    writer.Flush();
  }
  constexpr const auto& to = tables::kExportMetaData;
  InsertRow(database, to, {{to.name, "EXPORT_PRODUCT_NAME"}, {to.value, "Lanescope import of Kineto"}});
  database.Execute("COMMIT");
  return counts;
}

// A rank counted twice would look like two that do the same.
void RefuseTwice(const std::vector<std::string>& files, const std::vector<KinetoTrace>& traces) {
  std::map<std::string, std::string> by_file;
  std::map<int64_t, std::string> by_rank;
  for (size_t i = 0; i < files.size(); ++i) {
    std::error_code error;
    std::filesystem::path file = std::filesystem::canonical(files[i], error);
    if (!by_file.emplace(error ? files[i] : file.string(), files[i]).second)
      Throw(Code::kInvalidArgument, "{} is named twice; name every rank's file once", files[i]);
    if (!traces[i].rank) continue;
    const auto [other, is_new] = by_rank.emplace(*traces[i].rank, files[i]);
    if (!is_new) {
      Throw(Code::kInvalidArgument, "{} and {} are both of rank {}; import traces of different jobs apart",
            other->second, files[i], *traces[i].rank);
    }
  }
}

}  // namespace

ImportCounts ImportKineto(const std::vector<std::string>& files, const std::string& out,
                          const std::atomic<bool>* cancelled) {
  OutputFile file(out, Existing::kRefuse);
  std::vector<KinetoTrace> traces;
  for (const std::string& each : files) traces.push_back(ReadKineto(each, cancelled));
  RefuseTwice(files, traces);
  const ImportCounts counts = WriteExport(traces, file.temporary_path(), out, cancelled);
  file.Commit();
  return counts;
}

}  // namespace lanescope::traces
