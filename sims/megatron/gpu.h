// SPDX-License-Identifier: Apache-2.0
// How long one GPU takes for a kernel, by its shape alone.
#pragma once

namespace lanescope::sims::megatron {

// Facts of an A100 of 80 GB (NVIDIA, "A100 Tensor Core GPU Architecture", 2020), and what bench/accuracy
// fitted for mixed precision. Shares are of the fact above them.
struct Gpu {
  double memory_bytes = 80e9;
  double flops = 312e12;
  double multiprocessors = 108;
  double large_tile_share = 0.836;   // of flops, in tiles of 256 x 128
  double medium_tile_share = 0.707;  // 128 x 128
  double small_tile_share = 0.649;   // 64 x 64
  double ramp = 59.3;                // a product of depth k takes the time of k + ramp: filling and writing
  double unaligned_share = 0.293;    // of the speed of an aligned product, where rows end anywhere
  double product_s = 5.87e-6;        // of every product, whatever its size
  double memory_bytes_per_s = 1.396e12;
};

// `batch` products of m x k by k x n in half precision: whole waves of tiles over the multiprocessors, in the
// best of three tile sizes, or the time of reading and writing the matrices if that is longer.
double ProductSeconds(const Gpu& gpu, double m, double n, double k, double batch = 1);

}  // namespace lanescope::sims::megatron
