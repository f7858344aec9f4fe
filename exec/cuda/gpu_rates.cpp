// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/gpu_rates.h"

#include <algorithm>
#include <iterator>

namespace lanescope::exec::cuda {
namespace {

// Multiply-adds that a multiprocessor begins in a clock, with float32 sums where factors are smaller; 0: it
// has no such unit. float32 and float64 are those of the CUDA C++ Programming Guide ("Throughput of Native
// Arithmetic Instructions"), the others those of dense products on the tensor cores, by NVIDIA's white papers
// and data sheets of A100, A40, L40S, H100, B200 and RTX PRO 6000. Boards of the GeForce line do half of what
// stands here for factors of 8 and 16 bits and TF32.
struct Units {
  int capability = 0;  // 90 for 9.0
  int float32 = 0, float64 = 0, tf32 = 0, float16 = 0, float8 = 0;
};
constexpr Units kUnits[] = {
    {80, 64, 32, 512, 1024, 0},        //
    {86, 128, 2, 256, 512, 0},         //
    {87, 128, 2, 512, 1024, 0},        //
    {89, 128, 2, 256, 512, 1024},      //
    {90, 128, 64, 1024, 2048, 4096},   //
    {100, 128, 64, 2048, 4096, 8192},  //
    {103, 128, 2, 2048, 4096, 8192},   //
    {120, 128, 2, 256, 512, 1024},     //
    {121, 128, 2, 256, 512, 1024},     //
};

}  // namespace

void RateGpu(const GpuProperties& properties, int multiprocessors, DeviceSpec* device) {
  // Two transfers a clock.
  device->memory_bandwidth =
      2e3 * static_cast<double>(properties.memory_clock_khz) * properties.memory_bus_bits / 8;
  const auto* const units = std::ranges::find(kUnits, properties.compute_capability, &Units::capability);
  if (units != std::end(kUnits)) {
    const auto flops = [&](int per_clock) {
      return 2e3 * per_clock * multiprocessors * static_cast<double>(properties.clock_khz);
    };
    device->peak_flops = {{DataType::kFloat, flops(units->float32)},
                          {DataType::kDouble, flops(units->float64)},
                          {DataType::kHalf, flops(units->float16)},
                          {DataType::kBfloat16, flops(units->float16)}};
    std::erase_if(device->peak_flops, [](const auto& peak) { return peak.second <= 0; });
    device->tf32_flops = flops(units->tf32);
    device->float8_flops = flops(units->float8);
  }
  if (!device->peak_flops.empty() || device->memory_bandwidth > 0) device->rates = "data sheet";
}

}  // namespace lanescope::exec::cuda
