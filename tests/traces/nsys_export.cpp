// SPDX-License-Identifier: Apache-2.0
#include "tests/traces/nsys_export.h"

#include <fmt/core.h>

#include <algorithm>

namespace lanescope::traces {
namespace {

std::vector<std::string> With(std::vector<std::string> columns, std::initializer_list<std::string> more) {
  columns.insert(columns.end(), more);
  return columns;
}

std::string N(int64_t value) { return std::to_string(value); }

}  // namespace

std::vector<ExportVersion> ExportVersions() {
  const std::vector<std::string> first = {"start",    "end",           "deviceId", "contextId",
                                          "streamId", "correlationId", "globalPid"};
  const std::vector<std::string> green = {"start",          "end",      "deviceId",      "contextId",
                                          "greenContextId", "streamId", "correlationId", "globalPid"};
  ExportVersion old{"before_2021",
                    With(first, {"demangledName", "shortName", "launchType", "gridX"}),
                    With(first, {"bytes", "copyKind", "srcKind", "dstKind"}),
                    With(first, {"value", "bytes"}),
                    {"start", "end", "eventClass", "globalTid", "correlationId", "nameId", "returnValue"},
                    {"start", "end", "eventType", "rangeId", "text", "globalTid"}};
  old.enums = old.gpu_table = old.device_map = old.thread_names = old.copy_ends = false;
  old.old_gpu_table = true;
  ExportVersion v3_4{
      "3.4",
      With(first, {"demangledName", "shortName", "mangledName", "launchType", "gridX", "graphNodeId"}),
      With(first, {"bytes", "copyKind", "deprecatedSrcId", "srcKind", "dstKind", "srcDeviceId",
                   "srcContextId", "dstDeviceId", "dstContextId", "graphNodeId"}),
      With(first, {"value", "bytes", "graphNodeId", "memKind"}),
      {"start", "end", "eventClass", "globalTid", "correlationId", "nameId", "returnValue", "callchainId"},
      {"start", "end", "eventType", "rangeId", "category", "color", "text", "globalTid", "endGlobalTid",
       "textId", "domainId"}};
  ExportVersion v3_17 = v3_4;
  v3_17.name = "3.17";
  v3_17.kernel = With(green, {"demangledName", "shortName", "mangledName", "launchType", "gridX",
                              "graphNodeId", "sharedMemoryLimitConfig"});
  v3_17.memcpy = With(
      green, {"bytes", "copyKind", "deprecatedSrcId", "srcKind", "dstKind", "srcDeviceId", "srcContextId",
              "dstDeviceId", "dstContextId", "migrationCause", "graphNodeId", "virtualAddress", "copyCount"});
  ExportVersion v3_24 = v3_17;
  v3_24.name = "3.24";
  v3_24.kernel = With(v3_17.kernel, {"qmdBulkReleaseDone", "graphId", "clusterX"});
  ExportVersion v3_25 = v3_24;
  v3_25.name = "3.25";
  v3_25.kernel = With(v3_24.kernel, {"tensorSizeMinusOneElements"});
  v3_25.device_map = v3_25.gpu_table = false;
  ExportVersion v3_28 = v3_25;
  v3_28.name = "3.28";
  v3_28.device_map = v3_28.gpu_table = true;
  // Columns in another order, and one that nobody knows yet.
  std::reverse(v3_28.kernel.begin(), v3_28.kernel.end());
  v3_28.kernel.push_back("columnOfTheFuture");
  v3_28.nvtx.push_back("eventId");
  ExportVersion bare{
      "only_what_is_needed",
      {"start", "end", "deviceId", "streamId", "correlationId", "globalPid", "shortName"},
      {"start", "end", "deviceId", "correlationId", "globalPid", "bytes", "copyKind", "srcKind", "dstKind"},
      {},
      {"start", "end", "globalTid", "correlationId"},
      {"start", "end", "eventType", "text", "globalTid"}};
  bare.enums = bare.gpu_table = bare.device_map = bare.thread_names = bare.copy_ends = false;
  return {old, v3_4, v3_17, v3_24, v3_25, v3_28, bare};
}

NsysExport::NsysExport(const std::string& path, const ExportVersion& version)
    : database_(path, OpenMode::kCreate), version_(version) {
  database_.Execute(
      "PRAGMA synchronous=OFF; CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT)");
  CreateTable("CUPTI_ACTIVITY_KIND_KERNEL", version.kernel);
  CreateTable("CUPTI_ACTIVITY_KIND_MEMCPY", version.memcpy);
  CreateTable("CUPTI_ACTIVITY_KIND_MEMSET", version.memset);
  CreateTable("CUPTI_ACTIVITY_KIND_RUNTIME", version.runtime);
  CreateTable("NVTX_EVENTS", version.nvtx);
  if (version.enums) {
    database_.Execute(
        "CREATE TABLE ENUM_CUDA_MEMCPY_OPER (id INTEGER, name TEXT, label TEXT);"
        "INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES (1, 'CUDA_MEMCPY_KIND_HTOD', 'Host-to-Device');"
        "CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);"
        "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '" +
        version.name + "')");
  }
  if (version.gpu_table) {
    database_.Execute(
        "CREATE TABLE TARGET_INFO_GPU (vmId INTEGER, id INTEGER, name TEXT, totalMemory INTEGER, "
        "memoryBandwidth "
        "INTEGER);"
        "INSERT INTO TARGET_INFO_GPU VALUES (1, 0, 'Card', 1000, 2000), (1, 1, 'Card', 1000, 2000)");
  }
  if (version.old_gpu_table) {
    database_.Execute(
        "CREATE TABLE TARGET_INFO_CUDA_GPU (deviceId INTEGER, name TEXT, globalMemorySize INTEGER);"
        "INSERT INTO TARGET_INFO_CUDA_GPU VALUES (0, 'Card', 1000), (1, 'Card', 1000)");
  }
  if (version.device_map) {
    database_.Execute(
        "CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL);"
        "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (0, 0, 100), (1, 1, 100), (1, 0, 200), (0, 1, 200)");
  }
}

void NsysExport::CreateTable(const std::string& table, const std::vector<std::string>& columns) {
  if (columns.empty()) return;
  std::string list;
  for (const std::string& column : columns) {
    list +=
        fmt::format("{}\"{}\" {}", list.empty() ? "" : ", ", column, column == "text" ? "TEXT" : "INTEGER");
  }
  database_.Execute(fmt::format("CREATE TABLE {} ({})", table, list));
}

void NsysExport::Insert(const std::string& table, const std::vector<std::string>& columns, const Row& row) {
  if (columns.empty()) return;
  std::string values;
  for (const std::string& column : columns) {
    const auto given = row.find(column);
    // Unknown values of an export are NULL.
    values += fmt::format("{}{}", values.empty() ? "" : ", ", given == row.end() ? "NULL" : given->second);
  }
  database_.Execute(fmt::format("INSERT INTO {} VALUES ({})", table, values));
}

std::string NsysExport::Text(const std::string& text) {
  database_.Execute(fmt::format("INSERT INTO StringIds VALUES ({}, '{}')", ++texts_, text));
  return N(texts_);
}

void WriteTwoProcesses(const std::string& path, const ExportVersion& version) {
  NsysExport out(path, version);
  const std::string gemm = out.Text("gemm"), gemm_full = out.Text("void gemm<float>(float*)");
  const std::string nccl = out.Text("ncclDevKernel_AllReduce"), launch = out.Text("cudaLaunchKernel_v7000");
  const std::string forward = out.Text("forward");
  const std::string second = version.device_map ? "0" : "1";  // what process 200 calls GPU 1
  const std::string first_of_second = version.device_map ? "1" : "0";
  const auto kernel = [&](int64_t pid, const std::string& device, int start, int end, int correlation,
                          const std::string& name, const std::string& full) {
    out.Kernel({{"start", N(start)},
                {"end", N(end)},
                {"deviceId", device},
                {"streamId", "7"},
                {"globalPid", N(pid)},
                {"correlationId", N(correlation)},
                {"shortName", name},
                {"demangledName", full}});
  };
  kernel(kPid1, "0", 1000, 2000, 1, gemm, gemm_full);
  kernel(kPid1, "0", 1800, 2600, 2, nccl, nccl);
  kernel(kPid2, second, 1200, 1700, 1, gemm, gemm_full);
  kernel(kPid2, second, 1700, 2600, 2, nccl, nccl);
  const auto copy = [&](int64_t pid, const std::string& device, int start, int end, int correlation,
                        int bytes, int kind, int src_kind, int dst_kind, NsysExport::Row more) {
    more.insert({{"start", N(start)},
                 {"end", N(end)},
                 {"deviceId", device},
                 {"streamId", "8"},
                 {"globalPid", N(pid)},
                 {"correlationId", N(correlation)},
                 {"bytes", N(bytes)},
                 {"copyKind", N(kind)},
                 {"srcKind", N(src_kind)},
                 {"dstKind", N(dst_kind)}});
    out.Memcpy(more);
  };
  copy(kPid1, "0", 500, 900, 3, 4000, 1, 1, 2, {});
  copy(kPid1, "0", 2700, 2800, 4, 100, 10, 1, 2, {});
  copy(kPid1, "0", 2800, 2900, 5, 50, 8, 2, 2, {});
  copy(kPid2, second, 2600, 2700, 3, 300, 10, 2, 2,
       {{"srcDeviceId", first_of_second}, {"dstDeviceId", second}});
  out.Memset({{"start", "2900"},
              {"end", "2950"},
              {"deviceId", "0"},
              {"globalPid", N(kPid1)},
              {"bytes", "8"},
              {"correlationId", "6"},
              {"value", "0"},
              {"streamId", "7"}});
  const auto call = [&](int64_t tid, int start, int correlation) {
    out.Call({{"start", N(start)},
              {"end", N(start + 10)},
              {"globalTid", N(tid)},
              {"nameId", launch},
              {"correlationId", N(correlation)},
              {"eventClass", "0"},
              {"returnValue", "0"}});
  };
  call(kPid1 + 101, 100, 1);
  call(kPid1 + 101, 200, 2);
  call(kPid1 + 101, 300, 3);
  call(kPid1 + 101, 500, 4);
  call(kPid2 + 201, 100, 1);
  call(kPid2 + 201, 200, 2);
  call(kPid2 + 201, 300, 3);
  const bool interned = std::find(version.nvtx.begin(), version.nvtx.end(), "textId") != version.nvtx.end();
  out.Range({{"start", "0"},
             {"end", "400"},
             {"eventType", "59"},
             {"globalTid", N(kPid1 + 101)},
             {"text", "'train'"}});
  NsysExport::Row inner = {
      {"start", "50"}, {"end", "150"}, {"eventType", "59"}, {"globalTid", N(kPid1 + 101)}};
  inner.insert(interned ? std::pair<std::string, std::string>("textId", forward)
                        : std::pair<std::string, std::string>("text", "'forward'"));
  out.Range(inner);
  out.Range({{"start", "450"},
             {"end", "550"},
             {"eventType", "60"},
             {"globalTid", N(kPid1 + 102)},
             {"text", "'epoch'"}});
  out.Range({{"start", "0"},
             {"end", "250"},
             {"eventType", "59"},
             {"globalTid", N(kPid2 + 201)},
             {"text", "'forward'"}});
}

}  // namespace lanescope::traces
