#include "traces/import/export_file.h"

#include "traces/store/schema.h"

namespace lanescope::traces {

ImportFile::ImportFile(const ImportTrace& of, int file_number, int64_t zero, StringTable* strings)
    : trace(of), number(file_number), time_zero(zero) {
  names.reserve(trace.names.size());
  for (const std::string& name : trace.names) names.push_back(strings->Intern(name));
  int64_t annotated_pid = 0;  // without calls what threads say of themselves tells whose kernels these are
  trace.events.ForEach([&](const ImportEvent& event) {
    if (event.kind == ImportEvent::Kind::kRange && annotated_pid == 0) annotated_pid = event.pid;
    if (event.kind != ImportEvent::Kind::kApiCall) return;
    if (some_pid_ == 0) some_pid_ = event.pid;
    if (event.pid != some_pid_) process_of_.emplace(event.correlation, event.pid);
  });
  if (some_pid_ == 0) some_pid_ = annotated_pid;
}

int64_t ImportFile::LaunchedBy(int64_t correlation) const {
  const auto launched = process_of_.find(correlation);
  return GlobalPid(launched == process_of_.end() ? some_pid_ : launched->second);
}

void ImportDevices::BeginFile() {
  gpus_of_file_.clear();
  hosts_of_file_.clear();
}

int64_t ImportDevices::GpuOf(int64_t ordinal) {
  const auto [entry, is_new] = gpus_of_file_.try_emplace(ordinal, ordinal);
  if (is_new && !known_.insert(ordinal).second) {
    while (!known_.insert(next_gpu_).second) ++next_gpu_;
    entry->second = next_gpu_;
  }
  return entry->second;
}

int64_t ImportDevices::HostOf(int64_t index) {
  constexpr int64_t kFirstHost = 4096;
  const auto [entry, is_new] = hosts_of_file_.try_emplace(index, kFirstHost);
  while (is_new && !known_.insert(entry->second).second) ++entry->second;
  return entry->second;
}

void NeedImportedTable(Database& database, const Table& table) {
  if (!database.HasTable(table.sql_name())) database.Execute(CreateTableSql(table));
}

}  // namespace lanescope::traces
