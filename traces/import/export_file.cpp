// SPDX-License-Identifier: Apache-2.0
#include "traces/import/export_file.h"

#include <algorithm>

#include "traces/store/schema.h"

namespace lanescope::traces {
namespace {

// Beyond these, ids of two spans of a worker are not told apart.
constexpr int64_t kMostCorrelations = int64_t{1} << 48;

}  // namespace

std::map<int64_t, int64_t> ImportNumbers::ChangedThreads() {
  std::map<int64_t, int64_t> changed;
  for (const auto& [pid, threads] : threads_) {
    for (const auto& [number, fitted] : threads.all()) {
      if (number != fitted) changed.emplace(GlobalPid(pid) | fitted, number);
    }
  }
  return changed;
}

ImportFile::ImportFile(const ImportTrace& of, ImportNumbers* of_worker, int64_t zero, int64_t correlations,
                       StringTable* strings)
    : trace(of),
      numbers(*of_worker),
      time_zero(zero),
      correlations_before_(correlations < kMostCorrelations ? correlations : 0) {
  names.reserve(trace.names.size());
  for (const std::string& name : trace.names) names.push_back(strings->Intern(name));
  int64_t annotated_pid = 0;  // without calls what threads say of themselves tells whose kernels these are
  trace.events.ForEach([&](const ImportEvent& event) {
    if (event.correlation < kMostCorrelations)
      last_correlation_ = std::max(last_correlation_, event.correlation);
    if (event.kind == ImportEvent::Kind::kRange && annotated_pid == 0) annotated_pid = event.pid;
    if (event.kind != ImportEvent::Kind::kApiCall) return;
    if (some_pid_ == 0) some_pid_ = event.pid;
    if (event.pid != some_pid_) process_of_.emplace(event.correlation, event.pid);
  });
  if (some_pid_ == 0) some_pid_ = annotated_pid;
}

int64_t ImportFile::LaunchedBy(int64_t correlation) const {
  const auto launched = process_of_.find(correlation);
  return numbers.GlobalPid(launched == process_of_.end() ? some_pid_ : launched->second);
}

void ImportDevices::BeginWorker() {
  gpus_of_worker_.clear();
  hosts_of_worker_.clear();
  streams_of_worker_.clear();
}

int64_t ImportDevices::GpuOf(int64_t ordinal) {
  const auto [entry, is_new] = gpus_of_worker_.try_emplace(ordinal, ordinal);
  const bool fits = ordinal >= 0 && ordinal <= INT32_MAX;
  if (is_new && !(fits && known_.insert(ordinal).second)) {
    while (!known_.insert(next_gpu_).second) ++next_gpu_;
    entry->second = next_gpu_;
  }
  return entry->second;
}

int64_t ImportDevices::HostOf(const std::string& name) {
  constexpr int64_t kFirstHost = 4096;
  const auto [entry, is_new] = hosts_of_worker_.try_emplace(name, kFirstHost);
  while (is_new && !known_.insert(entry->second).second) ++entry->second;
  return entry->second;
}

int64_t ImportDevices::StreamOf(int64_t device, int64_t stream) {
  constexpr int64_t kFirst = 1000;
  return streams_of_worker_.try_emplace(device, INT32_MAX, kFirst).first->second.Of(stream);
}

void NeedImportedTable(Database& database, const Table& table) {
  if (!database.HasTable(table.sql_name())) database.Execute(CreateTableSql(table));
}

}  // namespace lanescope::traces
