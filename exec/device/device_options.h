// SPDX-License-Identifier: Apache-2.0
// How a session uses devices with streams.
#pragma once

namespace lanescope::exec {

struct DeviceOptions {
  bool graphs = true;          // record static parts of a step once and replay them
  bool allow_tf32 = false;     // float32 products may round their factors to TF32
  bool any_algorithm = false;  // convolutions may add in orders that change from run to run
  bool memory_growth = true;   // take device memory as it is needed; otherwise each device's limit at once
};

}  // namespace lanescope::exec
