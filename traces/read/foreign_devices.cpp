// SPDX-License-Identifier: Apache-2.0
#include "traces/read/foreign_devices.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "traces/read/ranks.h"
#include "traces/store/export_tables.h"
#include "traces/store/lanescope_tables.h"
#include "traces/store/nsys_tables.h"
#include "traces/store/table_reader.h"

namespace lanescope::traces {
namespace {

// False: the table is not there, or its rows do not say which GPU they mean.
template <typename Gpus>
bool ReadDescriptions(Database& database, const Gpus& from, std::map<int, TraceDevice>* devices) {
  if (!database.HasTable(from.sql_name()) || !database.HasColumn(from.sql_name(), from[from.id].name))
    return false;
  ReadRows(database, from, {from.id, from.name, from.memory_bytes, from.memory_bandwidth},
           [&](const auto& row) {
             TraceDevice& device = (*devices)[row[from.id]];
             device.model = row[from.name];
             device.memory_limit = row[from.memory_bytes];
             device.memory_bandwidth = row[from.memory_bandwidth];
           });
  return true;
}

template <typename Activities>
void FindDevices(Database& database, const Activities& from, DeviceNumbers& numbers,
                 std::map<int, TraceDevice>* devices) {
  // Faster than GROUP BY, which would sort the table.
  std::optional<std::pair<int64_t, int>> last;
  ReadRows(database, from, {from.device, from.global_pid}, [&](const auto& row) {
    const std::pair key(row[from.global_pid].value_or(0), row[from.device]);
    if (key == last) return;
    (*devices)[numbers.Of(key.first, key.second)];
    last = key;
  });
}

}  // namespace

DeviceNumbers::DeviceNumbers(Database& database) {
  using tables::kCudaDevice;
  ReadRows(database, kCudaDevice, {kCudaDevice.gpu, kCudaDevice.cuda, kCudaDevice.pid}, [&](const auto& row) {
    const std::optional<int64_t> pid = row[kCudaDevice.pid];
    if (row.IsNull(kCudaDevice.gpu) || row.IsNull(kCudaDevice.cuda) || !pid) return;
    gpus_.emplace(std::pair(*pid, row[kCudaDevice.cuda]), row[kCudaDevice.gpu]);
  });
}

namespace {

// GPUs of several ranks are called after those.
void NameByRank(Database& database, std::map<int, TraceDevice>* devices) {
  const std::vector<TraceRank> ranks = ReadRanks(database);
  using tables::kGpu;
  ReadRows(database, kGpu, {kGpu.id, kGpu.vm, kGpu.cuda_device}, [&](const auto& row) {
    const auto file = static_cast<int64_t>(static_cast<uint64_t>(row[kGpu.vm].value_or(0)) >> 48);
    const auto rank = std::ranges::find(ranks, file, &TraceRank::file);
    const auto device = devices->find(row[kGpu.id]);
    if (rank == ranks.end() || device == devices->end()) return;
    device->second.host = rank->host;
    if (ranks.size() < 2) return;
    device->second.owner = RankName(*rank);
    device->second.label = fmt::format("{} GPU:{}", device->second.owner,
                                       row[kGpu.cuda_device].value_or(int64_t{device->first}));
  });
}

// Ranks of the processes of one export, where each GPU has contexts of one rank of MPI alone.
void NameByContexts(Database& database, std::map<int, TraceDevice>* devices) {
  const std::map<int64_t, int> ranks = ReadMpiRanks(database);
  if (ranks.size() < 2) return;
  DeviceNumbers numbers(database);
  std::map<int, std::set<int>> ranks_of_gpu;
  using tables::kCudaContext;
  ReadRows(database, kCudaContext,
           {kCudaContext.hw, kCudaContext.vm, kCudaContext.process, kCudaContext.device},
           [&](const auto& row) {
             const int64_t global_pid = ((row[kCudaContext.hw].value_or(0) & 0xff) << 56) |
                                        ((row[kCudaContext.vm].value_or(0) & 0xff) << 48) |
                                        ((row[kCudaContext.process].value_or(0) & 0xffffff) << 24);
             const auto rank = ranks.find(global_pid);
             if (rank != ranks.end())
               ranks_of_gpu[numbers.Of(global_pid, row[kCudaContext.device])].insert(rank->second);
           });
  for (const auto& [gpu, of_gpu] : ranks_of_gpu) {
    const auto device = devices->find(gpu);
    if (of_gpu.size() != 1 || device == devices->end()) continue;
    device->second.owner = fmt::format("rank {}", *of_gpu.begin());
    device->second.label = fmt::format("{} GPU:{}", device->second.owner, gpu);
  }
}

}  // namespace

std::vector<TraceDevice> ReadForeignDevices(Database& database, bool from_activities) {
  std::map<int, TraceDevice> devices;
  if (!ReadDescriptions(database, tables::kGpu, &devices))
    ReadDescriptions(database, tables::kOldGpu, &devices);
  if (from_activities) {
    DeviceNumbers numbers(database);
    FindDevices(database, tables::kKernel, numbers, &devices);
    FindDevices(database, tables::kGraphTrace, numbers, &devices);
    FindDevices(database, tables::kMemcpy, numbers, &devices);
    FindDevices(database, tables::kMemset, numbers, &devices);
  }
  for (auto& [id, device] : devices) {
    device.id = id;
    device.kind = "cuda";
    device.name = fmt::format("/job:localhost/replica:0/task:0/device:GPU:{}", id);
  }
  NameByRank(database, &devices);
  NameByContexts(database, &devices);
  // Devices of an import that are no GPU.
  using tables::kDevice;
  ReadRows(database, kDevice, {kDevice.id, kDevice.name, kDevice.kind}, [&](const auto& row) {
    TraceDevice& device = devices[row[kDevice.id]];
    device.id = row[kDevice.id];
    device.name = row[kDevice.name];
    device.kind = row[kDevice.kind];
    device.is_host = true;
  });
  std::vector<TraceDevice> result;
  for (auto& [id, device] : devices) result.push_back(std::move(device));
  return result;
}

}  // namespace lanescope::traces
