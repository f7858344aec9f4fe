// SPDX-License-Identifier: Apache-2.0
// kernels gemm.csv attention.csv: fits the laws of sims/plans/kernels.h to measured kernels, GPU by GPU, and
// prints them as sims/plans/gpus.cpp has them, with their residuals.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "bench/accuracy/csv_table.h"
#include "core/base/error.h"
#include "core/base/statistics.h"
#include "sims/plans/gpus.h"

namespace {

using lanescope::bench::CsvRow;
using lanescope::bench::NumberIn;
using lanescope::bench::TextIn;
using lanescope::sims::plans::AttentionShape;
using lanescope::sims::plans::Format;
using lanescope::sims::plans::KernelLaws;

// Small products are for other laws: a training step's are large.
constexpr double kLeastRows = 512, kLeastColumns = 256, kLeastTokens = 512, kLeastAttentionUs = 60;
constexpr double kSmooth = 0.03;        // errors below this weigh by their square
constexpr double kWholeWeightUs = 100;  // shorter kernels weigh less
// Power limits the clock of what runs for long, as a training step does: not within the first yet, from the
// second on in full.
constexpr double kFreshUs = 400, kSustainedUs = 6.4e3;
// The tables' products in narrow formats include making x narrow: a kernel that reads and writes it.
constexpr double kQuantizeStart = 3e-6;

struct Product {
  double m, n, k, us;
};
struct Attention {
  AttentionShape shape;
  double us;
};

const char* TableName(Format format) {
  switch (format) {
    case Format::kBf16:
      return "bf16";
    case Format::kFp8:
      return "fp8";
    case Format::kFp8Block:
      return "fp8_block";
    case Format::kNvfp4:
      return "nvfp4";
  }
  return "";
}

// One constant after the other, by steps that grow where they help and shrink where they do not.
void Fit(const std::vector<double*>& constants, const std::function<double()>& cost) {
  constexpr int kRounds = 40;
  std::vector<double> step(constants.size(), 0.1);
  double best = cost();
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < constants.size(); ++i) {
      const double before = *constants[i];
      bool better = false;
      for (const double factor : {std::exp(step[i]), std::exp(-step[i])}) {
        *constants[i] = before * factor;
        const double now = cost();
        if (now < best) {
          best = now;
          better = true;
          break;
        }
        *constants[i] = before;
      }
      step[i] *= better ? 1.5 : 0.5;
    }
  }
}

// With the clock of a kernel that was measured for so long.
KernelLaws At(double us, KernelLaws laws) {
  const double t = std::log(us / kFreshUs) / std::log(kSustainedUs / kFreshUs);
  laws.sustained = 1 + (laws.sustained - 1) * std::clamp(t, 0.0, 1.0);
  return laws;
}

double Seconds(const KernelLaws& sustained, Format format, const Product& p) {
  const KernelLaws laws = At(p.us, sustained);
  double seconds = ProductSeconds(laws, format, p.m, p.n, p.k);
  if (format != Format::kBf16)
    seconds += kQuantizeStart + PassSeconds(laws, p.m * p.k * (2 + BytesOf(format)));
  return seconds;
}

double ErrorOf(double seconds, double us) { return std::log(seconds * 1e6 / us); }

// Median and 90th percentile of |errors|.
std::pair<double, double> Residuals(std::vector<double> errors) {
  for (double& error : errors) error = std::abs(error);
  std::sort(errors.begin(), errors.end());
  return {errors[errors.size() / 2], errors[errors.size() * 9 / 10]};
}

std::vector<Product> ProductsOf(const std::vector<CsvRow>& rows, const lanescope::GpuFacts& gpu,
                                Format format) {
  std::vector<Product> products;
  for (const CsvRow& row : rows) {
    if (TextIn(row, "gpu") != gpu.name || TextIn(row, "dtype") != TableName(format)) continue;
    // Where quantization is within, the fastest framework's is the least of it.
    const Product product{NumberIn(row, "m"), NumberIn(row, "n"), NumberIn(row, "k"),
                          NumberIn(row, format == Format::kBf16 ? "us" : "us_min")};
    if (product.m >= kLeastRows && product.n >= kLeastColumns && product.k >= kLeastColumns)
      products.push_back(product);
  }
  return products;
}

