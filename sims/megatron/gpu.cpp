#include "sims/megatron/gpu.h"

#include <algorithm>
#include <cmath>

namespace lanescope::sims::megatron {

double ProductSeconds(const Gpu& gpu, double m, double n, double k, double batch) {
  struct Tile {
    double rows, columns, share;
  };
  const Tile tiles[] = {
      {256, 128, gpu.large_tile_share}, {128, 128, gpu.medium_tile_share}, {64, 64, gpu.small_tile_share}};
  constexpr double kHalfBytes = 2;
  double fastest = HUGE_VAL;
  for (const Tile& tile : tiles) {
    const double count = std::ceil(m / tile.rows) * std::ceil(n / tile.columns) * batch;
    const double waves = std::ceil(count / gpu.multiprocessors);
    const double flops = 2 * tile.rows * tile.columns * (k + gpu.ramp) * gpu.multiprocessors;
    fastest = std::min(fastest, waves * flops / (gpu.flops * tile.share));
  }
  const double bytes = kHalfBytes * batch * (m * k + k * n + m * n);
  return std::max(fastest, bytes / gpu.memory_bytes_per_s) + gpu.product_s;
}

}  // namespace lanescope::sims::megatron
