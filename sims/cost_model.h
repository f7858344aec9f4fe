// The calibrated cost model: measured where there is a measurement, a fit to measurements where there is
// none.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/graph/signature.h"
#include "core/schedule/cost.h"
#include "sims/cost_table.h"
#include "sims/roofline_fit.h"

namespace lanescope::sims {

// Owns its table. Immutable after construction; const calls from any thread.
//
// A launch costs, by the first that applies:
//   1. its entry in the table: calibrated;
//   2. the node's `_lanescope_cost` in ns;
//   3. the roofline fit over the table's entries of the same op on the same device;
//   4. the fit over all ops on the same device;
//   5. RooflineCost from the machine's rates.
// 2 to 5 are not calibrated: 3 is kFitted up to four times the largest work that was measured, kExtrapolated
// beyond it, as 4 is. A fit needs three entries; none applies to tensors of unknown size. A copy costs its
// CopyFit over the machine file's time, calibrated when its size lies within a factor of 4 of what was
// measured; without one, the machine file's time.
class CalibratedCost : public CostModel {
 public:
  explicit CalibratedCost(CostTable table);

  CostEstimate Launch(const Machine& machine, int device, const Node& node,
                      std::span<const TensorInfo> inputs, std::span<const TensorInfo> outputs) const override;
  // The same by 1, 3 and 4 for a launch whose graph is not there; where none applies it costs kUnknownNs.
  CostEstimate Launch(const DeviceSpec& device, const SignedWork& work) const;
  CostEstimate Copy(const Machine& machine, int src, int dst, int64_t bytes) const override;

  const CostTable& table() const { return table_; }

 private:
  std::optional<CostEstimate> Measured(const std::string& device, const std::string& signature) const;
  std::optional<CostEstimate> Fitted(const std::string& device, const std::string& op,
                                     const OpWork& work) const;

  CostTable table_;
  std::unordered_map<std::string, size_t> entries_;  // device and signature
  std::map<std::string, RooflineFit> op_fits_;       // device and op
  std::map<std::string, RooflineFit> device_fits_;   // device
};

}  // namespace lanescope::sims
