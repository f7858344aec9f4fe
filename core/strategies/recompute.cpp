// SPDX-License-Identifier: Apache-2.0
// Activations are dropped after the forward pass and computed again for the gradients (Chen et al., "Training
// Deep Nets with Sublinear Memory Cost", 2016), as by torch.utils.checkpoint around every block, which is
// what stands under one numbered scope ("h/3/"). What crosses the border of a block is kept. The nodes inside
// that gradients need are written once more, and the first of them wait for the gradients that enter the
// block: nothing is computed again before the backward pass is there.
//
// What cannot be computed twice with the same result is kept: random numbers, of which the comparison that
// makes a mask of them, variables and what changes them, and what GPUs exchange.
//
// Selectively, products and attention are kept besides, as by PyTorch's create_selective_checkpoint_contexts
// with a list of these: what is computed again moves bytes, and multiplies nothing. Where attention stands as
// products and a softmax, its result is kept and its scores are not, as in a kernel (Dao et al.,
// "FlashAttention", 2022, algorithm 4).

#include "core/strategies/recompute.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/collective/joint_launch.h"
#include "core/schedule/compile/op_traits.h"
#include "core/strategies/graph_strategy.h"
#include "core/strategies/variables_in_parts.h"

namespace lanescope {
namespace {

constexpr std::string_view kScope = "recompute/";
// Integers of so many bytes are of shapes: they are kept.
constexpr int64_t kFewBytes = 256;

template <typename... Args>
[[noreturn]] void Refuse(fmt::format_string<Args...> text, Args&&... args) {
  Throw(Code::kInvalidArgument, "recompute: {}", fmt::format(text, std::forward<Args>(args)...));
}

using Marks = IdVector<NodeId, char>;

class Recomputer {
 public:
  Recomputer(const RewriteInput& input, bool keeps_products)
      : input_(input),
        keeps_products_(keeps_products),
        graph_(input.graph),
        order_(graph_.TopologicalOrder()),
        fanout_(ComputeFanout(graph_)),
        forward_(graph_.num_nodes(), 0),
        backward_(forward_),
        kept_(graph_.num_nodes(), 1),
        drawn_(forward_),
        again_(forward_),
        block_(graph_.num_nodes(), -1),
        waits_(graph_.num_nodes()) {}

  StepGraph Run() {
    FindPasses();
    FindBlocks();
    FindDropped();
    const Block* last = nullptr;
    for (size_t b = blocks_.size(); b-- > 0;) {
      FindTriggers(last, &blocks_[b]);
      if (!blocks_[b].readers.empty()) last = &blocks_[b];
    }
    if (std::ranges::none_of(blocks_, [](const Block& block) { return !block.readers.empty(); }))
      Refuse("no gradient reads what a block computes, so there is nothing to compute again");
    return {Write(), input_.spec};
  }

 private:
  struct Block {
    std::vector<NodeId> nodes;     // that gradients need again, inputs first; not read by others
    std::vector<NodeId> readers;   // gradients that read them
    std::vector<NodeId> triggers;  // what the first of the nodes wait for
  };

  const Node& node(NodeId id) const { return graph_.node(id); }
  template <typename Visit>
  void ForEachBefore(NodeId id, const Visit& visit) const {
    for (const Endpoint& endpoint : node(id).inputs) visit(endpoint.node);
    for (const NodeId control : node(id).control_inputs) visit(control);
  }

  // Marks all that leads to a marked node.
  void MarkBefore(Marks* marks) const {
    for (size_t i = order_.size(); i-- > 0;) {
      if ((*marks)[order_[i]] != 0) ForEachBefore(order_[i], [&](NodeId before) { (*marks)[before] = 1; });
    }
  }

  // The loss depends on what is forward; what else updates depend on is backward.
  void FindPasses() {
    if (input_.spec.loss.empty()) Refuse("the run configuration names no loss, so what goes backward?");
    forward_[graph_.FindEndpoint(input_.spec.loss).node] = 1;
    MarkBefore(&forward_);
    bool trains = false;
    for (const NodeId id : order_) {
      if (node(id).name.starts_with(kScope))
        Refuse("'{}' stands there already: the graph computes its blocks again", node(id).name);
      if (!traits_.Of(node(id).op).IsUpdate() || forward_[id] != 0) continue;
      backward_[id] = 1;
      trains = true;
    }
    if (!trains) Refuse("the graph updates no variable: only a step of training has activations that wait");
    MarkBefore(&backward_);
    for (const NodeId id : order_) {
      if (forward_[id] != 0 || traits_.Of(node(id).op).IsUpdate()) backward_[id] = 0;
    }
  }

