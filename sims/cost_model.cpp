#include "sims/cost_model.h"

#include <algorithm>
#include <cmath>

#include "core/graph/signature.h"
#include "sims/ticks.h"

namespace lanescope::sims {
namespace {

constexpr int kMinFitPoints = 3;
constexpr double kRangeSlack = 4;

std::string Key(const std::string& device, const std::string& what) { return device + '\n' + what; }

int64_t RoundNs(double ns) {
  return static_cast<int64_t>(std::clamp(ns, 0.0, static_cast<double>(kMaxSimulatedNs)) + 0.5);
}

CostEstimate Blind(CostEstimate estimate) {
  const auto least = static_cast<int64_t>(kBlindSpread * static_cast<double>(estimate.ns));
  estimate.spread_ns = std::max(estimate.spread_ns, least);
  return estimate;
}

}  // namespace

CalibratedCost::CalibratedCost(CostTable table) : table_(std::move(table)) {
  std::map<std::string, std::vector<WorkPoint>> by_op, by_device;
  for (size_t i = 0; i < table_.launches.size(); ++i) {
    const LaunchCost& cost = table_.launches[i];
    entries_[Key(cost.device, cost.signature)] = i;
    const WorkPoint point{static_cast<double>(cost.work.flops), static_cast<double>(cost.work.bytes),
                          static_cast<double>(cost.ns)};
    by_op[Key(cost.device, cost.op)].push_back(point);
    by_device[cost.device].push_back(point);
  }
  for (const auto& [key, points] : by_op) op_fits_[key] = FitRoofline(points);
  for (const auto& [key, points] : by_device) device_fits_[key] = FitRoofline(points);
}

std::optional<CostEstimate> CalibratedCost::Measured(const std::string& device,
                                                     const std::string& signature) const {
  const auto entry = entries_.find(Key(device, signature));
  if (entry == entries_.end()) return std::nullopt;
  const LaunchCost& cost = table_.launches[entry->second];
  return CostEstimate{cost.ns, cost.spread_ns, CostBasis::kMeasured};
}

std::optional<CostEstimate> CalibratedCost::Fitted(const std::string& device, const std::string& op,
                                                   const OpWork& work) const {
  const auto usable = [](const auto& fits, const std::string& key) {
    const auto found = fits.find(key);
    return found == fits.end() || found->second.points < kMinFitPoints ? nullptr : &found->second;
  };
  const RooflineFit* fit = usable(op_fits_, Key(device, op));
  const bool same_op = fit != nullptr;
  if (!same_op) fit = usable(device_fits_, device);
  if (fit == nullptr) return std::nullopt;
  const auto flops = static_cast<double>(work.flops), bytes = static_cast<double>(work.bytes);
  const double ns = fit->Predict(flops, bytes);
  const bool near = flops <= kRangeSlack * fit->max_flops && bytes <= kRangeSlack * fit->max_bytes;
  return CostEstimate{RoundNs(ns), RoundNs(ns * fit->spread),
                      same_op && near ? CostBasis::kFitted : CostBasis::kExtrapolated};
}

CostEstimate CalibratedCost::Launch(const Machine& machine, int device_number, const Node& node,
                                    std::span<const TensorInfo> inputs,
                                    std::span<const TensorInfo> outputs) const {
  const DeviceSpec& device = machine.device(device_number);
  const std::string key = CostDevice(device);
  if (const auto measured = Measured(key, OpSignature(node, inputs, outputs))) return *measured;
  if (!AttributedNs(node, device.parsed.type) && AreSizesKnown(inputs) && AreSizesKnown(outputs)) {
    if (const auto fitted = Fitted(key, node.op, WorkOf(node, inputs, outputs))) return *fitted;
  }
  return Blind(RooflineCost().Launch(machine, device_number, node, inputs, outputs));
}

CostEstimate CalibratedCost::Launch(const DeviceSpec& device, const SignedWork& work) const {
  const std::string key = CostDevice(device);
  if (const auto measured = Measured(key, work.signature)) return *measured;
  if (!work.op.empty()) {
    if (const auto fitted = Fitted(key, work.op, work.work)) return *fitted;
  }
  return {kUnknownNs, static_cast<int64_t>(kUnknownSpread * kUnknownNs), CostBasis::kNothing};
}

CostEstimate CalibratedCost::Copy(const Machine& machine, int src, int dst, int64_t bytes) const {
  const CostEstimate plain = RooflineCost().Copy(machine, src, dst, bytes);
  for (const CopyFit& fit : table_.copies) {
    if (fit.src != machine.device(src).kind || fit.dst != machine.device(dst).kind) continue;
    const double ns = fit.overhead_ns + fit.factor * static_cast<double>(plain.ns);
    const auto size = static_cast<double>(bytes);
    const bool in_range = size >= static_cast<double>(fit.min_bytes) / kRangeSlack &&
                          size <= static_cast<double>(fit.max_bytes) * kRangeSlack;
    return {RoundNs(ns), RoundNs(ns * fit.spread),
            in_range ? CostBasis::kMeasured : CostBasis::kExtrapolated};
  }
  return Blind(plain);
}

}  // namespace lanescope::sims
