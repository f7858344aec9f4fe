// SPDX-License-Identifier: Apache-2.0
#include "traces/import/import.h"

#include <fmt/core.h>

#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/output_file.h"
#include "traces/import/execution_trace.h"
#include "traces/import/export_descriptions.h"
#include "traces/import/export_file.h"
#include "traces/import/export_writer.h"
#include "traces/import/file_clocks.h"
#include "traces/import/graph_capture.h"
#include "traces/import/import_workers.h"
#include "traces/import/importer.h"
#include "traces/import/kineto_events.h"
#include "traces/store/saturating.h"
#include "traces/store/schema.h"

namespace lanescope::traces {
namespace {

constexpr double kReading = 0.8;  // of the time

void CreateTables(Database& database) {
  for (const Table* table : NsysTables()) database.Execute(CreateTableSql(*table));
  database.Execute(CreateEnumsSql());
}

// How much of the time before a span was not recorded.
int64_t LeftOutBefore(const std::vector<RecordedSpan>& spans, int64_t start_ns) {
  int64_t left_out = 0;
  for (const RecordedSpan& span : spans) {
    if (span.start_ns <= start_ns) left_out += span.unrecorded_ns;
  }
  return left_out;
}

void WriteExport(const std::vector<ImportTrace>& traces, const std::vector<ImportWorker>& workers,
                 const std::string& path, const std::string& name, const std::atomic<bool>* cancelled,
                 ImportCounts* counts) {
  const std::vector<RecordedSpan> spans = FindSpans(traces, workers);
  const int64_t time_zero = spans.empty() ? 0 : spans.front().start_ns;
  counts->spans = std::max<int64_t>(1, std::ssize(spans));
  for (const RecordedSpan& span : spans) counts->unrecorded_ns += span.unrecorded_ns;
  Database database(path, OpenMode::kCreate, name);
  database.Execute("PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF; BEGIN");
  CreateTables(database);
  {
    ExportWriter writer(database);
    StringTable strings(database);
    ImportDevices devices;
    int number = 0;
    for (const ImportWorker& worker : workers) {
      ImportNumbers numbers(++number);
      devices.BeginWorker();
      int64_t correlations = 0;
      for (const size_t each : worker) {
        const ImportTrace& trace = traces[each];
        const int64_t zero = time_zero + LeftOutBefore(spans, SpanOf(trace).start_ns);
        const int64_t zero_of_file = std::clamp(AddSaturating(zero, trace.clock_ahead_ns - trace.base_ns),
                                                -kMaxImportNs, kMaxImportNs);
        const ImportFile file(trace, &numbers, zero_of_file, correlations, &strings);
        writer.Add(file, &devices, cancelled, counts);
        DescribeFile(database, file, &devices, counts);
        correlations = std::max(correlations, file.last_correlation());
        if (each != worker.back()) continue;
        DescribeWorker(database, file, &devices, workers.size() == 1, &strings);
      }
    }
    writer.Flush();
  }
  constexpr const auto& to = tables::kExportMetaData;
  const std::string product = fmt::format("Lanescope import of {}", traces.front().format);
  InsertRow(database, to, {{to.name, "EXPORT_PRODUCT_NAME"}, {to.value, product}});
  if (counts->laid_out > 0) {
    const std::string files = fmt::format("{}", counts->laid_out);
    InsertRow(database, to, {{to.name, tables::kLaidOut}, {to.value, files}});
  }
  AddSpans(database, spans, time_zero);
  std::vector<std::string> notes = ImportNotes(*counts);
  for (const ImportTrace& trace : traces) notes.insert(notes.end(), trace.notes.begin(), trace.notes.end());
  AddNotes(database, notes);
  database.Execute("COMMIT");
}

// A file, and whether a folder was named for it: what else lies there is left out.
struct NamedFile {
  std::string path;
  bool in_folder = false;
};

void RefuseOther(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) throw NotATrace(Code::kNotFound, path + " is no file");
  if (FindImporter(path) != nullptr) return;
  RefuseDamaged(path);
  throw NotATrace(Code::kInvalidArgument, path + " is a database without the tables of a trace");
}

ImportTrace ReadForeign(const NamedFile& file, const std::atomic<bool>* cancelled,
                        const ImportProgress& progress) {
  const std::string& path = file.path;
  if (file.in_folder) RefuseOther(path);
  const Importer* importer = FindImporter(path);
  // Says what is wrong with a file that is none of these.
  return (importer == nullptr ? ReadKineto : importer->read)({path, cancelled, progress});
}

// A rank counted twice would look like two that do the same.
void RefuseTwice(const std::vector<std::string>& files, const std::vector<ImportTrace>& traces,
                 const std::vector<ImportWorker>& workers) {
  std::set<std::string> known;
  for (const std::string& path : files) {
    std::error_code error;
    std::filesystem::path file = std::filesystem::canonical(path, error);
    if (!known.insert(error ? path : file.string()).second)
      Throw(Code::kInvalidArgument, "{} is named twice; name every rank's file once", path);
  }
  std::map<int64_t, std::string> by_rank;
  for (const ImportWorker& worker : workers) {
    const std::optional<int64_t>& rank = traces[worker.front()].rank;
    if (!rank) continue;
    const std::string& file = files[worker.front()];
    const auto [other, is_new] = by_rank.emplace(*rank, file);
    if (!is_new) {
      Throw(Code::kInvalidArgument, "{} and {} are both of rank {}; import traces of different jobs apart",
            other->second, file, *rank);
    }
  }
}

std::vector<NamedFile> FilesOf(const std::vector<std::string>& paths) {
  std::vector<NamedFile> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) {
      files.push_back({path});
      continue;
    }
    for (const std::string& file : FilesToImport(path)) files.push_back({file, true});
  }
  return files;
}

