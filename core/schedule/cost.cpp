// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/cost.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/collective/joint_launch.h"
#include "core/machine/collective.h"
#include "core/machine/copy_time.h"

namespace lanescope {
namespace {

constexpr double kLongestNs = 0x1p60;
constexpr int64_t kLongestWaitNs = 1'000'000'000'000;  // 1000 s

int64_t RoundNs(double ns) { return static_cast<int64_t>(std::llround(std::clamp(ns, 0.0, kLongestNs))); }

double BandwidthOr(double bandwidth) { return bandwidth > 0 ? bandwidth : kAssumedBandwidth; }

// Whether something was timed by a bandwidth that nobody gave.
bool IsAssumed(double bandwidth, double amount) { return !(bandwidth > 0) && amount > 0; }

// By the op's definition, or by what the node says.
bool IsWorkKnown(const Node& node, std::span<const TensorInfo> inputs, std::span<const TensorInfo> outputs) {
  if (node.FindAttr("_lanescope_cost") != nullptr) return true;
  return OpRegistry::Global().Find(node.op) != nullptr && AreSizesKnown(inputs) && AreSizesKnown(outputs);
}

// Rate of the output's element type, else of float, else of any type that the file lists.
double PeakFlops(const DeviceSpec& device, std::span<const TensorInfo> outputs) {
  if (device.peak_flops.empty()) return kAssumedFlops;
  const DataType dtype = outputs.empty() ? DataType::kFloat : RemoveRef(outputs[0].dtype);
  for (const DataType wanted : {dtype, DataType::kFloat}) {
    const auto found = device.peak_flops.find(wanted);
    if (found != device.peak_flops.end()) return found->second;
  }
  return device.peak_flops.begin()->second;
}

// The time of a collective on the machine's cluster.
std::optional<int64_t> ClusterNs(const Machine& machine, const Node& node) {
  if (!machine.cluster) return std::nullopt;
  const std::optional<AttributedCollective> given = CollectiveOf(node);
  if (!given) return std::nullopt;
  const auto kind = ParseCollectiveKind(given->kind);
  const auto algorithm = ParseCollectiveAlgorithm(given->algorithm.empty() ? "nccl" : given->algorithm);
  if (!kind || !algorithm) {
    Throw(Code::kInvalidArgument,
          "node '{}': no collective is a '{}' by '{}'; kinds are all-reduce, all-gather, reduce-scatter, "
          "broadcast and all-to-all, algorithms nccl, ring, tree and hierarchical",
          node.name, given->kind, given->algorithm);
  }
  const auto& [first, count, stride] = given->gpus;
  return std::min(given->wait_ns, kLongestWaitNs) +
         CollectiveNs(*machine.cluster, {*kind, *algorithm, given->bytes, {first, count, stride}});
}

}  // namespace

bool AreSizesKnown(std::span<const TensorInfo> tensors) {
  return std::all_of(tensors.begin(), tensors.end(), [](const TensorInfo& tensor) {
    return tensor.shape.HasBound() || tensor.dtype == DataType::kResource ||
           tensor.dtype == DataType::kVariant;
  });
}

// T = max(work.flops / peak, work.bytes / bandwidth) + launch: the roofline model.
CostEstimate RooflineCost::Launch(const Machine& machine, DeviceId device_number, const Node& node,
                                  std::span<const TensorInfo> inputs,
                                  std::span<const TensorInfo> outputs) const {
  const DeviceSpec& device = machine.device(device_number);
  CostEstimate estimate;
  if (const std::optional<int64_t> given = ClusterNs(machine, node)) {
    estimate.ns = *given;
    return estimate;
  }
  if (const std::optional<int64_t> given = AttributedNs(node, device.parsed.type)) {
    estimate.ns = *given;
    return estimate;
  }
  if (const int64_t joint_ns = inputs.empty() ? 0 : JointLaunchNs(machine, node, BytesOf(inputs[0]));
      joint_ns > 0) {
    estimate.ns = joint_ns + device.launch_ns;
    estimate.spread_ns = RoundNs(kBlindSpread * static_cast<double>(estimate.ns));
    return estimate;
  }
  const OpWork work = WorkOf(node, inputs, outputs);
  const double compute_ns = static_cast<double>(work.flops) * 1e9 / PeakFlops(device, outputs);
  const double memory_ns = static_cast<double>(work.bytes) * 1e9 / BandwidthOr(device.memory_bandwidth);
  estimate.ns = RoundNs(std::max(compute_ns, memory_ns)) + device.launch_ns;
  double spread = kBlindSpread;
  if (!IsWorkKnown(node, inputs, outputs)) {
    estimate.ns = std::max(estimate.ns, kUnknownNs);
    estimate.basis = CostBasis::kNothing;
    spread = kUnknownSpread;
  } else if (compute_ns > memory_ns ? device.peak_flops.empty()
                                    : IsAssumed(device.memory_bandwidth, memory_ns)) {
    estimate.basis = CostBasis::kAssumed;
  }
  estimate.spread_ns = RoundNs(spread * static_cast<double>(estimate.ns));
  return estimate;
}

CostEstimate RooflineCost::Launch(const DeviceSpec& device, const OpWork& work) const {
  const double compute_ns = static_cast<double>(work.flops) * 1e9 / PeakFlops(device, {});
  const double memory_ns = static_cast<double>(work.bytes) * 1e9 / BandwidthOr(device.memory_bandwidth);
  const bool assumed =
      compute_ns > memory_ns ? device.peak_flops.empty() : IsAssumed(device.memory_bandwidth, memory_ns);
  const int64_t ns = RoundNs(std::max(compute_ns, memory_ns)) + device.launch_ns;
  return {ns, RoundNs(kBlindSpread * static_cast<double>(ns)),
          assumed ? CostBasis::kAssumed : CostBasis::kRates};
}

CostEstimate RooflineCost::Copy(const Machine& machine, DeviceId src, DeviceId dst, int64_t bytes) const {
  CostEstimate estimate;
  const Route route = machine.RouteBetween(src, dst);
  estimate.ns = CopyNs(machine, route, bytes);
  const bool timed = route.link >= 0 && !machine.links[static_cast<size_t>(route.link)].table.empty();
  if (!timed && IsAssumed(route.bandwidth, static_cast<double>(bytes))) estimate.basis = CostBasis::kAssumed;
  return estimate;
}

}  // namespace lanescope