void FitProducts(std::vector<Product> products, const lanescope::GpuFacts& gpu, Format format,
                 KernelLaws* laws) {
  if (products.empty()) return;
  auto& law = laws->products[static_cast<size_t>(format)];
  const double peak = law.flops;
  law = {};
  law.flops = peak;
  // The clock by bf16, of which most are measured.
  const bool fits_clock = format == Format::kBf16;
  std::vector<double*> constants{&law.large_share, &law.medium_share, &law.small_share,
                                 &law.ramp,        &law.start_s,      &law.wave};
  if (fits_clock) constants.push_back(&laws->sustained);
  Fit(constants, [&] {
    if (law.wave > 1 || laws->sustained > 1) return HUGE_VAL;
    double cost = 0;
    for (const Product& p : products) {
      cost += std::sqrt(std::min(1.0, p.us / kWholeWeightUs)) *
              std::hypot(ErrorOf(Seconds(*laws, format, p), p.us), kSmooth);
    }
    return cost;
  });
  std::vector<double> errors;
  for (const Product& p : products) errors.push_back(ErrorOf(Seconds(*laws, format, p), p.us));
  const auto [median, most] = Residuals(errors);
  fmt::print(
      "{:14} {:9} {{{:.3f}, {:.3f}, {:.3f}, {:.1f}, {:.2e}, {:.2f}, {:.3f}}}  {} rows, 90% within "
      "{:.1f}%\n",
      gpu.name, FormatName(format), law.large_share, law.medium_share, law.small_share, law.ramp, law.start_s,
      law.wave, median, products.size(), 100 * most);
  if (fits_clock) fmt::print("{:14} sustained {:.3f}\n", gpu.name, laws->sustained);
}

void FitAttention(const std::vector<CsvRow>& rows, const lanescope::GpuFacts& gpu, KernelLaws* laws) {
  constexpr double kLargestHead = 128;
  std::vector<Attention> kernels;
  for (const CsvRow& row : rows) {
    const double tokens = NumberIn(row, "sequence"), us = NumberIn(row, "us"),
                 head = NumberIn(row, "head_dim");
    if (TextIn(row, "gpu") != gpu.name || tokens < kLeastTokens || us < kLeastAttentionUs ||
        head > kLargestHead)
      continue;
    kernels.push_back(
        {{NumberIn(row, "batch"), tokens, tokens, NumberIn(row, "heads"), NumberIn(row, "kv_heads"), head},
         us});
  }
  if (kernels.empty()) return;
  auto& law = laws->attention;
  law = {};
  Fit({&law.share, &law.share_64, &law.tile, &law.bytes_share}, [&] {
    double cost = 0;
    for (const Attention& a : kernels)
      cost += std::hypot(ErrorOf(AttentionSeconds(*laws, a.shape), a.us), kSmooth);
    return cost;
  });
  std::vector<double> errors;
  for (const Attention& a : kernels) errors.push_back(ErrorOf(AttentionSeconds(*laws, a.shape), a.us));
  const auto [median, most] = Residuals(errors);
  fmt::print(
      "{:14} attention {{{:.3f}, {:.3f}, {:.0f}, {:.3f}, {:.0e}, {:.3f}}}  {} rows, 90% within {:.1f}%\n",
      gpu.name, law.share, law.share_64, law.tile, law.bytes_share, law.start_s, median, kernels.size(),
      100 * most);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: kernels gemm.csv attention.csv\n");
    return 2;
  }
  try {
    const auto products = lanescope::bench::ReadCsvTable(argv[1]),
               attention = lanescope::bench::ReadCsvTable(argv[2]);
    for (const lanescope::GpuFacts* gpu : lanescope::sims::plans::PlanGpus()) {
      KernelLaws laws = lanescope::sims::plans::KernelLawsOf(*gpu);
      for (int format = 0; format < lanescope::sims::plans::kNumFormats; ++format)
        FitProducts(ProductsOf(products, *gpu, static_cast<Format>(format)), *gpu,
                    static_cast<Format>(format), &laws);
      FitAttention(attention, *gpu, &laws);
    }
    return 0;
  } catch (const lanescope::Error& error) {
    fmt::print(stderr, "error: {}: {}\n", lanescope::CodeName(error.code()), error.message());
    return 1;
  }
}
