#include "core/cost.h"

#include <algorithm>
#include <cmath>

namespace lanescope {
namespace {

// Where the machine file gives no rate.
constexpr double kDefaultFlops = 10e9;      // per second
constexpr double kDefaultBandwidth = 10e9;  // bytes per second
constexpr double kLongestNs = 0x1p60;

int64_t RoundNs(double ns) { return static_cast<int64_t>(std::llround(std::clamp(ns, 0.0, kLongestNs))); }

double BandwidthOr(double bandwidth) { return bandwidth > 0 ? bandwidth : kDefaultBandwidth; }

// Rate of the output's element type, else of float, else of any type that the file lists.
double PeakFlops(const DeviceSpec& device, std::span<const TensorInfo> outputs) {
  if (device.peak_flops.empty()) return kDefaultFlops;
  const DataType dtype = outputs.empty() ? DataType::kFloat : RemoveRef(outputs[0].dtype);
  for (const DataType wanted : {dtype, DataType::kFloat}) {
    const auto found = device.peak_flops.find(wanted);
    if (found != device.peak_flops.end()) return found->second;
  }
  return device.peak_flops.begin()->second;
}

// Straight lines between the rows (bytes, ns); the first row's time below them, the last slope above them.
double InterpolateNs(const std::vector<std::pair<int64_t, int64_t>>& table, double bandwidth, int64_t bytes) {
  if (bytes <= table.front().first) return static_cast<double>(table.front().second);
  const auto above = std::lower_bound(table.begin(), table.end(), bytes,
                                      [](const auto& row, int64_t wanted) { return row.first < wanted; });
  double ns_per_byte = 1e9 / BandwidthOr(bandwidth);
  const auto& below = *std::prev(above);
  if (above != table.end()) {
    ns_per_byte =
        static_cast<double>(above->second - below.second) / static_cast<double>(above->first - below.first);
  } else if (table.size() > 1) {
    const auto& previous = *std::prev(above, 2);
    ns_per_byte = static_cast<double>(below.second - previous.second) /
                  static_cast<double>(below.first - previous.first);
  }
  return static_cast<double>(below.second) + ns_per_byte * static_cast<double>(bytes - below.first);
}

}  // namespace

// T = max(work.flops / peak, work.bytes / bandwidth) + launch: the roofline model.
CostEstimate RooflineCost::Launch(const Machine& machine, int device_number, const Node& node,
                                  std::span<const TensorInfo> inputs,
                                  std::span<const TensorInfo> outputs) const {
  const DeviceSpec& device = machine.device(device_number);
  CostEstimate estimate;
  if (const std::optional<int64_t> given = AttributedNs(node, device.parsed.type)) {
    estimate.ns = *given;
    return estimate;
  }
  const OpWork work = WorkOf(node, inputs, outputs);
  const double compute_ns = static_cast<double>(work.flops) * 1e9 / PeakFlops(device, outputs);
  const double memory_ns = static_cast<double>(work.bytes) * 1e9 / BandwidthOr(device.memory_bandwidth);
  estimate.ns = RoundNs(std::max(compute_ns, memory_ns)) + device.launch_ns;
  estimate.spread_ns = static_cast<int64_t>(kBlindSpread * static_cast<double>(estimate.ns));
  return estimate;
}

CostEstimate RooflineCost::Copy(const Machine& machine, int src, int dst, int64_t bytes) const {
  CostEstimate estimate;
  estimate.ns = CopyNs(machine, machine.RouteBetween(src, dst), bytes);
  return estimate;
}

int64_t CopyNs(const Machine& machine, const Route& route, int64_t bytes) {
  if (route.link >= 0) {
    const LinkSpec& link = machine.links[static_cast<size_t>(route.link)];
    if (!link.table.empty()) return RoundNs(InterpolateNs(link.table, route.bandwidth, bytes));
  }
  return route.latency_ns + RoundNs(static_cast<double>(bytes) * 1e9 / BandwidthOr(route.bandwidth));
}

}  // namespace lanescope
