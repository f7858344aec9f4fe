// SPDX-License-Identifier: Apache-2.0
#include "sims/cost/host_kernels.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/graph/work_pieces.h"
#include "core/time/ticks.h"
#include "sims/engine/interference.h"

namespace lanescope::sims {
namespace {

// Operations or bytes in a ns.
struct KernelRate {
  std::string_view op;
  bool computes;
  double rate;
};

// These are rates of one worker, on work that no core's cache holds: bench/accuracy/host_kernels.py prints
// them. They come from the traces of virtual devices in tests/golden/accuracy (branches, transformer,
// deepconn, cifar10).
constexpr std::array kKernels = std::to_array<KernelRate>({
    {"AddN", false, 24.6},
    {"AddV2", false, 33.6},
    {"ApplyAdam", false, 23.2},
    {"ApplyGradientDescent", false, 21.5},
    {"AssignSub", false, 29},
    {"BiasAdd", false, 24},
    {"BiasAddGrad", false, 20.6},
    {"ConcatV2", false, 14.1},
    {"Conv2D", true, 182},
    {"Conv2DBackpropFilter", true, 170},
    {"Conv2DBackpropInput", true, 185},
    {"GatherV2", false, 11.5},
    {"L2Loss", false, 19.7},
    {"LRN", false, 4.27},
    {"LRNGrad", true, 26.6},
    {"LookupTableFindV2", false, 1.11},
    {"MatMul", true, 106},
    {"MaxPool", false, 12.1},
    {"MaxPoolGrad", false, 11.5},
    {"Mean", false, 10.7},
    {"Mul", false, 28.7},
    {"RealDiv", false, 28.4},
    {"Relu", false, 44.7},
    {"ReluGrad", false, 27.8},
    {"ScatterAdd", false, 26.6},
    {"Slice", false, 35.4},
    {"Sqrt", false, 12.8},
    {"Sub", false, 14.2},
    {"Tanh", false, 12.2},
    {"TanhGrad", false, 31.9},
    {"Tile", false, 18.6},
    {"Unique", false, 1.91},
    {"UnsortedSegmentSum", false, 11.8},
});

// An op that is not in the table takes the table's median of what moves bytes, or its matrix product.
constexpr double kUsualBytes = 20, kUsualFlops = 106;
constexpr double kLeastNs = 1'000;
// Ops of another host, an H100's, took up to so much more or less than the table says.
constexpr double kSpread = 0.5;

const KernelRate* Find(std::string_view op) {
  const auto found = std::ranges::lower_bound(kKernels, op, {}, &KernelRate::op);
  return found != kKernels.end() && found->op == op ? &*found : nullptr;
}

}  // namespace

bool HasOnlyKernels(const DeviceSpec& device) {
  return IsOfHostThreads(device.kind) && device.peak_flops.empty() && device.memory_bandwidth <= 0;
}

bool IsKnownKernel(std::string_view op) { return Find(op) != nullptr; }

CostEstimate HostKernelCost(std::string_view op, const OpWork& work, int workers) {
  const KernelRate* const known = Find(op);
  const bool computes = known != nullptr ? known->computes : ClassOf(work) == WorkClass::kCompute;
  const double rate = known != nullptr ? known->rate : computes ? kUsualFlops : kUsualBytes;
  const auto amount = static_cast<double>(computes ? work.flops : work.bytes);
  const double ns = kLeastNs + amount / (rate * WorkersFor(work, workers));
  const int64_t rounded = std::llround(std::min(ns, static_cast<double>(kMaxSimulatedNs)));
  return {rounded, std::llround(kSpread * static_cast<double>(rounded)), CostBasis::kExtrapolated};
}

}  // namespace lanescope::sims
