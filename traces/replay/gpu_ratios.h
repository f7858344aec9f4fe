// SPDX-License-Identifier: Apache-2.0
// How long kernels take on other GPUs. Internal to traces.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace lanescope::traces {

// Which of a spread: the middle of what was measured, or what 5% and 95% of it are under.
enum class RatioQuantile : uint8_t { kMiddle, kLow, kHigh };

// A GPU of which kernels were measured. Times beside an H100's: products of matrices that the arithmetic
// decides, kernels that the memory decides, and kernels so short that neither does; middle, 5th and 95th
// percentile.
struct MeasuredGpu {
  std::string_view name;
  using Ratio = std::array<double, 3>;
  Ratio products, memory, brief;
};

// By its name ("h200"), or by a model that says it ("NVIDIA H200 141GB HBM3e"). Null: it was not measured.
const MeasuredGpu* FindMeasuredGpu(std::string_view name);
// "A100, B200, ...", for messages.
std::string MeasuredGpuNames();

// By what a kernel's time on `from` is to be multiplied on `to`. `ns`: what it takes on `from`.
double KernelRatio(const MeasuredGpu& from, const MeasuredGpu& to, std::string_view kernel, int64_t ns,
                   RatioQuantile spread);

}  // namespace lanescope::traces
