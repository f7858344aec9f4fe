// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

#include "core/base/error.h"
#include "traces/import/chakra_trace.h"
#include "traces/import/execution_trace.h"
#include "traces/import/gzip_stream.h"
#include "traces/import/importer.h"
#include "traces/import/kineto_events.h"
#include "traces/import/memory_snapshot.h"
#include "traces/import/nsys_trace.h"
#include "traces/import/nvprof_text.h"
#include "traces/import/nvprof_trace.h"
#include "traces/import/perfetto_trace.h"
#include "traces/import/rocpd_trace.h"
#include "traces/import/rocprof_trace.h"
#include "traces/import/run_metadata.h"
#include "traces/import/xplane_trace.h"
#include "traces/store/sqlite.h"

namespace lanescope::traces {
namespace {

// The first that knows a file reads it.
constexpr Importer kImporters[] = {
    {"rocprofv3", true, IsRocprof, ReadRocprof},
    {"execution trace", true, IsExecutionTrace, ReadExecutionTrace},
    {"JSON", true, IsJsonTrace, ReadKineto},
    {"Perfetto", true, IsPerfetto, ReadPerfetto},
    {"XPlane", true, IsXPlane, ReadXPlane},
    {"Chakra", true, IsChakra, ReadChakra},
    {"memory snapshot", false, IsMemorySnapshot, ReadMemorySnapshot},
    {"RunMetadata", false, IsRunMetadata, ReadRunMetadata},
    {"nvprof's print", false, IsNvprofText, ReadNvprofText},
    {"nvprof", false, IsNvprof, ReadNvprof},
    {"rocpd", true, IsRocpd, ReadRocpd},
    {"Nsight Systems", true, IsNsysExport, ReadNsysExport, true},
};

bool IsRegular(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

bool IsDatabase(const std::string& path) {
  try {
    Database(path, OpenMode::kReadOnly);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Whether its text, inflated, begins as a list or an object of JSON does.
bool BeginsAsJson(const ForeignFile& file) {
  if (!file.is_regular || IsDatabase(file.path)) return false;
  try {
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf", kSpace = " \t\r\n";
    const std::string head = InflatedHead(file.path);
    std::string_view text = head;
    if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    text.remove_prefix(std::min(text.size(), text.find_first_not_of(kSpace)));
    if (text.empty() || (text.front() != '{' && text.front() != '[')) return false;
    text.remove_prefix(1);
    text.remove_prefix(std::min(text.size(), text.find_first_not_of(kSpace)));
    return !text.empty() && (text.front() == '"' || text.front() == '{');
  } catch (const Error&) {
    return false;
  }
}

const Importer* ImporterOf(const ForeignFile& file) {
  for (const Importer& importer : kImporters) {
    if (importer.knows(file)) return &importer;
  }
  return nullptr;
}

}  // namespace

ForeignFile::ForeignFile(const std::string& path_of_file)
    : ForeignFile(path_of_file, std::filesystem::path(path_of_file).filename().string()) {}

ForeignFile::ForeignFile(const std::string& path_of_file, std::string name_of_file)
    : path(path_of_file), name(std::move(name_of_file)), is_regular(IsRegular(path_of_file)) {}

std::string ForeignFile::Head() const {
  constexpr std::streamsize kLookedAt = 4096;
  if (!is_regular) return "";
  std::string head(kLookedAt, 0);
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), kLookedAt);
  head.resize(static_cast<size_t>(file.gcount()));
  return head;
}

const Importer* FindImporter(const std::string& path) {
  const ForeignFile file(path);
  const Importer* importer = ImporterOf(file);
  if (importer != nullptr || !BeginsAsJson(file)) return importer;
  return ImporterOf(ForeignFile(path, file.name + ".json"));
}

void RefuseDamaged(const std::string& path) {
  std::error_code error;
  if (!IsRegular(path)) return;
  if (std::filesystem::file_size(path, error) == 0 && !error)
    Throw(Code::kDataLoss, "{} is damaged: it is empty", path);
  Database(path, OpenMode::kReadOnly).QueryInteger("SELECT count(*) FROM sqlite_master");
}

const Importer* FindImporterByName(const std::string& path) { return ImporterOf(ForeignFile(path)); }

std::string_view FormatOf(const std::string& path) {
  const Importer* importer = FindImporter(path);
  return importer == nullptr || importer->is_trace ? std::string_view() : importer->format;
}

}  // namespace lanescope::traces
