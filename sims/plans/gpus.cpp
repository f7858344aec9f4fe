// SPDX-License-Identifier: Apache-2.0
#include "sims/plans/gpus.h"

#include <algorithm>
#include <iterator>

#include "core/base/error.h"

namespace lanescope::sims::plans {
namespace {

// The share of the clock that is left after milliseconds; products by format (bf16, fp8, fp8-block, nvfp4):
// shares of large, medium and small tiles; ramp; start; last wave; residual; attention: share, share of heads
// of 64, tile, bytes share, start, residual. All but the start of attention are what `bench/accuracy/kernels`
// prints; rates are those of gpus.tsv.
struct GpuLaws {
  std::string_view gpu;
  double sustained = 1;
  std::array<ProductLaw, kNumFormats> products;
  AttentionLaw attention;
};

constexpr std::array<ProductLaw, kNumFormats> kAmpere = {{{.909, .845, .737, 159.7, 6.04e-6, .68, .038}}};
constexpr AttentionLaw kAmpereAttention = {.677, .500, 0, .475, 6e-6, .053};
constexpr std::array<ProductLaw, kNumFormats> kHopper = {{{.836, .830, .824, 143.7, 3.19e-6, .39, .027},
                                                          {.759, .728, .236, 265.7, 3.57e-6, 1, .062},
                                                          {.770, .699, .554, 287.4, 2.74e-6, .71, .045}}};
constexpr AttentionLaw kHopperAttention = {.651, .458, 0, .505, 6e-6, .053};
constexpr double kAmpereSustained = .917, kHopperSustained = .896;
// Fitted to B200. A GB200 has the same chip and a higher power limit, so that its clock sinks no further,
// though those whose products were measured fell to .772.
constexpr double kBlackwellSustained = .868;

constexpr GpuLaws kGpus[] = {
    {"A100-SXM-80GB", kAmpereSustained, kAmpere, kAmpereAttention},
    {"A100-SXM-40GB", kAmpereSustained, kAmpere, kAmpereAttention},
    {"H100-SXM", kHopperSustained, kHopper, kHopperAttention},
    // 500 W: what power limits goes with it.
    {"H100-SXM-500W", kHopperSustained * 500 / 700, kHopper, kHopperAttention},
    {"H200-SXM",
     .863,
     {{{.825, .822, .820, 127.3, 3.00e-6, .25, .028},
       {.799, .752, .236, 274.1, 4.49e-6, 1, .072},
       {.742, .675, .540, 251.9, 2.55e-6, .67, .056}}},
     {.630, .451, 163, .486, 6e-6, .065}},
    {"B200-SXM",
     kBlackwellSustained,
     {{{.738, .661, .690, 82.6, 2.55e-6, .61, .036},
       {.654, .619, .190, 333.2, 3.88e-6, .67, .072},
       {.623, .742, .388, 450.3, 3.26e-6, .27, .043},
       {.498, .555, .320, 623.5, 2.78e-6, .48, .054}}},
     {.574, .317, 355, .519, 6e-6, .093}},
    {"GB200",
     kBlackwellSustained,
     {{{.711, .673, .683, 60.9, 2.73e-6, .63, .041},
       {.676, .311, .365, 356.3, 4.75e-6, 1, .074},
       {.736, .658, .350, 531.3, 2.82e-6, .26, .040},
       {.498, .563, .334, 634.0, 3.03e-6, .56, .050}}},
     {.556, .289, 205, .500, 6e-6, .103}},
    {"B300-SXM",
     .872,
     {{{.836, .745, .786, 79.0, 2.44e-6, .62, .043},
       {.783, .480, .489, 359.7, 3.79e-6, .68, .052},
       {.918, .865, .451, 589.7, 3.19e-6, .43, .034},
       {.355, .458, .285, 663.5, 2.48e-6, .80, .052}}},
     {.806, .409, 173, .525, 6e-6, .088}},
    {"GB300",
     .923,
     {{{.786, .775, .578, 64.2, 2.80e-6, .15, .037},
       {.623, .711, .181, 329.2, 4.19e-6, 1, .057},
       {.762, .770, .369, 389.7, 3.08e-6, .25, .049},
       {.404, .409, .231, 638.6, 3.71e-6, .50, .048}}},
     {.690, .396, 171, .429, 6e-6, .061}},
    {"L40S",
     .790,
     {{{.711, .680, .605, 222.8, 0, .35, .058},
       {.606, .676, .658, 329.8, 0, .27, .064},
       {.313, .311, .341, 87.3, 0, 0, .084}}},
     {.611, .442, 0, .897, 6e-6, .071}},
};

constexpr double kPassShare = 0.85;  // of the memory's bandwidth

const GpuLaws* LawsOf(std::string_view gpu) {
  const auto* found = std::ranges::find(kGpus, gpu, &GpuLaws::gpu);
  return found == std::end(kGpus) ? nullptr : found;
}

// The data sheet's FLOP/s of a format.
double RateOf(const GpuFacts& gpu, Format format) {
  switch (format) {
    case Format::kBf16:
      return gpu.device.peak_flops.at(DataType::kBfloat16);
    case Format::kFp8:
    case Format::kFp8Block:
      return gpu.device.float8_flops;
    case Format::kNvfp4:
      return gpu.float4_flops;
  }
  return 0;
}

}  // namespace

// Scales for few values came to tensor cores with numbers of 4 bits (NVIDIA, PTX ISA 8.7: mma with
// .block_scale, for .mxf8f6f4 as for .mxf4nvf4).
KernelLaws KernelLawsOf(const GpuFacts& gpu) {
  const GpuLaws* laws = LawsOf(gpu.name);
  if (laws == nullptr) {
    std::string names;
    for (const GpuLaws& known : kGpus) names += (names.empty() ? "" : ", ") + std::string(known.gpu);
    Throw(Code::kNotFound, "no kernel times of a GPU {} are known, but of {}", gpu.name, names);
  }
  KernelLaws result{.multiprocessors = static_cast<double>(gpu.device.multiprocessors),
                    .memory_bytes_per_s = gpu.device.memory_bandwidth,
                    .sustained = laws->sustained,
                    .scales_in_products = gpu.float4_flops > 0,
                    .memory_share = kPassShare,
                    .products = laws->products,
                    .attention = laws->attention};
  for (int format = 0; format < kNumFormats; ++format) {
    ProductLaw& law = result.products[static_cast<size_t>(format)];
    if (law.residual > 0) law.flops = RateOf(gpu, static_cast<Format>(format));
  }
  return result;
}

std::vector<const GpuFacts*> PlanGpus() {
  std::vector<const GpuFacts*> gpus;
  for (const GpuFacts& gpu : KnownGpus()) {
    if (LawsOf(gpu.name) != nullptr) gpus.push_back(&gpu);
  }
  return gpus;
}

}  // namespace lanescope::sims::plans
