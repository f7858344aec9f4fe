#include "traces/import/import.h"

#include <fmt/core.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/output_file.h"
#include "traces/import/chakra_trace.h"
#include "traces/import/export_descriptions.h"
#include "traces/import/export_file.h"
#include "traces/import/export_writer.h"
#include "traces/import/file_clocks.h"
#include "traces/import/kineto_events.h"
#include "traces/import/nvprof_text.h"
#include "traces/import/nvprof_trace.h"
#include "traces/import/run_metadata.h"
#include "traces/import/xplane_trace.h"
#include "traces/store/schema.h"

namespace lanescope::traces {
namespace {

constexpr std::streamsize kLookedAt = 4096;
constexpr double kReading = 0.8;  // of the time

void CreateTables(Database& database) {
  for (const Table* table : NsysTables()) database.Execute(CreateTableSql(*table));
  database.Execute(CreateEnumsSql());
}

ImportCounts WriteExport(const std::vector<ImportTrace>& traces, const std::string& path,
                         const std::string& name, const std::atomic<bool>* cancelled) {
  int64_t time_zero = INT64_MAX;
  for (const ImportTrace& trace : traces) {
    const int64_t ahead = trace.clock_ahead_ns;
    trace.events.ForEach(
        [&](const ImportEvent& event) { time_zero = std::min(time_zero, event.start_ns - ahead); });
    trace.memory.ForEach(
        [&](const ImportMemory& memory) { time_zero = std::min(time_zero, memory.time_ns - ahead); });
  }
  ImportCounts counts;
  Database database(path, OpenMode::kCreate, name);
  database.Execute("PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF; BEGIN");
  CreateTables(database);
  {
    ExportWriter writer(database);
    StringTable strings(database);
    ImportDevices devices;
    int number = 0;
    for (const ImportTrace& trace : traces) {
      ++number;
      const ImportFile file(trace, number, time_zero + trace.clock_ahead_ns, &strings);
      devices.BeginFile();
      writer.Add(file, &devices, cancelled, &counts);
      DescribeFile(database, file, &devices, traces.size() == 1, &counts);
    }
    writer.Flush();
  }
  constexpr const auto& to = tables::kExportMetaData;
  const std::string product = fmt::format("Lanescope import of {}", traces.front().format);
  InsertRow(database, to, {{to.name, "EXPORT_PRODUCT_NAME"}, {to.value, product}});
  database.Execute("COMMIT");
  return counts;
}

ImportTrace ReadForeign(const std::string& path, const std::atomic<bool>* cancelled,
                        const ImportProgress& progress) {
  switch (FormatOf(path)) {
    case ImportFormat::kNvprof:
      return ReadNvprof(path, cancelled);
    case ImportFormat::kNvprofText:
      return ReadNvprofText(ReadFile(path), path, cancelled);
    case ImportFormat::kXPlane:
      return ReadXPlane(ReadFile(path), path, cancelled);
    case ImportFormat::kChakra:
      return ReadChakra(ReadFile(path), path, cancelled);
    case ImportFormat::kRunMetadata:
      return ReadRunMetadata(ReadFile(path), path, cancelled);
    case ImportFormat::kJson:
    case ImportFormat::kNone:
      break;
  }
  return ReadKineto(path, cancelled, progress);  // says what is wrong with a file that is none of these
}

// A rank counted twice would look like two that do the same.
void RefuseTwice(const std::vector<std::string>& files, const std::vector<ImportTrace>& traces) {
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

// Not for databases: closing a file gives up the locks that connections of this process hold on it.
std::string HeadOf(const std::string& path) {
  std::string head(kLookedAt, 0);
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), kLookedAt);
  head.resize(static_cast<size_t>(file.gcount()));
  return head;
}

bool IsRunMetadata(const std::string& path) {
  std::error_code error;
  const std::string head = HeadOf(path);
  const auto whole = std::filesystem::file_size(path, error);
  return !error && LooksLikeRunMetadata(head, whole);
}

}  // namespace

ImportFormat FormatOf(const std::string& path) {
  std::error_code error;
  const std::string name = std::filesystem::path(path).filename().string();
  if (name.ends_with(".json") || name.ends_with(".json.gz")) return ImportFormat::kJson;
  if (name.ends_with(".xplane.pb")) return ImportFormat::kXPlane;
  if (name.ends_with(".et")) return ImportFormat::kChakra;
  if (!std::filesystem::is_regular_file(path, error)) return ImportFormat::kNone;
  // Others of these are graphs.
  if (name.ends_with(".pb") || name.ends_with(".run_metadata"))
    return IsRunMetadata(path) ? ImportFormat::kRunMetadata : ImportFormat::kNone;
  if (name.ends_with(".csv"))
    return LooksLikeNvprofText(HeadOf(path)) ? ImportFormat::kNvprofText : ImportFormat::kNone;
  return IsNvprof(path) ? ImportFormat::kNvprof : ImportFormat::kNone;
}

ImportCounts ImportTraces(const std::vector<std::string>& files, const std::string& out,
                          const std::atomic<bool>* cancelled, const ImportProgress& progress) {
  OutputFile file(out, Existing::kRefuse);
  std::vector<ImportTrace> traces;
  for (const std::string& each : files) {
    const double before = static_cast<double>(traces.size());
    traces.push_back(ReadForeign(each, cancelled, [&](double fraction) {
      if (progress) progress(kReading * (before + fraction) / static_cast<double>(files.size()));
    }));
  }
  if (progress) progress(kReading);
  RefuseTwice(files, traces);
  FindClocks(&traces);
  const ImportCounts counts = WriteExport(traces, file.temporary_path(), out, cancelled);
  file.Commit();
  return counts;
}

}  // namespace lanescope::traces
