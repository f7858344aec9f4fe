// SPDX-License-Identifier: Apache-2.0
#include "core/place/wire_format.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/graph/graph_builder.h"
#include "core/graph/validate.h"
#include "core/machine/tasks.h"

namespace lanescope {
namespace {

// Below this a message costs its latency, whatever it carries.
constexpr int64_t kSmallestBytes = 4 << 10;
constexpr std::array<std::string_view, 3> kNames{"float32", "bfloat16", "int8"};

class WireWriter {
 public:
  WireWriter(const Graph& graph, const GraphInfo& info,
             std::span<const std::pair<Endpoint, TensorInfo>> feeds, const Placement& placement,
             const Machine& machine, WireFormat format)
      : before_(graph),
        info_(info),
        placement_(placement),
        machine_(machine),
        tasks_(TasksOf(machine)),
        format_(format),
        after_{graph, placement} {
    for (const auto& [endpoint, fed] : feeds) fed_.emplace(endpoint.node, endpoint.output);
  }

  WiredGraph Write(std::span<const Endpoint> fetches) {
    const std::vector<NodeId> readers = NeededFor(fetches);
    for (const NodeId reader : readers) {
      const Node& node = before_.node(reader);
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (!GoesOnWire(reader, static_cast<int>(i))) continue;
        after_.graph.node(reader).inputs[i] = Restored(node.inputs[i], placement_.device[reader]);
      }
    }
    return std::move(after_);
  }

 private:
  bool IsFed(Endpoint endpoint) const { return fed_.contains({endpoint.node, endpoint.output}); }
  // Feeds come from the first task.
  DeviceId HomeOf(Endpoint endpoint) const {
    return IsFed(endpoint) ? machine_.host() : placement_.device[endpoint.node];
  }
  DeviceId ConverterOf(DeviceId device) const {
    return machine_.device(device).is_hardware() ? tasks_.host_of[device] : device;
  }

  // In the order of their ids.
  std::vector<NodeId> NeededFor(std::span<const Endpoint> fetches) const {
    std::set<NodeId> needed;
    std::vector<NodeId> open;
    const auto need = [&](Endpoint endpoint) {
      if (!IsFed(endpoint) && needed.insert(endpoint.node).second) open.push_back(endpoint.node);
    };
    for (const Endpoint& fetch : fetches) need(fetch);
    while (!open.empty()) {
      const Node& node = before_.node(open.back());
      open.pop_back();
      for (const Endpoint& input : node.inputs) need(input);
      for (const NodeId control : node.control_inputs) need({control, -1});
    }
    return {needed.begin(), needed.end()};
  }

  bool GoesOnWire(NodeId reader, int input) const {
    const Endpoint tensor = before_.node(reader).inputs[static_cast<size_t>(input)];
    const TensorInfo& info = info_.of(tensor);
    if (info.dtype != DataType::kFloat || info.value != nullptr || !info.shape.HasBound()) return false;
    if (BytesOf(info) < kSmallestBytes || (format_ == WireFormat::kInt8 && !info.shape.IsExact()))
      return false;
    const DeviceId from = HomeOf(tensor), to = placement_.device[reader];
    if (!from.exists() || !to.exists() || tasks_.SameTask(from, to)) return false;
    return !IsRefInput(before_.node(reader), input) && !IsChangedBefore(tensor, reader);
  }

  // Whether the tensor is a variable's memory, and something that the reader waits for writes to it.
  bool IsChangedBefore(Endpoint tensor, NodeId reader) const {
    if (IsFed(tensor)) return false;
    const Node& source = before_.node(tensor.node);
    const std::vector<DataType> types = OutputTypes(source);
    const auto output = static_cast<size_t>(tensor.output);
    if (output >= types.size() || !IsRefType(types[output])) return false;
    const std::array<Endpoint, 1> wanted{Endpoint{reader, -1}};
    for (const NodeId before : NeededFor(wanted)) {
      const Node& node = before_.node(before);
      for (size_t i = 0; before != reader && i < node.inputs.size(); ++i) {
        if (node.inputs[i] == tensor && IsRefInput(node, static_cast<int>(i))) return true;
      }
    }
    return false;
  }

  Endpoint Converted(Endpoint tensor) {
    const auto known = converted_.find({tensor.node, tensor.output});
    if (known != converted_.end()) return known->second;
    const DeviceId device = ConverterOf(HomeOf(tensor));
    NodeBuilder node = New(format_ == WireFormat::kInt8 ? "PackScaledInt8" : "Cast", tensor, "to");
    node.Input(tensor);
    if (format_ == WireFormat::kBfloat16)
      node.Attr("SrcT", DataType::kFloat).Attr("DstT", DataType::kBfloat16).Attr("Truncate", true);
    return converted_[{tensor.node, tensor.output}] = Add(&node, device, tensor.node);
  }

  // As readers on the device take it.
  Endpoint Restored(Endpoint tensor, DeviceId reader) {
    const DeviceId device = ConverterOf(reader);
    const std::tuple key{tensor.node, tensor.output, device};
    const auto known = restored_.find(key);
    if (known != restored_.end()) return known->second;
    const Endpoint converted = Converted(tensor);
    NodeBuilder node = New(format_ == WireFormat::kInt8 ? "UnpackScaledInt8" : "Cast", tensor, "from");
    node.Input(converted);
    if (format_ == WireFormat::kBfloat16)
      node.Attr("SrcT", DataType::kBfloat16).Attr("DstT", DataType::kFloat);
    else
      node.Attr("shape", info_.of(tensor).shape);
    return restored_[key] = Add(&node, device, tensor.node);
  }

  // "NAME/to_bfloat16", with a number where there is more than one.
  NodeBuilder New(std::string_view op, Endpoint tensor, std::string_view direction) {
    const std::string name =
        fmt::format("{}/{}_{}", before_.node(tensor.node).name, direction, WireFormatName(format_));
    std::string unused = name;
    for (int i = 1; after_.graph.FindNode(unused).exists(); ++i) unused = fmt::format("{}_{}", name, i);
    return {&after_.graph, op, unused};
  }

  Endpoint Add(NodeBuilder* node, DeviceId device, NodeId like) {
    node->Device(machine_.device(device).name);
    const Endpoint added = node->Build();
    after_.placement.device.Add(device);
    if (!placement_.priority.empty()) after_.placement.priority.Add(placement_.priority[like]);
    return added;
  }

  const Graph& before_;
  const GraphInfo& info_;
  const Placement& placement_;
  const Machine& machine_;
  const MachineTasks tasks_;
  const WireFormat format_;
  WiredGraph after_;
  std::set<std::pair<NodeId, int>> fed_;
  std::map<std::pair<NodeId, int>, Endpoint> converted_;
  std::map<std::tuple<NodeId, int, DeviceId>, Endpoint> restored_;
};

}  // namespace

std::string_view WireFormatName(WireFormat format) { return kNames[static_cast<size_t>(format)]; }

std::optional<WireFormat> ParseWireFormat(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<WireFormat>(found - kNames.begin());
}

WiredGraph WriteWireFormat(const Graph& graph, const GraphInfo& info,
                           std::span<const std::pair<Endpoint, TensorInfo>> feeds,
                           std::span<const Endpoint> fetches, const Placement& placement,
                           const Machine& machine, WireFormat format) {
  if (format == WireFormat::kFloat32) return {graph, placement};
  return WireWriter(graph, info, feeds, placement, machine, format).Write(fetches);
}

}  // namespace lanescope
