// SPDX-License-Identifier: Apache-2.0
#include "sims/plans/kernels.h"

#include <algorithm>
#include <cmath>

namespace lanescope::sims::plans {

std::string_view FormatName(Format format) {
  constexpr std::array<std::string_view, kNumFormats> kNames = {"bf16", "fp8", "fp8-block", "nvfp4"};
  return kNames[static_cast<size_t>(format)];
}

double BytesOf(Format format) {
  constexpr std::array<double, kNumFormats> kBytes = {2, 1, 1 + 1.0 / 32, 0.5 + 1.0 / 16};
  return kBytes[static_cast<size_t>(format)];
}

double ProductSeconds(const KernelLaws& laws, Format format, double m, double n, double k, double batch) {
  const ProductLaw& law = laws.product(format);
  struct Tile {
    double rows, columns, share;
  };
  const Tile tiles[] = {{256, 128, law.large_share}, {128, 128, law.medium_share}, {64, 64, law.small_share}};
  double fastest = HUGE_VAL;
  for (const Tile& tile : tiles) {
    const double count = std::ceil(m / tile.rows) * std::ceil(n / tile.columns) * batch;
    const double full = count / laws.multiprocessors;
    const double waves = std::max(1.0, full + law.wave * (std::ceil(full) - full));
    const double flops = 2 * tile.rows * tile.columns * (k + law.ramp) * laws.multiprocessors;
    fastest = std::min(fastest, waves * flops / (law.flops * tile.share * laws.sustained));
  }
  const double bytes = batch * (BytesOf(format) * (m * k + k * n) + 2 * m * n);
  return std::max(fastest, PassSeconds(laws, bytes)) + law.start_s;
}

double PassSeconds(const KernelLaws& laws, double bytes) {
  return bytes / (laws.memory_bytes_per_s * laws.memory_share);
}

double AttentionSeconds(const KernelLaws& laws, const AttentionShape& shape) {
  const AttentionLaw& law = laws.attention;
  // Heads of other sizes take after the nearest: the products' depth is what counts.
  const double share = shape.head_size < 96 ? law.share_64 : law.share;
  const double seen = shape.SeesHalf() ? (shape.keys + law.tile) / 2 : shape.keys;
  const double flops = 4 * shape.batch * shape.heads * shape.head_size * shape.queries * seen;
  const double bytes =
      2 * shape.batch * shape.head_size * (2 * shape.heads * shape.queries + 2 * shape.kv_heads * shape.keys);
  // A head's tile of queries is one multiprocessor's: few of them leave others idle.
  const double tiles = shape.batch * shape.heads * std::ceil(shape.queries / 128);
  const double idle = std::max(1.0, laws.multiprocessors / tiles);
  return law.start_s + idle * flops / (laws.product(Format::kBf16).flops * share * laws.sustained) +
         bytes / (laws.memory_bytes_per_s * law.bytes_share);
}

}  // namespace lanescope::sims::plans
