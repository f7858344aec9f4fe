// SPDX-License-Identifier: Apache-2.0
#include "exec/run/fused_unit.h"

#include <algorithm>
#include <map>

#include "core/schedule/row_products.h"
#include "exec/run/fused_slots.h"

namespace lanescope::exec {
namespace {

// Makes the same arithmetic work on operands of two dimensions, of which the last one is the row.
Node NodeOfBlocks(const Node& node, FusionRole role) {
  Node same = node;
  if (node.op == "BiasAdd" || node.op == "BiasAddV1") same.op = "AddV2";
  if (node.op == "Select") same.op = "SelectV2";
  if (role == FusionRole::kReduction) same.attrs["keep_dims"] = true;
  return same;
}

class PartsMaker {
 public:
  PartsMaker(const Graph& graph, const Schedule& schedule, const Command& command)
      : graph_(graph), schedule_(schedule), command_(command), nodes_(schedule.FusedNodes(command)) {}

  FusedParts Make() {
    const std::vector<int> group = BlockGroups(graph_, nodes_);
    std::map<int, size_t> unit_of;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const auto [unit, is_new] = unit_of.try_emplace(group[i], parts_.units.size());
      if (is_new)
        parts_.units.emplace_back().in_blocks = RunsInBlocks(FusionRoleOf(graph_.node(nodes_[i].node)));
      parts_.units[unit->second].members.push_back(i);
      AddMember(nodes_[i]);
    }
    for (FusedUnit& unit : parts_.units) {
      if (!unit.in_blocks) continue;
      FindProducts(&unit);
      FindRows(&unit);
      FindBroadcasts(&unit);
      AssignSlots(&parts_.members, &unit);
    }
    return std::move(parts_);
  }

 private:
  void AddMember(const FusedNode& fused) {
    const Node& node = graph_.node(fused.node);
    FusedMember& member = parts_.members.emplace_back();
    member.node = fused;
    member.role = FusionRoleOf(node);
    for (const int input : fused.inputs) {
      FusedInput& made = member.inputs.emplace_back();
      if (input < 0) {
        const FusedNode& maker = nodes_[static_cast<size_t>(-1 - input)];
        made.dtype = maker.dtype;
        made.shape = maker.shape;
      } else if (const ValueId value = schedule_.Inputs(command_)[static_cast<size_t>(input)];
                 value.exists()) {
        made.dtype = schedule_.values[value].dtype;
        made.shape = schedule_.values[value].shape;
      }
    }
    const bool in_blocks = RunsInBlocks(member.role);
    if (fused.output >= 0) {
      const ValueId output = schedule_.Outputs(command_)[static_cast<size_t>(fused.output)];
      member.planned = schedule_.RootValue(output).storage == Storage::kPlanned;
    }
    member.in_place = in_blocks && OpRegistry::Global().Find(node.op)->in_place;
    if (member.role == FusionRole::kUpdate) {
      member.updated = OpRegistry::Global().Find(node.op)->updates.size();
      member.gradient = static_cast<size_t>(GradientInput(node.op));
    }
    if (member.role == FusionRole::kProduct) return;
    member.kernel = KernelRegistry::Host().Create(in_blocks ? NodeOfBlocks(node, member.role) : node);
    if (const auto* kernel = dynamic_cast<const LoopKernel*>(member.kernel.get());
        in_blocks && kernel != nullptr)
      member.loop = kernel->OnlyLoop();
  }

  void FindProducts(FusedUnit* unit) {
    for (const size_t i : unit->members) {
      FusedMember& member = parts_.members[i];
      if (member.role != FusionRole::kProduct) continue;
      const Node& node = graph_.node(member.node.node);
      const MatrixBatch matrices = *MatricesOfLaunch(graph_, nodes_);
      const RowProduct part = *RowProductIn(node, member.node);
      const auto shape = [&](size_t k) {
        return member.node.inputs[k] < 0 ? Shape() : member.inputs[k].shape;
      };
      member.product.emplace(node, part, matrices, shape(0), shape(1));
      member.leaves = part.part != ProductPart::kMakes;
      unit->sums |= part.part == ProductPart::kSums;
      unit->matrix = matrices.rows * matrices.columns;
      unit->block = RowsOfBlock(matrices) * matrices.columns;
    }
  }

  void FindRows(FusedUnit* unit) {
    for (const size_t i : unit->members) {
      const FusedMember& member = parts_.members[i];
      if (member.updated > 0 || member.leaves) continue;
      unit->elements = std::max(unit->elements, member.node.shape.NumElements());
      if (member.role == FusionRole::kReduction)
        unit->elements = std::max(unit->elements, member.inputs[0].shape.NumElements());
      if (member.role == FusionRole::kRowWise) unit->run = member.node.shape[member.node.shape.rank() - 1];
    }
    for (const size_t i : unit->members) {
      FusedMember& member = parts_.members[i];
      if (member.updated > 0 || member.leaves) continue;
      const int64_t elements = member.node.shape.NumElements();
      member.one_a_row = elements < unit->elements;
      if (member.one_a_row) unit->run = unit->elements / elements;
    }
  }

  void FindBroadcasts(FusedUnit* unit) {
    int64_t longest = 1;  // run that fits a block
    for (const size_t i : unit->members) {
      FusedMember& member = parts_.members[i];
      if (member.role != FusionRole::kElementWise) continue;
      for (size_t k = 0; k < member.inputs.size(); ++k) {
        FusedInput& input = member.inputs[k];
        if (member.node.inputs[k] < 0 || input.shape.NumElements() == member.node.shape.NumElements())
          continue;
        const BroadcastPlan plan = BroadcastPlan::Make(member.node.shape, {&input.shape, 1});
        plan.ForEachPiece(0, std::min<int64_t>(1 << 20, plan.elements()),
                          [&](const BroadcastPlan::Piece& piece) {
                            if (piece.begin == 0 && piece.n <= kFusedBlock)
                              longest = std::max(longest, piece.n);
                          });
        input.broadcast = plan;
      }
    }
    if (unit->matrix == 0) {
      if (unit->run > 1) longest = unit->run;
      const bool loops =
          std::ranges::all_of(unit->members, [&](size_t i) { return parts_.members[i].loop.exists(); });
      unit->block = std::max((loops ? kLoopBlock : kFusedBlock) / longest, int64_t{1}) * longest;
    }
    unit->block = std::min(unit->block, std::max(unit->elements, int64_t{1}));
  }

  const Graph& graph_;
  const Schedule& schedule_;
  const Command& command_;
  const std::span<const FusedNode> nodes_;
  FusedParts parts_;
};

}  // namespace

FusedParts MakeFusedParts(const Graph& graph, const Schedule& schedule, const Command& command) {
  return PartsMaker(graph, schedule, command).Make();
}

}  // namespace lanescope::exec