  void FindBlocks() {
    std::map<std::string, int> numbers;
    for (const NodeId id : order_) {
      if (forward_[id] == 0) continue;
      const std::string name = NumberedScope(node(id).name);
      if (name.empty()) continue;
      const auto [found, added] = numbers.emplace(name, static_cast<int>(blocks_.size()));
      if (added) blocks_.emplace_back();
      block_[id] = found->second;
    }
    if (blocks_.empty()) {
      Refuse(
          "no node of the forward pass is in a numbered scope such as 'h/3/', so there are no blocks; put "
          "what "
          "repeats into one (in PyTorch, modules of a ModuleList)");
    }
  }

  bool HasOneResult(NodeId id) const {
    const compile::OpTraits& traits = traits_.Of(node(id).op);
    if (traits.op_class != compile::OpClass::kOther) return false;
    if (traits.def != nullptr && (traits.def->stateful || traits.def->role != StateRole::kNone)) return false;
    return !traits.may_be_joint && !node(id).op.starts_with("Collective");
  }
  bool IsReadOfVariable(NodeId id) const {
    return node(id).op == "Identity" && IsVariableOp(node(node(id).inputs[0].node));
  }
  int64_t BytesOfAll(NodeId id) const {
    int64_t bytes = 0;
    for (const TensorInfo& output : input_.info.outputs(id)) bytes += BytesOf(output);
    return bytes;
  }
  bool IsShape(NodeId id) const {
    const auto outputs = input_.info.outputs(id);
    return BytesOfAll(id) <= kFewBytes && std::ranges::all_of(outputs, [](const TensorInfo& output) {
             return output.dtype == DataType::kInt32 || output.dtype == DataType::kInt64;
           });
  }
  // It comes from random numbers and constants alone, and is smaller than they are.
  bool IsMask(NodeId id) const {
    bool is_drawn = false;
    for (const Endpoint& input : node(id).inputs) {
      is_drawn |= drawn_[input.node] != 0;
      if (drawn_[input.node] == 0 && node(input.node).op != "Const") return false;
    }
    return is_drawn && BytesOfAll(id) < BytesOfAll(node(id).inputs[0].node);
  }
  bool IsKeptProduct(NodeId id) const {
    const std::string& op = node(id).op;
    if (op.find("ScaledDotProduct") != std::string::npos || op.starts_with("Conv")) return true;
    return op.find("MatMul") != std::string::npos && !LeadsToSoftmax(id);
  }
  // Within the block, with no product between: it makes scores.
  bool LeadsToSoftmax(NodeId product) const {
    std::vector<NodeId> open{product};
    std::set<NodeId> seen;
    while (!open.empty()) {
      const NodeId id = open.back();
      open.pop_back();
      for (const NodeUse& use : fanout_[id]) {
        if (use.input < 0 || block_[use.node] != block_[product] || !seen.insert(use.node).second) continue;
        if (node(use.node).op == "Softmax") return node(product).op != "MatMul";
        if (node(use.node).op.find("MatMul") == std::string::npos) open.push_back(use.node);
      }
    }
    return false;
  }
  bool LeavesBlock(NodeId id) const {
    return std::ranges::any_of(fanout_[id], [&](const NodeUse& use) {
      return use.input >= 0 && forward_[use.node] != 0 && block_[use.node] != block_[id];
    });
  }

  bool IsRedirected(const NodeUse& use) const {
    const OpDef* def = traits_.Of(node(use.node).op).def;
    return use.input >= 0 && backward_[use.node] != 0 && (def == nullptr || !def->metadata);
  }

