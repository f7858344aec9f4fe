// What the planner, the strategies and the simulator ask of a cost model. Implemented in sims/ (calibrated)
// and, as the trivial second implementation, by RooflineCost here.
#pragma once

#include <cstdint>
#include <span>

#include "core/machine.h"
#include "core/op.h"

namespace lanescope {

struct CostEstimate {
  int64_t ns = 0;
  int64_t spread_ns = 0;    // half width of the interval that holds about nine of ten executions
  bool calibrated = false;  // from a measurement of this op, shape, dtype and device kind
};

// Immutable while in use; const calls from any thread.
class CostModel {
 public:
  virtual ~CostModel() = default;
  // One launch of `node` on a device of `machine`, alone on the machine, with these inputs and outputs (by
  // their bounds).
  virtual CostEstimate Launch(const Machine& machine, int device, const Node& node,
                              std::span<const TensorInfo> inputs,
                              std::span<const TensorInfo> outputs) const = 0;
  // One copy, alone on its route.
  virtual CostEstimate Copy(const Machine& machine, int src, int dst, int64_t bytes) const = 0;
};

// Estimates without a measurement are taken to be right within this fraction, nine times in ten.
inline constexpr double kBlindSpread = 0.5;

// max(flops / peak, bytes / bandwidth) + launch, from the machine's rates (defaults: 10 GFLOP/s, 10 GB/s
// where the file gives none).
class RooflineCost : public CostModel {
 public:
  CostEstimate Launch(const Machine& machine, int device, const Node& node,
                      std::span<const TensorInfo> inputs, std::span<const TensorInfo> outputs) const override;
  CostEstimate Copy(const Machine& machine, int src, int dst, int64_t bytes) const override;
};

// Time of a copy alone on its link: the link's table where there is one, else latency + bytes / bandwidth.
int64_t CopyNs(const Machine& machine, const Route& route, int64_t bytes);

}  // namespace lanescope
