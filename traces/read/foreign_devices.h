// SPDX-License-Identifier: Apache-2.0
// The GPUs of another tool's trace, and which of them a process means by a device number. Internal to traces.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "traces/read/trace_reader.h"
#include "traces/store/sqlite.h"

namespace lanescope::traces {

// Processes that see different GPUs (CUDA_VISIBLE_DEVICES) count them from 0 each; TARGET_INFO_CUDA_DEVICE
// tells which GPU that is. Value type.
class DeviceNumbers {
 public:
  DeviceNumbers() = default;
  explicit DeviceNumbers(Database& database);

  // Numbers stand as they are.
  bool empty() const { return gpus_.empty(); }
  int Of(int64_t global_pid, int device) {
    if (gpus_.empty() || device < 0) return device;
    if (global_pid != last_pid_ || device != last_device_) {
      last_pid_ = global_pid;
      last_device_ = device;
      const auto found = gpus_.find({(global_pid >> 24) & 0xffffff, device});
      last_gpu_ = found == gpus_.end() ? device : found->second;
    }
    return last_gpu_;
  }

 private:
  std::map<std::pair<int64_t, int>, int> gpus_;  // by (pid, CUDA device number)
  int64_t last_pid_ = -1;
  int last_device_ = -1, last_gpu_ = -1;
};

// The GPUs that the trace describes and, if asked for (a pass over all of them), those that appear in its
// activities, by number.
std::vector<TraceDevice> ReadForeignDevices(Database& database, bool from_activities = true);

}  // namespace lanescope::traces
