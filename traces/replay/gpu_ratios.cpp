// SPDX-License-Identifier: Apache-2.0
#include "traces/replay/gpu_ratios.h"

#include <algorithm>
#include <cctype>

namespace lanescope::traces {
namespace {

constexpr int64_t kBriefNs = 8'000;

// Products of matrices in bfloat16 as ai-dynamo/aiconfigurator at 095f58a has them measured (gemm tables,
// vLLM, SGLang and TensorRT-LLM), shapes that the H100 has too: 338 to 1,087 with over 600 operations a byte
// moved, 171 to 646 with under 100, 234 to 821 that take the H100 less than 8 us.
constexpr MeasuredGpu kGpus[] = {
    {"A100", {3.07, 2.76, 3.64}, {1.88, 1.60, 2.59}, {1.70, 1.12, 2.84}},
    {"B200", {0.51, 0.45, 0.57}, {0.51, 0.42, 0.89}, {0.75, 0.64, 0.97}},
    {"B300", {0.45, 0.39, 0.51}, {0.49, 0.41, 0.79}, {0.71, 0.59, 0.94}},
    {"GB200", {0.48, 0.41, 0.54}, {0.49, 0.41, 0.85}, {0.75, 0.62, 0.98}},
    {"GB300", {0.41, 0.36, 0.47}, {0.48, 0.40, 0.81}, {0.74, 0.60, 0.96}},
    {"H100", {1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
    {"H200", {1.00, 0.94, 1.10}, {0.79, 0.69, 0.96}, {0.98, 0.89, 1.03}},
    {"L40S", {3.65, 3.03, 4.37}, {3.34, 1.07, 4.76}, {1.14, 0.77, 2.39}},
};

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

bool IsProduct(std::string_view kernel) {
  const std::string name = Lower(kernel);
  return std::ranges::any_of(
      std::initializer_list<std::string_view>{"gemm", "cutlass", "xmma", "nvjet", "matmul", "conv", "fmha",
                                              "flash", "attention", "sdpa"},
      [&](std::string_view part) { return name.find(part) != std::string::npos; });
}

}  // namespace

const MeasuredGpu* FindMeasuredGpu(std::string_view name) {
  const std::string lower = Lower(name);
  const MeasuredGpu* found = nullptr;  // the longest name: a GB200 is no B200
  for (const MeasuredGpu& gpu : kGpus) {
    if (lower.find(Lower(gpu.name)) == std::string::npos) continue;
    if (found == nullptr || gpu.name.size() > found->name.size()) found = &gpu;
  }
  return found;
}

std::string MeasuredGpuNames() {
  std::string names;
  for (const MeasuredGpu& gpu : kGpus) names += (names.empty() ? "" : ", ") + std::string(gpu.name);
  return names;
}

double KernelRatio(const MeasuredGpu& from, const MeasuredGpu& to, std::string_view kernel, int64_t ns,
                   RatioQuantile spread) {
  const auto part = ns < kBriefNs       ? &MeasuredGpu::brief
                    : IsProduct(kernel) ? &MeasuredGpu::products
                                        : &MeasuredGpu::memory;
  const auto of = [&](const MeasuredGpu& gpu, RatioQuantile which) {
    return (gpu.*part)[static_cast<size_t>(which)];
  };
  if (&from == &to) return 1;
  const RatioQuantile opposite = spread == RatioQuantile::kLow    ? RatioQuantile::kHigh
                                 : spread == RatioQuantile::kHigh ? RatioQuantile::kLow
                                                                  : RatioQuantile::kMiddle;
  return of(to, spread) / of(from, opposite);
}

}  // namespace lanescope::traces
