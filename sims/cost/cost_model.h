// SPDX-License-Identifier: Apache-2.0
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
#include "sims/cost/cost_table.h"
#include "sims/cost/op_sizes.h"
#include "sims/cost/roofline_fit.h"
#include "sims/engine/computers.h"

namespace lanescope::sims {

// Owns its table. Immutable after construction; const calls from any thread.
//
// A launch costs, by the first that applies:
//   1. its entry in the table: calibrated;
//   2. the entry of another device of the host's threads, in proportion to the workers that the op's work can
//      be split over (they run the same kernels on the same cores): kFitted;
//   3. the node's `_lanescope_cost` in ns;
//   4. entries of the same op whose sizes differ by one factor, as those of another batch (OpSizes), on the
//   same
//      device, then on those of 2;
//   5. the roofline fit over the table's entries of the same op on the same device, then on those of 2;
//   6. on a host or virtual device without rates what the op's kernel does on another computer
//   (HostKernelCost);
//   7. the fit over all ops on the same device, then on those of 2, which 6 goes by for ops that were not
//   measured there, too;
//   8. RooflineCost from the machine's rates.
// 2 to 8 are not calibrated: 4 and 5 are kFitted up to four times the largest size or work that was measured,
// kExtrapolated beyond it, as 6 and 7 are. A fit needs three entries; 4 to 7 do not apply to tensors of
// unknown size. What 1, 2, 4, 5 and 7 say is of the first computer of the table; on another one it is divided
// by the speed there (Computers). A copy costs its CopyFit over the machine file's time, calibrated when its
// size lies within a factor of 4 of what was measured; without one, the machine file's time. Between logical
// devices of one GPU it is a launch that reads and writes (LaunchLine).
class CalibratedCost : public CostModel {
 public:
  explicit CalibratedCost(CostTable table);

  CostEstimate Launch(const Machine& machine, DeviceId device, const Node& node,
                      std::span<const TensorInfo> inputs, std::span<const TensorInfo> outputs) const override;
  // As above by 1, 2 and 4 to 8 for a launch whose graph is not there; if its work is unknown, it costs
  // kUnknownNs.
  CostEstimate Launch(const DeviceSpec& device, const SignedWork& work) const;
  CostEstimate Copy(const Machine& machine, DeviceId src, DeviceId dst, int64_t bytes) const override;

  const CostTable& table() const { return table_; }

 private:
  // A device whose entries stand for another's.
  struct Source {
    std::string device;
    // Workers of both, or parts of GPUs that count for arithmetic alone; 0: it is the device itself, or one
    // that is as it is.
    int workers = 0, wanted = 0;
    bool parts = false;
    WorkerSpeed speed = {};  // where the other one is

    // How much longer the other takes.
    double Factor(const OpWork& work) const;
  };
  // The device itself first, then others like it by how near their workers, or parts of a GPU, are.
  std::vector<Source> SourcesOf(const DeviceSpec& device) const;
  void AddGpus(const DeviceSpec& device, std::vector<Source>* sources) const;
  std::optional<CostEstimate> Measured(const std::vector<Source>& sources,
                                       const std::string& signature) const;
  std::optional<CostEstimate> Resized(const std::vector<Source>& sources, const std::string& signature,
                                      const OpWork& work) const;
  std::optional<CostEstimate> Fitted(const DeviceSpec& device, const std::vector<Source>& sources,
                                     const SignedWork& work) const;

  // The time of a device's shortest launches, and the time that each byte of large ones adds.
  struct LaunchLine {
    double fixed_ns = 0, byte_ns = 0;
  };
  static std::optional<LaunchLine> LineOf(const std::vector<const LaunchCost*>& launches);

  CostTable table_;
  Computers computers_;
  std::unordered_map<std::string, size_t> entries_;  // device and signature
  OpSizes sizes_;
  std::map<std::string, RooflineFit> op_fits_;      // device and op
  std::map<std::string, RooflineFit> device_fits_;  // device
  std::map<std::string, LaunchLine> lines_;         // device
};

}  // namespace lanescope::sims
