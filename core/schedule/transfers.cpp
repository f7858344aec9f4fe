// SPDX-License-Identifier: Apache-2.0
// Transfers as TensorFlow's partitioner would insert them, for the part of the graph that a request runs.
#include <set>
#include <tuple>
#include <vector>

#include "core/base/error.h"
#include "core/graph/op_args.h"
#include "core/place/kernel_table.h"
#include "core/schedule/schedule.h"

namespace lanescope {
namespace {

constexpr int kControl = -1;  // output number of a control edge

class TransferLister {
 public:
  TransferLister(const Graph& graph, const GraphInfo& info, const CompileRequest& request,
                 const Placement& placement, const Machine& machine)
      : graph_(graph),
        request_(request),
        placement_(placement),
        machine_(machine),
        host_(CallersHost(request, machine)),
        info_(info),
        needed_(graph.num_nodes(), false),
        host_outputs_(graph.num_nodes()),
        refs_(graph.num_nodes()) {
    for (const auto& feed : request.feeds) fed_.emplace(feed.first.node, feed.first.output);
  }

  std::vector<Transfer> Run() {
    MarkNeeded();
    for (const NodeId id : graph_.node_ids()) {
      if (needed_[id]) AddInputsOf(id);
    }
    // A fetch is read by the caller, in host memory.
    for (const Endpoint& fetch : request_.fetches) {
      if (fetch.output >= 0) AddData(fetch, host_, true, false);
    }
    return std::move(transfers_);
  }

 private:
  bool IsFed(Endpoint endpoint) const { return fed_.count({endpoint.node, endpoint.output}) > 0; }
  bool IsGpu(DeviceId device) const { return machine_.device(device).is_gpu(); }
  // Fed tensors come from the caller's host memory, wherever their node is placed.
  DeviceId DeviceOf(Endpoint endpoint) const {
    return IsFed(endpoint) ? host_ : placement_.device[endpoint.node];
  }

  // Ancestors of the fetches, cut at the feeds.
  void MarkNeeded() {
    std::vector<NodeId> stack;
    const auto need = [&](Endpoint endpoint) {
      if (IsFed(endpoint)) return;
      if (endpoint.output == kControl && IsFed({endpoint.node, 0}) &&
          graph_.node(endpoint.node).inputs.empty()) {
        return;
      }
      if (needed_[endpoint.node]) return;
      needed_[endpoint.node] = true;
      stack.push_back(endpoint.node);
    };
    for (const Endpoint& fetch : request_.fetches) need(fetch);
    while (!stack.empty()) {
      const Node& node = graph_.node(stack.back());
      stack.pop_back();
      for (const Endpoint& input : node.inputs) need(input);
      for (const NodeId control : node.control_inputs) need({control, kControl});
    }
  }

  void AddInputsOf(NodeId id) {
    const Node& node = graph_.node(id);
    const DeviceId device = placement_.device[id];
    std::vector<bool> host_inputs(node.inputs.size(), true);
    if (IsGpu(device)) {
      host_inputs = KernelTable::Global().HostInputs(node, machine_.device(device).parsed.type);
      host_inputs.resize(node.inputs.size(), false);
    }
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      AddData(node.inputs[i], device, host_inputs[i], IsGpu(device) && host_inputs[i]);
    }
    for (const NodeId control : node.control_inputs) {
      if (needed_[control]) AddControl(control, device);
    }
  }

  // `to_host`: the consumer reads host memory; `by_kernel`: because its GPU kernel says so.
  void AddData(Endpoint tensor, DeviceId dst, bool to_host, bool by_kernel) {
    const DeviceId src = DeviceOf(tensor);
    const bool from_host = IsGpu(src) && IsHostOutput(tensor);
    const bool same_memory = !IsGpu(dst) || from_host == to_host;
    if (src == dst && same_memory) return;
    const bool first = seen_.emplace(tensor.node, tensor.output, dst, to_host).second;
    if (!first && !IsRef(tensor)) return;
    Transfer transfer;
    transfer.tensor = tensor;
    transfer.src = src;
    transfer.dst = dst;
    transfer.bytes = BytesOf(info_.of(tensor));
    transfer.host_memory = from_host || by_kernel;
    transfers_.push_back(transfer);
  }

  void AddControl(NodeId node, DeviceId dst) {
    const DeviceId src = placement_.device[node];
    if (src == dst || !seen_.emplace(node, kControl, dst, false).second) return;
    Transfer transfer;
    transfer.tensor = {node, kControl};
    transfer.src = src;
    transfer.dst = dst;
    transfer.control = true;
    transfers_.push_back(transfer);
  }

  bool IsHostOutput(Endpoint tensor) {
    std::vector<bool>& flags = host_outputs_[tensor.node];
    if (flags.empty()) {
      const DeviceId device = placement_.device[tensor.node];
      flags =
          KernelTable::Global().HostOutputs(graph_.node(tensor.node), machine_.device(device).parsed.type);
    }
    return static_cast<size_t>(tensor.output) < flags.size() && flags[static_cast<size_t>(tensor.output)];
  }

  // A reference is to memory, not a value at a time: two consumers never share what was transferred.
  bool IsRef(Endpoint tensor) {
    std::vector<bool>& flags = refs_[tensor.node];
    const Node& node = graph_.node(tensor.node);
    const OpDef* def = OpRegistry::Global().SignatureOf(node);
    if (flags.empty() && def != nullptr) {
      ForEachArg(def->outputs, node, [&](int, const ArgDef& arg, DataType) { flags.push_back(arg.is_ref); });
    }
    return static_cast<size_t>(tensor.output) < flags.size() && flags[static_cast<size_t>(tensor.output)];
  }

  const Graph& graph_;
  const CompileRequest& request_;
  const Placement& placement_;
  const Machine& machine_;
  const DeviceId host_;
  const GraphInfo& info_;
  IdVector<NodeId, bool> needed_;
  IdVector<NodeId, std::vector<bool>> host_outputs_;  // by node, filled when asked for
  IdVector<NodeId, std::vector<bool>> refs_;          // by node, filled when asked for
  std::set<std::pair<NodeId, int>> fed_;
  std::set<std::tuple<NodeId, int, DeviceId, bool>> seen_;  // node, output, destination, host memory
  std::vector<Transfer> transfers_;
};

}  // namespace

std::vector<Transfer> ListTransfers(const Graph& graph, const GraphInfo& info, const CompileRequest& request,
                                    const Placement& placement, const Machine& machine) {
  return TransferLister(graph, info, request, placement, machine).Run();
}

}  // namespace lanescope
