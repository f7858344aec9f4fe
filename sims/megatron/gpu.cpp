// SPDX-License-Identifier: Apache-2.0
#include "sims/megatron/gpu.h"

#include "sims/plans/kernels.h"

namespace lanescope::sims::megatron {

double ProductSeconds(const Gpu& gpu, double m, double n, double k, double batch) {
  constexpr double kWholeWaves = 1;
  plans::KernelLaws laws;
  laws.multiprocessors = gpu.multiprocessors;
  laws.memory_bytes_per_s = gpu.memory_bytes_per_s;
  laws.memory_share = 1;
  laws.products[static_cast<size_t>(plans::Format::kBf16)] = {.large_share = gpu.large_tile_share,
                                                              .medium_share = gpu.medium_tile_share,
                                                              .small_share = gpu.small_tile_share,
                                                              .ramp = gpu.ramp,
                                                              .start_s = gpu.product_s,
                                                              .wave = kWholeWaves,
                                                              .flops = gpu.flops};
  return plans::ProductSeconds(laws, plans::Format::kBf16, m, n, k, batch);
}

}  // namespace lanescope::sims::megatron
