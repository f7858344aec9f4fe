#include "traces/foreign_devices.h"

#include <fmt/format.h>

#include "traces/table_scan.h"

namespace lanescope {
namespace {

// Exports of early 2021 and before say TARGET_INFO_CUDA_GPU, with other names of columns.
void ReadDescriptions(Database& database, std::map<int, TraceDevice>* devices) {
  if (database.HasTable("TARGET_INFO_GPU") && database.HasColumn("TARGET_INFO_GPU", "id")) {
    TableScan scan(database, "TARGET_INFO_GPU",
                   {{"id", true}, {"name"}, {"totalMemory"}, {"memoryBandwidth"}});
    while (scan.Next()) {
      TraceDevice& device = (*devices)[scan.Id(0)];
      device.model = scan.Text(1);
      device.memory_limit = scan.Size(2);
      device.memory_bandwidth = scan.Size(3);
    }
  } else if (database.HasTable("TARGET_INFO_CUDA_GPU") &&
             database.HasColumn("TARGET_INFO_CUDA_GPU", "deviceId")) {
    TableScan scan(database, "TARGET_INFO_CUDA_GPU",
                   {{"deviceId", true}, {"name"}, {"globalMemorySize"}, {"globalMemoryBandwidth"}});
    while (scan.Next()) {
      TraceDevice& device = (*devices)[scan.Id(0)];
      device.model = scan.Text(1);
      device.memory_limit = scan.Size(2);
      device.memory_bandwidth = scan.Size(3);
    }
  }
}

}  // namespace

DeviceNumbers::DeviceNumbers(Database& database) {
  constexpr std::string_view kTable = "TARGET_INFO_CUDA_DEVICE";
  if (!database.HasTable(kTable)) return;
  for (const char* column : {"gpuId", "cudaId", "pid"}) {
    if (!database.HasColumn(kTable, column)) return;
  }
  TableScan scan(database, kTable, {{"gpuId"}, {"cudaId"}, {"pid"}});
  while (scan.Next()) {
    if (scan.IsNull(0) || scan.IsNull(1) || scan.IsNull(2)) continue;
    gpus_.emplace(std::pair(scan.Integer(2), scan.Id(1)), scan.Id(0));
  }
}

std::vector<TraceDevice> ReadForeignDevices(Database& database, bool from_activities) {
  std::map<int, TraceDevice> devices;
  ReadDescriptions(database, &devices);
  DeviceNumbers numbers(database);
  for (const std::string_view table : {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
                                       "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET"}) {
    if (!from_activities || !database.HasTable(table)) continue;
    // Faster than GROUP BY, which would sort the table.
    TableScan scan(database, table, {{"deviceId"}, {"globalPid"}});
    std::optional<std::pair<int64_t, int>> last;
    while (scan.Next()) {
      const std::pair key(scan.Integer(1), scan.Id(0));
      if (key == last) continue;
      devices[numbers.Of(key.first, key.second)];
      last = key;
    }
  }
  std::vector<TraceDevice> result;
  for (auto& [id, device] : devices) {
    device.id = id;
    device.kind = "cuda";
    device.name = fmt::format("/job:localhost/replica:0/task:0/device:GPU:{}", id);
    result.push_back(std::move(device));
  }
  return result;
}

}  // namespace lanescope