  void FindDropped() {
    const NodeId loss = graph_.FindEndpoint(input_.spec.loss).node;
    for (const NodeId id : order_) {
      if (block_[id] < 0) continue;
      drawn_[id] = traits_.Of(node(id).op).def != nullptr && traits_.Of(node(id).op).def->stateful ? 1 : 0;
      kept_[id] = !HasOneResult(id) || IsReadOfVariable(id) || IsShape(id) || IsMask(id) || LeavesBlock(id) ||
                          id == loss || (keeps_products_ && IsKeptProduct(id))
                      ? 1
                      : 0;
    }
    for (size_t i = order_.size(); i-- > 0;) {
      const NodeId id = order_[i];
      if (kept_[id] != 0) continue;
      again_[id] = std::ranges::any_of(fanout_[id], [&](const NodeUse& use) {
        return IsRedirected(use) ||
               (use.input >= 0 && again_[use.node] != 0 && block_[use.node] == block_[id]);
      });
    }
    for (const NodeId id : order_) {
      if (again_[id] == 0) continue;
      Block& block = blocks_[static_cast<size_t>(block_[id])];
      block.nodes.push_back(id);
      for (const NodeUse& use : fanout_[id]) {
        if (IsRedirected(use)) block.readers.push_back(use.node);
      }
    }
    for (Block& block : blocks_) {
      std::ranges::sort(block.readers);
      block.readers.erase(std::ranges::unique(block.readers).begin(), block.readers.end());
    }
  }

  // All that depends on the readers of a block, through what waits for it too.
  Marks Behind(const Block& block) const {
    Marks after(graph_.num_nodes(), 0);
    std::vector<NodeId> open = block.readers;
    while (!open.empty()) {
      const NodeId id = open.back();
      open.pop_back();
      if (std::exchange(after[id], 1) != 0) continue;
      for (const NodeUse& use : fanout_[id]) open.push_back(use.node);
      open.insert(open.end(), waits_[id].begin(), waits_[id].end());
    }
    return after;
  }

  // The gradients that enter the block: what its readers read that depends on none of them, and what meets
  // numbers that readers make of the block's values alone, as the places of tokens among experts. A block
  // behind which the loss comes without a gradient has none: it stays as it is. Besides, the block waits for
  // the readers of `last`, whose gradients come before: else the activations of both were there at once.
  void FindTriggers(const Block* last, Block* block) {
    const Marks after = Behind(*block);
    Marks of_values(graph_.num_nodes(), 0), reads_values = of_values;
    for (const NodeId reader : block->readers) reads_values[reader] = 1;
    for (const NodeId id : order_) {
      if (reads_values[id] == 0) continue;
      bool has_gradient = false;
      ForEachBefore(id, [&](NodeId before) {
        const bool enters = backward_[before] != 0 && after[before] == 0 && IsGradient(before);
        if (enters) block->triggers.push_back(before);
        has_gradient |= enters || (after[before] != 0 && of_values[before] == 0);
      });
      of_values[id] = has_gradient ? 0 : 1;
      for (const NodeUse& use : fanout_[id]) {
        if (!has_gradient && backward_[use.node] != 0) reads_values[use.node] = 1;
      }
    }
    if (block->triggers.empty()) {
      for (const NodeId id : block->nodes) again_[id] = 0;
      *block = {};
    } else if (last != nullptr) {
      std::ranges::copy_if(last->readers, std::back_inserter(block->triggers),
                           [&](NodeId reader) { return after[reader] == 0; });
    }
    std::ranges::sort(block->triggers);
    block->triggers.erase(std::ranges::unique(block->triggers).begin(), block->triggers.end());
    // The nodes that are computed again stand between these.
    for (const NodeId trigger : block->triggers)
      waits_[trigger].insert(waits_[trigger].end(), block->readers.begin(), block->readers.end());
  }
  bool IsGradient(NodeId id) const {
    return !node(id).inputs.empty() &&
           std::ranges::any_of(input_.info.outputs(id),
                               [](const TensorInfo& output) { return IsFloating(output.dtype); });
  }
  static bool IsFloating(DataType type) {
    return type == DataType::kFloat || type == DataType::kHalf || type == DataType::kBfloat16 ||
           type == DataType::kDouble;
  }

  // --- the graph ---

