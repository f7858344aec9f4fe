// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/stage_cut.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "core/graph/op.h"
#include "core/strategies/pipeline_error.h"
#include "core/strategies/recompute.h"

namespace lanescope {
namespace {

PlaceLoad Sum(const PlaceLoad& a, const PlaceLoad& b) {
  return {a.ns + b.ns, a.state + b.state, a.activation + b.activation, a.joined};
}

class StageCut {
 public:
  StageCut(const Machine& machine, const std::vector<DeviceId>& gpus, const std::vector<PlaceLoad>& loads,
           const PipelineOrder& order)
      : machine_(machine), gpus_(gpus), loads_(loads), order_(order) {
    for (int stage = 0; stage < order.stages; ++stage) {
      for (int part = 0; part < order.parts; ++part) ahead_.push_back(PassesAhead(order, stage, part));
    }
  }

  std::vector<int> Run() const {
    double low = 0, high = 0;
    for (const PlaceLoad& load : loads_) {
      low = std::max(low, load.ns);
      high += load.ns;
    }
    std::vector<int> best = Pack(high);
    if (best.empty()) {
      RefusePipeline("no cut into {} stages fits the GPUs' memory with {} micro-batches", gpus_.size(),
                     order_.micro_batches);
    }
    for (int i = 0; i < 50 && low < high; ++i) {
      const double middle = (low + high) / 2;
      std::vector<int> ends = Pack(middle);
      if (ends.empty()) {
        low = middle;
      } else {
        best = std::move(ends);
        high = middle;
      }
    }
    return best;
  }

 private:
  // Fills one part after the other; empty: that takes more parts than there are.
  std::vector<int> Pack(double most_ns) const {
    std::vector<double> used(gpus_.size(), 0);  // bytes of the parts that are full
    std::vector<int> ends;
    PlaceLoad part;
    for (size_t place = 0; place < loads_.size(); ++place) {
      const PlaceLoad& load = loads_[place];
      const bool room = ends.size() < num_parts() && Fits(Sum(part, load), ends.size(), used);
      if (room && part.ns + load.ns <= most_ns * (1 + 1e-12)) {
        part = Sum(part, load);
        continue;
      }
      if (ends.size() < num_parts()) used[StageOf(ends.size())] += BytesOf(part, ends.size());
      ends.push_back(static_cast<int>(place) - 1);
      part = load;
      if (ends.size() >= num_parts() || !Fits(part, ends.size(), used)) return {};
    }
    ends.push_back(static_cast<int>(loads_.size()) - 1);
    return ends;
  }
  size_t num_parts() const { return gpus_.size() * static_cast<size_t>(order_.parts); }
  size_t StageOf(size_t part) const { return part % gpus_.size(); }
  double BytesOf(const PlaceLoad& load, size_t part) const {
    const int ahead = ahead_[StageOf(part) * static_cast<size_t>(order_.parts) + part / gpus_.size()];
    return load.state + load.activation * ahead / order_.micro_batches;
  }
  bool Fits(const PlaceLoad& load, size_t part, const std::vector<double>& used) const {
    const int64_t limit = machine_.device(gpus_[StageOf(part)]).memory_bytes;
    return limit <= 0 || used[StageOf(part)] + BytesOf(load, part) <= static_cast<double>(limit);
  }

  const Machine& machine_;
  const std::vector<DeviceId>& gpus_;
  const std::vector<PlaceLoad>& loads_;
  const PipelineOrder& order_;
  std::vector<int> ahead_;  // by stage and part of it
};

// A block that is computed again is so in one go, on one GPU: else its stages waited for each other again.
void JoinBlocks(const Graph& graph, const ForwardOrder& order, std::vector<PlaceLoad>* loads) {
  std::map<std::string, std::pair<int, int>> blocks;  // first and last place
  for (const NodeId id : graph.node_ids()) {
    if (!order.is_dropped(id) || order.place(id) < 0) continue;
    const int place = order.place(id);
    const auto [found, added] = blocks.emplace(NumberedScope(graph.node(id).name), std::pair(place, place));
    found->second = {std::min(found->second.first, place), std::max(found->second.second, place)};
  }
  for (const auto& [name, places] : blocks) {
    for (int place = places.first + 1; place <= places.second; ++place)
      (*loads)[static_cast<size_t>(place)].joined = true;
  }
}

}  // namespace

std::vector<PlaceLoad> LoadsOf(const RewriteInput& input, const IdVector<NodeId, ReplicaRole>& roles,
                               const ForwardOrder& order, DeviceId gpu) {
  std::vector<PlaceLoad> loads(static_cast<size_t>(order.num_places()));
  std::vector<TensorInfo> inputs;
  for (const NodeId id : input.graph.node_ids()) {
    if (order.place(id) < 0) continue;
    PlaceLoad& load = loads[static_cast<size_t>(order.place(id))];
    const Node& node = input.graph.node(id);
    const auto outputs = input.info.outputs(id);
    const OpDef* def = OpRegistry::Global().Find(node.op);
    if (def != nullptr && def->role == StateRole::kVariable) {
      const TensorInfo& info = input.info.of({id, 0});
      load.state += 2.0 * static_cast<double>(BytesOf(info.handle != nullptr ? *info.handle : info));
    }
    if (roles[id] != ReplicaRole::kReplicated) continue;
    inputs.clear();
    for (const Endpoint& endpoint : node.inputs) inputs.push_back(input.info.of(endpoint));
    load.ns += static_cast<double>(input.costs.Launch(input.machine, gpu, node, inputs, outputs).ns);
    if (!order.is_forward(id) || order.is_dropped(id)) continue;
    for (const TensorInfo& output : outputs) load.activation += static_cast<double>(BytesOf(output));
  }
  for (PlaceLoad& load : loads) {
    load.state /= input.sharers;
    load.activation /= input.sharers;
  }
  JoinBlocks(input.graph, order, &loads);
  return loads;
}

std::vector<int> CutIntoParts(const Machine& machine, const std::vector<DeviceId>& gpus,
                              const std::vector<PlaceLoad>& loads, const PipelineOrder& order) {
  std::vector<PlaceLoad> units;
  std::vector<int> last;  // place of a unit
  for (size_t place = 0; place < loads.size(); ++place) {
    if (!loads[place].joined || units.empty()) {
      units.push_back(loads[place]);
      last.push_back(static_cast<int>(place));
    } else {
      units.back() = Sum(units.back(), loads[place]);
      last.back() = static_cast<int>(place);
    }
  }
  std::vector<int> ends = StageCut(machine, gpus, units, order).Run();
  for (int& end : ends) end = last[static_cast<size_t>(end)];
  return ends;
}

}  // namespace lanescope
