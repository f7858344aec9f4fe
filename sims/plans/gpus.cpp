// SPDX-License-Identifier: Apache-2.0
#include "sims/plans/gpus.h"

#include <vector>

#include "core/base/error.h"
#include "core/base/printable.h"
#include "sims/plans/nearest.h"

namespace lanescope::sims::plans {
namespace {

// Products by format (bf16, fp8, fp8-block, nvfp4): data sheet FLOP/s; shares of large, medium and small
// tiles; ramp; start; last wave; residual. Attention: share, share of heads of 64, tile, bytes share, start,
// residual. All but the data sheet's figures and the start of attention are what `bench/accuracy/kernels`
// prints.
constexpr double kGiB = 1024.0 * 1024 * 1024;
// Constants that are not fitted to kernels: under continuous products these GPUs clock lower than in a
// benchmark of milliseconds. The figure is from training steps (docs/results/plans.md), one a GPU.
constexpr double kAmpereSustained = 0.93, kHopperSustained = 0.83, kB200Sustained = 0.9,
                 kGb200Sustained = 0.86, kB300Sustained = 0.83;

constexpr ProductLaw kHopperBf16{989.4e12, .780, .774, .798, 116.5, 3.07e-6, .13, .037};
constexpr ProductLaw kHopperFp8{1978.9e12, .724, .709, .230, 236.1, 3.36e-6, .83, .059};
constexpr ProductLaw kHopperBlock{1978.9e12, .735, .672, .534, 250.5, 2.29e-6, .65, .061};
constexpr AttentionLaw kHopperAttention{.651, .457, 0, .505, 6e-6, .053};
constexpr ProductLaw kAmpereBf16{312e12, .836, .807, .723, 106.7, 6.93e-6, .34, .043};
constexpr AttentionLaw kAmpereAttention{.677, .500, 0, .475, 6e-6, .053};

constexpr PlanGpu kGpus[] = {
    {"A100-SXM-80GB",
     80 * kGiB,
     300e9,
     25e9,
     8,
     {108, 2.039e12, kAmpereSustained, .85, {kAmpereBf16}, kAmpereAttention}},
    {"A100-SXM-40GB",
     40 * kGiB,
     300e9,
     25e9,
     8,
     {108, 1.555e12, kAmpereSustained, .85, {kAmpereBf16}, kAmpereAttention}},
    {"H100-SXM",
     80 * kGiB,
     450e9,
     50e9,
     8,
     {132, 3.35e12, kHopperSustained, .85, {kHopperBf16, kHopperFp8, kHopperBlock}, kHopperAttention}},
    // This one has 500 W: what power limits goes with it.
    {"H100-SXM-500W",
     94 * kGiB,
     450e9,
     50e9,
     8,
     {132,
      2.4e12,
      kHopperSustained * 500 / 700,
      .85,
      {kHopperBf16, kHopperFp8, kHopperBlock},
      kHopperAttention}},
    {"H200-SXM",
     141e9,
     450e9,
     50e9,
     8,
     {132,
      4.8e12,
      kHopperSustained,
      .85,
      {{{989.4e12, .780, .774, .785, 95.2, 2.89e-6, 0, .044},
        {1978.9e12, .743, .747, .232, 235.8, 4.24e-6, .93, .071},
        {1978.9e12, .682, .636, .525, 186.6, 2.31e-6, .53, .075}}},
      {.629, .451, 162, .485, 6e-6, .065}}},
    {"B200-SXM",
     180e9,
     900e9,
     50e9,
     8,
     {148,
      8e12,
      kB200Sustained,
      .85,
      {{{2250e12, .680, .671, .686, 39.2, 2.71e-6, .55, .044},
        {4500e12, .628, .606, .186, 291.5, 3.88e-6, .63, .073},
        {4500e12, .623, .721, .370, 424.7, 3.22e-6, .22, .050},
        {9000e12, .420, .537, .302, 586.7, 2.74e-6, .41, .059}}},
      {.575, .317, 359, .501, 6e-6, .093}}},
    {"GB200",
     186e9,
     900e9,
     50e9,
     72,
     {152,
      8e12,
      kGb200Sustained,
      .85,
      {{{2500e12, .623, .659, .659, 17.8, 2.70e-6, .41, .058},
        {5000e12, .643, .311, .356, 326.6, 4.38e-6, .77, .075},
        {5000e12, .623, .689, .362, 428.7, 2.92e-6, .31, .044},
        {10000e12, .420, .535, .326, 573.9, 2.84e-6, .46, .056}}},
      {.556, .289, 205, .500, 6e-6, .103}}},
    {"B300-SXM",
     270e9,
     900e9,
     100e9,
     8,
     {148,
      8e12,
      kB300Sustained,
      .85,
      {{{2250e12, .761, .745, .779, 37.9, 2.57e-6, .55, .046},
        {4500e12, .759, .435, .464, 340.0, 3.71e-6, .59, .056},
        {4500e12, .828, .868, .450, 508.8, 3.37e-6, .47, .039},
        {13500e12, .355, .430, .256, 624.9, 2.53e-6, .62, .049}}},
      {.806, .408, 165, .502, 6e-6, .087}}},
    {"GB300",
     278e9,
     900e9,
     100e9,
     72,
     {152,
      8e12,
      1,
      .85,
      {{{2500e12, .771, .762, .574, 51.2, 2.72e-6, .12, .039},
        {5000e12, .701, .677, .177, 300.5, 3.89e-6, .82, .063},
        {5000e12, .724, .756, .363, 373.1, 2.95e-6, .19, .050},
        {15000e12, .415, .311, .370, 632.8, 3.61e-6, 1, .043}}},
      {.690, .396, 171, .429, 6e-6, .061}}},
    {"L40S",
     48e9,
     0,
     25e9,
     1,
     {142,
      .864e12,
      1,
      .85,
      {{{362e12, .577, .577, .580, 98.0, 6.3e-7, .05, .073},
        {733e12, .498, .545, .575, 214.9, 0, 0, .065},
        {733e12, .276, .311, .311, 46.2, 0, 0, .111}}},
      {.611, .442, 0, .897, 6e-6, .071}}},
};

}  // namespace

std::span<const PlanGpu> PlanGpus() { return kGpus; }

const PlanGpu& FindPlanGpu(std::string_view name) {
  for (const PlanGpu& gpu : kGpus) {
    if (gpu.name == name) return gpu;
  }
  std::vector<std::string_view> names;
  for (const PlanGpu& gpu : kGpus) names.push_back(gpu.name);
  Throw(Code::kNotFound, "no kernel times of a GPU {} are known; did you mean {}?", Printable(name),
        NearestName(name, names));
}

}  // namespace lanescope::sims::plans
