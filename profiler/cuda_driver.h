// SPDX-License-Identifier: Apache-2.0
// The few functions of the CUDA driver that a capture needs, found in the library that the process uses. No
// CUDA headers.
#pragma once

namespace lanescope::profiler {

// True if the process has, or can load, the driver's library.
bool HasCudaDriver();

// The CUDA that the driver is made for: 12040 for 12.4; 0 without a driver.
int CudaDriverVersion();

// Waits until all devices with an active primary context are idle. Does nothing where CUDA was not
// initialized.
void SynchronizeDevices();

}  // namespace lanescope::profiler
