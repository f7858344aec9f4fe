// SPDX-License-Identifier: Apache-2.0
// How long kernels of a transformer take on a GPU, by shape and number format: a few constants a GPU, fitted
// to published kernel times by bench/accuracy/kernels.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace lanescope::sims::plans {

// Number formats of matrix products.
enum class Format : uint8_t {
  kBf16,
  kFp8,       // one scale a tensor or row, or for 32 values (MXFP8)
  kFp8Block,  // a scale for each 128 x 128 values
  kNvfp4,
};
inline constexpr int kNumFormats = 4;
std::string_view FormatName(Format format);  // "bf16", "fp8", "fp8-block", "nvfp4"
// Bytes of a value, scales included.
double BytesOf(Format format);

// A product goes by whole waves of tiles over the multiprocessors. Shares are of `flops`.
struct ProductLaw {
  double large_share = 0.8, medium_share = 0.7, small_share = 0.5;  // tiles 256 x 128, 128 x 128, 64 x 64
  double ramp = 100;  // a product of depth k takes the time of k + ramp: filling and writing
  double start_s = 4e-6;
  double wave = 0.5;    // how much of a last wave that is not full still passes: 1, all of it
  double residual = 0;  // median of |log(law / measured)| where m >= 1,024
  double flops = 0;     // of the data sheet, dense, a second; 0: the GPU has no such products
};

// Attention of one kernel (flash attention): arithmetic and reading follow each other.
struct AttentionLaw {
  double share = 0.6;        // of the bf16 peak, heads of 128 values
  double share_64 = 0.5;     // heads of 64
  double tile = 128;         // a query sees its whole tile of keys
  double bytes_share = 0.6;  // of the memory's bandwidth
  double start_s = 6e-6;
  double residual = 0;  // median of |log(law / measured)| for sequences from 1,024 on
};

struct KernelLaws {
  double multiprocessors = 0;
  double memory_bytes_per_s = 0;  // of the data sheet
  double sustained = 1;  // of the speed of short kernels that work of milliseconds keeps: power limits
                         // the clock, for all of a step alike
  bool scales_in_products = false;  // tensor cores take scales for 32 and 16 values: MXFP8, NVFP4
  double memory_share = 0.85;       // of it that passes over large tensors reach
  std::array<ProductLaw, kNumFormats> products{};
  AttentionLaw attention;
  const ProductLaw& product(Format format) const { return products[static_cast<size_t>(format)]; }
};

// y[m, n] = x[m, k] w[k, n], `batch` of them, operands already in `format`, y in bf16.
double ProductSeconds(const KernelLaws& laws, Format format, double m, double n, double k, double batch = 1);

// Reading and writing `bytes` of large tensors.
double PassSeconds(const KernelLaws& laws, double bytes);

struct AttentionShape {
  double batch = 1, queries = 0, keys = 0;
  double heads = 1, kv_heads = 1, head_size = 128;
  bool causal = true;  // queries see no later keys, where there are as many of both; else all keys
  bool SeesHalf() const { return causal && queries == keys; }
  // FLOPs of the forward pass, products alone.
  double Flops() const { return 4 * batch * heads * head_size * queries * keys * (SeesHalf() ? 0.5 : 1); }
};
double AttentionSeconds(const KernelLaws& laws, const AttentionShape& shape);

}  // namespace lanescope::sims::plans
