// SPDX-License-Identifier: Apache-2.0
// The interface of a cost model for planner, strategies and simulator. Implemented in sims/ (calibrated)
// and, as the trivial second implementation, by RooflineCost here.
#pragma once

#include <cstdint>
#include <span>

#include "core/graph/op.h"
#include "core/machine/machine.h"

namespace lanescope {

// The source of an estimate, from the best to the worst.
enum class CostBasis : uint8_t {
  kMeasured,      // a measurement of this op, shape, dtype and device kind
  kFitted,        // measurements of the same op in other sizes, near this one
  kRates,         // the machine file's rates, or the time that the node itself gives
  kExtrapolated,  // measurements of other ops, or of sizes far from this one
  kAssumed,       // rates that nobody gave
  kNothing,       // neither the work nor the size is known: the time only stands for one
};
inline constexpr int kNumCostBases = 6;

struct CostEstimate {
  int64_t ns = 0;
  int64_t spread_ns = 0;  // half width of the interval that holds about nine of ten executions
  CostBasis basis = CostBasis::kRates;

  bool calibrated() const { return basis == CostBasis::kMeasured; }
};

// Immutable while in use; const calls from any thread.
class CostModel {
 public:
  virtual ~CostModel() = default;
  // One launch of `node` on a device of `machine`, alone on the machine, with these inputs and outputs (by
  // their bounds).
  virtual CostEstimate Launch(const Machine& machine, DeviceId device, const Node& node,
                              std::span<const TensorInfo> inputs,
                              std::span<const TensorInfo> outputs) const = 0;
  // One copy, alone on its route.
  virtual CostEstimate Copy(const Machine& machine, DeviceId src, DeviceId dst, int64_t bytes) const = 0;
};

// Estimates without a measurement are taken to be right within this fraction, nine times in ten.
inline constexpr double kBlindSpread = 0.5;

// A launch whose work is not known (an op without a definition, tensors of unknown size) takes at least this
// long, give or take a factor of 1 + kUnknownSpread: no op is free.
inline constexpr int64_t kUnknownNs = 10'000;
inline constexpr double kUnknownSpread = 9;
// Whether every tensor with elements has a bounded shape.
bool AreSizesKnown(std::span<const TensorInfo> tensors);

// Where a machine file gives no rate: per second.
inline constexpr double kAssumedFlops = 10e9;

// max(flops / peak, bytes / bandwidth) + launch, from the machine's rates; kUnknownNs at least where the work
// is not known.
class RooflineCost : public CostModel {
 public:
  CostEstimate Launch(const Machine& machine, DeviceId device, const Node& node,
                      std::span<const TensorInfo> inputs, std::span<const TensorInfo> outputs) const override;
  CostEstimate Copy(const Machine& machine, DeviceId src, DeviceId dst, int64_t bytes) const override;
  // The time of known work, at the rate of float.
  CostEstimate Launch(const DeviceSpec& device, const OpWork& work) const;
};

}  // namespace lanescope
