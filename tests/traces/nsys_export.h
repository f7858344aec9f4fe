// SPDX-License-Identifier: Apache-2.0
// Small exports of Nsight Systems made by hand: the same two processes on two GPUs as different versions of
// the exporter would have written them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "traces/store/sqlite.h"

namespace lanescope::traces {

struct ExportVersion {
  std::string name;
  std::vector<std::string> kernel, memcpy, memset, runtime, nvtx;  // columns
  bool enums = true, gpu_table = true, old_gpu_table = false, device_map = true, thread_names = true;
  bool copy_ends = true;  // srcDeviceId and dstDeviceId
};

// Pre-2021 to schema 3.28.
std::vector<ExportVersion> ExportVersions();

class NsysExport {
 public:
  NsysExport(const std::string& path, const ExportVersion& version);

  using Row = std::map<std::string, std::string>;  // column -> SQL literal
  // Values of columns that the version does not have are left out; other columns hold `0`.
  void Kernel(const Row& row) { Insert("CUPTI_ACTIVITY_KIND_KERNEL", version_.kernel, row); }
  void Memcpy(const Row& row) { Insert("CUPTI_ACTIVITY_KIND_MEMCPY", version_.memcpy, row); }
  void Memset(const Row& row) { Insert("CUPTI_ACTIVITY_KIND_MEMSET", version_.memset, row); }
  void Call(const Row& row) { Insert("CUPTI_ACTIVITY_KIND_RUNTIME", version_.runtime, row); }
  void Range(const Row& row) { Insert("NVTX_EVENTS", version_.nvtx, row); }
  // Id of a text.
  std::string Text(const std::string& text);
  void Execute(const std::string& sql) { database_.Execute(sql); }

 private:
  void CreateTable(const std::string& table, const std::vector<std::string>& columns);
  void Insert(const std::string& table, const std::vector<std::string>& columns, const Row& row);

  Database database_;
  ExportVersion version_;
  int texts_ = 0;
};

inline constexpr int64_t kPid1 = (int64_t{1} << 48) | (int64_t{100} << 24);
inline constexpr int64_t kPid2 = (int64_t{1} << 48) | (int64_t{200} << 24);

// Two processes that call their GPU 0 each (1 where the version has no TARGET_INFO_CUDA_DEVICE), correlation
// ids of both counting from 1. Times in ns:
//   GPU 0  gemm 1000-2000, AllReduce 1800-2600 (NCCL), copy in 500-900 (4000 bytes), pinned copy in labelled
//          peer to peer 2700-2800 (100), copy within the device 2800-2900 (50), memset 2900-2950
//   GPU 1  gemm 1200-1700, AllReduce 1700-2600, peer copy from GPU 0 2600-2700 (300)
// Launched by thread 101 of the first process at 100, 200, 300, 500 and (not recorded) and of thread 201 of
// the second at 100, 200, 300; NVTX: "train" 0-400 and "forward" 50-150 on 101, "epoch" 450-550 process-wide
// by 102, "forward" 0-250 on 201.
void WriteTwoProcesses(const std::string& path, const ExportVersion& version);

}  // namespace lanescope::traces