  // Nodes in their old order; those of a block that are computed again stand before the first gradient that
  // reads them.
  Graph Write() {
    std::map<NodeId, std::vector<const Block*>> before;
    for (const Block& block : blocks_) {
      if (!block.readers.empty()) before[block.readers.front()].push_back(&block);
    }
    IdVector<NodeId, NodeId> now(graph_.num_nodes()), copy(graph_.num_nodes());
    int next = 0;
    for (const NodeId id : graph_.node_ids()) {
      if (const auto blocks = before.find(id); blocks != before.end()) {
        for (const Block* block : blocks->second) {
          ++next;
          for (const NodeId again : block->nodes) copy[again] = NodeId(next++);
        }
      }
      now[id] = NodeId(next++);
    }
    Graph written;
    for (const NodeId id : graph_.node_ids()) {
      if (const auto blocks = before.find(id); blocks != before.end()) {
        for (const Block* block : blocks->second) {
          const NodeId gate = written.AddNode(Gate(*block, now));
          for (const NodeId again : block->nodes) written.AddNode(Copy(again, gate, now, copy));
        }
      }
      Node node = graph_.node(id);
      const bool redirected = IsRedirected({id, 0, 0});
      for (Endpoint& input : node.inputs)
        input.node = redirected && copy[input.node].exists() ? copy[input.node] : now[input.node];
      for (NodeId& control : node.control_inputs) control = now[control];
      written.AddNode(std::move(node));
    }
    written.extra = graph_.extra;
    return written;
  }

  // Runs when the triggers have.
  Node Gate(const Block& block, const IdVector<NodeId, NodeId>& now) const {
    const NodeId first = block.nodes.front();
    Node gate;
    gate.name = fmt::format("{}{}/begin", kScope, NumberedScope(node(first).name));
    gate.op = "NoOp";
    gate.device = node(first).device;
    for (const NodeId trigger : block.triggers) gate.control_inputs.push_back(now[trigger]);
    return gate;
  }

  Node Copy(NodeId id, NodeId gate, const IdVector<NodeId, NodeId>& now,
            const IdVector<NodeId, NodeId>& copy) const {
    Node node = graph_.node(id);
    node.name = fmt::format("{}{}", kScope, node.name);
    bool is_first = true;
    const auto copied = [&](NodeId before) {
      const bool same_block = block_[before] == block_[id] && again_[before] != 0;
      is_first = is_first && !same_block;
      return same_block ? copy[before] : now[before];
    };
    for (Endpoint& input : node.inputs) input.node = copied(input.node);
    for (NodeId& control : node.control_inputs) control = copied(control);
    if (is_first) node.control_inputs.push_back(gate);
    return node;
  }

  const RewriteInput& input_;
  const bool keeps_products_;
  const Graph& graph_;
  const std::vector<NodeId> order_;
  const Fanout fanout_;
  mutable compile::OpTraitsTable traits_;
  Marks forward_, backward_;
  Marks kept_, drawn_, again_;                   // again_: written once more
  IdVector<NodeId, int> block_;                  // -1: none
  IdVector<NodeId, std::vector<NodeId>> waits_;  // by trigger: what waits for it besides its readers
  std::vector<Block> blocks_;                    // in the order of the forward pass
};

}  // namespace

IdVector<NodeId, NodeId> RecomputedFrom(const Graph& graph) {
  IdVector<NodeId, NodeId> from;
  for (const NodeId id : graph.node_ids()) {
    const std::string_view name = graph.node(id).name;
    const NodeId original = name.starts_with(kScope) ? graph.FindNode(name.substr(kScope.size())) : NodeId();
    from.Add(original.exists() ? original : id);
  }
  return from;
}

std::string NumberedScope(const std::string& name) {
  const std::string block = BlockOf(name);
  const size_t begin = block.find_last_of("/.") + 1;
  const bool numbered =
      begin < block.size() && std::all_of(block.begin() + static_cast<ptrdiff_t>(begin), block.end(),
                                          [](char c) { return c >= '0' && c <= '9'; });
  return numbered && block.size() < name.size() ? block : std::string();
}

StepGraph RecomputeBlocks(const RewriteInput& input) { return Recomputer(input, false).Run(); }
StepGraph RecomputeSelectively(const RewriteInput& input) { return Recomputer(input, true).Run(); }

}  // namespace lanescope
