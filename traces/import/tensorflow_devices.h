// SPDX-License-Identifier: Apache-2.0
// Names of devices in TensorFlow's profilers, and of what runs on them. Internal to traces.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "traces/import/import_trace.h"

namespace lanescope::traces {

// Where the rows of a device's name ran: "/job:localhost/replica:0/task:0/device:CPU:0",
// "/device:GPU:0/stream:13", "/device:GPU:0/memcpy".
struct TensorFlowDevice {
  enum class Rows : uint8_t {
    kStream,      // kernels and copies of one stream of a GPU
    kAllStreams,  // the kernels of all its streams once more
    kCopies,      // its copies once more
    kScheduled,   // when the host handed ops to the GPU
    kSync,        // calls that waited for it
    kOther        // ops on a device that is no GPU
  };
  Rows rows = Rows::kOther;
  int64_t gpu = 0, stream = 0;
};
TensorFlowDevice ParseTensorFlowDevice(std::string_view name);

// "MemcpyH2D", "MEMCPYHtoD"; kind 0: no copy.
CopyEnds ParseTensorFlowCopy(std::string_view name);

// "dense/MatMul = MatMul(x, w)": "MatMul"; empty: the label does not say.
std::string_view OpOfLabel(std::string_view label);

// "void gemm<4>(float*) regs:32 static_shared:0 dynamic_shared:64 grid:2,1,1 block:128,1,1": the name, and
// how it was launched.
std::string_view KernelOfLabel(std::string_view label, ImportLaunch* launch);

// The number behind `key` ("size:"), not negative; 0: none.
int64_t NumberAfter(std::string_view text, std::string_view key);

}  // namespace lanescope::traces
