// SPDX-License-Identifier: Apache-2.0
// Which GPUs of a machine a program sees, in which order, with how much of their memory, and as which logical
// devices: what TensorFlow's GPUOptions say, for GPUs of any kind.
#pragma once

#include <string>
#include <vector>

#include "core/machine/machine.h"

namespace lanescope {

// The parts of one GPU: one device each, with its memory in MiB. None: the whole GPU.
struct LogicalGpus {
  std::vector<double> memory_limit_mb = {};
  std::vector<int> device_ordinal =
      {};                          // empty, or one each: devices of all GPUs are numbered by these first
  std::vector<int> priority = {};  // empty, or one each: of its streams (DeviceSpec::stream_priority)
};

struct DeviceConfig {
  std::string visible_device_list = {};  // "1,0": GPU:0 is the machine's GPU:1; empty: all as they are
  double memory_fraction = 0;            // of each GPU's memory; 0: all
  int gpu_count = -1;                    // at most so many GPUs; -1: all
  std::vector<LogicalGpus> logical_devices = {};  // of the first GPUs that are visible
  int logical_devices_per_gpu = 0;                // equal parts of every GPU; 0: not cut
};

// The machine as a program with this configuration sees it: GPUs numbered from 0, with the links of the GPUs
// that they are or are parts of; parts of one GPU are linked by its own memory. Throws InvalidArgument for a
// list, fraction or limits that make no sense, and Unknown for parts of more GPUs than there are.
Machine ConfigureDevices(const Machine& machine, const DeviceConfig& config);

// "1024,2048;4096": MiB of the parts of the first GPU and of the second; nothing between ';': not cut.
// "1024@-1,2048@0" says the priority of each part's streams, too. Throws InvalidArgument for what is no
// number and where some parts of a GPU have a priority and some do not.
std::vector<LogicalGpus> ParseLogicalDevices(const std::string& text);

}  // namespace lanescope