// The worker of the rank that the capture names, or the only one.
ImportWorker& WorkerOf(const std::string& file, const ImportTrace& capture,
                       const std::vector<ImportTrace>& traces, std::vector<ImportWorker>* workers) {
  const auto of_rank = std::ranges::find_if(*workers, [&](const ImportWorker& worker) {
    return workers->size() == 1 || (capture.rank && traces[worker.front()].rank == capture.rank);
  });
  if (of_rank != workers->end()) return *of_rank;
  Throw(Code::kInvalidArgument,
        "{} is of {}, and of {} files to import none is; give the capture of each rank", file,
        capture.rank ? fmt::format("rank {}", *capture.rank) : "no rank", workers->size());
}

}  // namespace

ImportCounts ImportTraces(const std::vector<std::string>& paths, const std::string& out,
                          const std::atomic<bool>* cancelled, const ImportProgress& progress,
                          const std::vector<std::string>& captures) {
  OutputFile file(out, Existing::kRefuse);
  ImportCounts counts;
  std::vector<ImportTrace> traces;
  std::vector<std::string> files;
  std::optional<Error> refused;
  const std::vector<NamedFile> named = FilesOf(paths);
  for (size_t i = 0; i < named.size(); ++i) {
    const auto& [path, in_folder] = named[i];
    try {
      traces.push_back(ReadForeign(named[i], cancelled, [&](double fraction) {
        if (progress)
          progress(kReading * (static_cast<double>(i) + fraction) / static_cast<double>(named.size()));
      }));
      files.push_back(path);
    } catch (const Error& error) {
      const bool other =
          error.code() == Code::kInvalidArgument || dynamic_cast<const NotATrace*>(&error) != nullptr;
      if (!in_folder || !other) throw;
      if (!refused) refused = error;
      counts.other_files.push_back(std::filesystem::path(path).filename().string());
    }
  }
  if (traces.empty() && refused) throw *refused;
  JoinExecutionTraces(&traces, &files, &counts.other_files);
  if (progress) progress(kReading);
  std::vector<ImportWorker> workers = FindWorkers(traces);
  RefuseTwice(files, traces, workers);
  FindClocks(workers, &traces);
  for (const std::string& path : captures) {
    ImportTrace capture = ReadForeign({path}, cancelled, {});
    ImportWorker& worker = WorkerOf(path, capture, traces, &workers);
    KeepCapture(path, traces[worker.front()], &capture);
    worker.insert(worker.begin(), traces.size());
    traces.push_back(std::move(capture));
  }
  WriteExport(traces, workers, file.temporary_path(), out, cancelled, &counts);
  file.Commit();
  return counts;
}

}  // namespace lanescope::traces
