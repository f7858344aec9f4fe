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

CostEstimate CalibratedCost::Launch(const Machine& machine, int device_number, const Node& node,
                                    std::span<const TensorInfo> inputs,
                                    std::span<const TensorInfo> outputs) const {
  const DeviceSpec& device = machine.device(device_number);
  const std::string device_key = CostDevice(device);
  const auto entry = entries_.find(Key(device_key, OpSignature(node, inputs, outputs)));
  if (entry != entries_.end()) {
    const LaunchCost& cost = table_.launches[entry->second];
    return {cost.ns, cost.spread_ns, CostBasis::kMeasured};
  }
  const bool attributed = AttributedNs(node, device.parsed.type).has_value();
  const RooflineFit* fit = nullptr;
  bool same_op = true;
  if (const auto found = op_fits_.find(Key(device_key, node.op)); found != op_fits_.end()) {
    fit = &found->second;
  }
  if (fit == nullptr || fit->points < kMinFitPoints) {
    const auto found = device_fits_.find(device_key);
    fit = found == device_fits_.end() ? nullptr : &found->second;
    same_op = false;
  }
  const bool told = !attributed && AreSizesKnown(inputs) && AreSizesKnown(outputs);
  if (!told || fit == nullptr || fit->points < kMinFitPoints) {
    return Blind(RooflineCost().Launch(machine, device_number, node, inputs, outputs));
  }
  const OpWork work = WorkOf(node, inputs, outputs);
  const double ns = fit->Predict(static_cast<double>(work.flops), static_cast<double>(work.bytes));
  const bool near = static_cast<double>(work.flops) <= kRangeSlack * fit->max_flops &&
                    static_cast<double>(work.bytes) <= kRangeSlack * fit->max_bytes;
  return {RoundNs(ns), RoundNs(ns * fit->spread),
          same_op && near ? CostBasis::kFitted : CostBasis::kExtrapolated};
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
