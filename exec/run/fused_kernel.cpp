// SPDX-License-Identifier: Apache-2.0
#include "exec/run/fused_kernel.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/schedule/fusion.h"
#include "core/schedule/row_products.h"
#include "exec/kernels/broadcast.h"
#include "exec/kernels/scratch.h"
#include "exec/kernels/tensor_access.h"
#include "exec/run/fused_unit.h"
#include "exec/run/member_context.h"

namespace lanescope::exec {
namespace {

// Elements of a result, `rows` runs of `n` from `first` on.
struct BlockPart {
  int64_t first = 0;
  int64_t rows = 1, n = 0;

  int64_t size() const { return rows * n; }
  Shape Full() const { return Shape{rows, n}; }
};

// Makes the same arithmetic work on operands of two dimensions, of which the last one is the row.
Node NodeOfBlocks(const Node& node, FusionRole role) {
  Node same = node;
  if (node.op == "BiasAdd" || node.op == "BiasAddV1") same.op = "AddV2";
  if (node.op == "Select") same.op = "SelectV2";
  if (role == FusionRole::kReduction) same.attrs["keep_dims"] = true;
  return same;
}

class FusedKernel final : public Kernel {
 public:
  FusedKernel(const Graph& graph, const Schedule& schedule, const Command& command) {
    const auto nodes = schedule.FusedNodes(command);
    const std::vector<int> group = BlockGroups(graph, nodes);
    std::map<int, size_t> unit_of;
    for (size_t i = 0; i < nodes.size(); ++i) {
      const Node& node = graph.node(nodes[i].node);
      const FusionRole role = FusionRoleOf(node);
      const auto [unit, is_new] = unit_of.try_emplace(group[i], units_.size());
      if (is_new) units_.emplace_back().in_blocks = RunsInBlocks(role);
      units_[unit->second].members.push_back(i);
      FusedMember& member = members_.emplace_back();
      member.node = nodes[i];
      member.role = role;
      member.in_place = RunsInBlocks(role) && OpRegistry::Global().Find(node.op)->in_place;
      if (role == FusionRole::kUpdate) {
        member.updated = OpRegistry::Global().Find(node.op)->updates.size();
        member.gradient = static_cast<size_t>(GradientInput(node.op));
      }
      if (role != FusionRole::kProduct)
        member.kernel = KernelRegistry::Host().Create(RunsInBlocks(role) ? NodeOfBlocks(node, role) : node);
    }
    for (FusedUnit& unit : units_) {
      if (!unit.in_blocks) continue;
      FindProducts(graph, schedule, command, &unit);
      FindRows(schedule, command, &unit);
      FindBroadcasts(schedule, command, &unit);
      AssignSlots(&members_, &unit);
    }
  }

  void Compute(KernelContext& launch) override {
    for (const FusedUnit& unit : units_) {
      if (!unit.in_blocks) {
        RunWhole(launch, unit);
      } else {
        unit.matrix > 0 ? RunByRows(launch, unit) : RunInBlocks(launch, unit);
      }
    }
  }

 private:
  const Shape& ShapeOfInput(const Schedule& schedule, const Command& command, int input) const {
    return input < 0 ? members_[static_cast<size_t>(-1 - input)].node.shape
                     : schedule.values[schedule.Inputs(command)[static_cast<size_t>(input)]].shape;
  }

  void FindProducts(const Graph& graph, const Schedule& schedule, const Command& command, FusedUnit* unit) {
    for (const size_t i : unit->members) {
      FusedMember& member = members_[i];
      if (member.role != FusionRole::kProduct) continue;
      const auto inputs = schedule.Inputs(command);
      const auto shape = [&](size_t k) {
        const int input = member.node.inputs[k];
        return input < 0 ? Shape() : schedule.values[inputs[static_cast<size_t>(input)]].shape;
      };
      const MatrixBatch matrices = *MatricesOfLaunch(graph, schedule.FusedNodes(command));
      const RowProduct part = *RowProductIn(graph.node(member.node.node), member.node);
      member.product.emplace(graph.node(member.node.node), part, matrices, shape(0), shape(1));
      member.leaves = part.part != ProductPart::kMakes;
      unit->sums |= part.part == ProductPart::kSums;
      unit->matrix = matrices.rows * matrices.columns;
      unit->block = RowsOfBlock(matrices) * matrices.columns;
    }
  }

  void FindRows(const Schedule& schedule, const Command& command, FusedUnit* unit) {
    for (const size_t i : unit->members) {
      const FusedMember& member = members_[i];
      if (member.updated > 0 || member.leaves) continue;
      unit->elements = std::max(unit->elements, member.node.shape.NumElements());
      if (member.role == FusionRole::kReduction) {
        const Shape& rows = ShapeOfInput(schedule, command, member.node.inputs[0]);
        unit->elements = std::max(unit->elements, rows.NumElements());
      }
      if (member.role == FusionRole::kRowWise) unit->run = member.node.shape[member.node.shape.rank() - 1];
    }
    for (const size_t i : unit->members) {
      if (members_[i].updated > 0 || members_[i].leaves) continue;
      const int64_t elements = members_[i].node.shape.NumElements();
      members_[i].one_a_row = elements < unit->elements;
      if (members_[i].one_a_row) unit->run = unit->elements / elements;
    }
  }

  void FindBroadcasts(const Schedule& schedule, const Command& command, FusedUnit* unit) {
    int64_t longest = 1;  // run that fits a block
    for (const size_t i : unit->members) {
      FusedMember& member = members_[i];
      if (member.role != FusionRole::kElementWise) continue;
      for (size_t k = 0; k < member.node.inputs.size(); ++k) {
        if (member.node.inputs[k] < 0) continue;
        const Shape& shape = ShapeOfInput(schedule, command, member.node.inputs[k]);
        if (shape.NumElements() == member.node.shape.NumElements()) continue;
        const BroadcastPlan plan = BroadcastPlan::Make(member.node.shape, {&shape, 1});
        plan.ForEachPiece(0, 1 << 20 < plan.elements() ? 1 << 20 : plan.elements(),
                          [&](const BroadcastPlan::Piece& piece) {
                            if (piece.begin == 0 && piece.n <= kFusedBlock)
                              longest = std::max(longest, piece.n);
                          });
        member.broadcast.emplace(k, plan);
      }
    }
    if (unit->matrix > 0) return;
    if (unit->run > 1) longest = unit->run;
    unit->block = std::max(kFusedBlock / longest, int64_t{1}) * longest;
  }

  void RunWhole(KernelContext& launch, const FusedUnit& unit) {
    const FusedMember& member = members_[unit.members[0]];
    MemberContext context(launch, member.node, &launch.team());
    for (size_t k = 0; k < member.node.inputs.size(); ++k) {
      const int input = member.node.inputs[k];
      context.SetInput(k, input >= 0 ? launch.input(input)
                                     : launch.output(members_[static_cast<size_t>(-1 - input)].node.output));
    }
    context.TakeVariables();
    if (member.node.output >= 0) context.SetOutput(launch.output(member.node.output));
    member.kernel->Compute(context);
  }

  void RunInBlocks(KernelContext& launch, const FusedUnit& unit) const {
    // Workers get as much at once as from ops that run by themselves.
    const int64_t grain = std::max(kElementGrain / unit.block, int64_t{1}) * unit.block;
    launch.team().ParallelFor(unit.elements, grain,
                              [&](int64_t begin, int64_t end) { RunStretch(launch, unit, begin, end); });
  }

  // Blocks end with a matrix. One thread adds up what the rows of a matrix give.
  void RunByRows(KernelContext& launch, const FusedUnit& unit) const {
    const int64_t whole = std::max(unit.block, unit.matrix);
    const int64_t parts = unit.sums ? 1 : (unit.matrix + unit.block - 1) / unit.block;
    const int64_t stretches = (unit.elements + whole - 1) / whole;
    launch.team().ParallelFor(stretches * parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i / parts * whole, past = std::min(first + whole, unit.elements);
        const int64_t from = first + i % parts * unit.block;
        RunStretch(launch, unit, from, parts == 1 ? past : std::min(from + unit.block, past));
      }
    });
  }

  // Block after block on the calling thread.
  void RunStretch(KernelContext& launch, const FusedUnit& unit, int64_t begin, int64_t end) const {
    CallersThread team;
    std::vector<MemberContext> contexts;
    contexts.reserve(unit.members.size());
    for (const size_t i : unit.members) contexts.emplace_back(launch, members_[i].node, &team);
    constexpr int kSpread = 3;  // operands of one node that are broadcast, at most
    std::byte* const memory =
        ThreadScratch<FusedKernel, std::byte>((unit.slots + kSpread) * unit.slot_bytes());
    for (int64_t first = begin; first < end; first += unit.block) {
      const int64_t n = std::min(unit.block, end - first);
      for (size_t m = 0; m < unit.members.size(); ++m)
        RunBlock(launch, unit, unit.members[m], first, n, memory, &contexts[m]);
    }
  }

  static TensorRef RefOf(DataType dtype, const Shape& shape, void* data) {
    TensorRef ref;
    ref.dtype = dtype;
    ref.shape = shape;
    ref.data = data;
    ref.capacity_bytes = shape.NumElements() * static_cast<int64_t>(ElementSize(dtype));
    return ref;
  }

  // The part of a result that belongs to the elements [first, first + n) of the unit.
  static BlockPart PartOf(const FusedUnit& unit, bool one_a_row, int64_t first, int64_t n) {
    if (one_a_row) return {first / unit.run, n / unit.run, 1};
    return {first, n / unit.run, unit.run};
  }

  void RunBlock(KernelContext& launch, const FusedUnit& unit, size_t number, int64_t first, int64_t n,
                std::byte* memory, MemberContext* context) const {
    const FusedMember& member = members_[number];
    BlockPart own = PartOf(unit, member.one_a_row, first, n);
    if (unit.run == 1) own = InRuns(member, first, n);
    const auto made = [&](size_t i) {
      const FusedMember& maker = members_[i];
      BlockPart part = PartOf(unit, maker.one_a_row, first, n);
      if (unit.run == 1) part = own;
      void* data = memory + maker.slot * unit.slot_bytes();
      if (maker.slot < 0)
        data = ElementAt(maker.node.dtype, launch.output(maker.node.output).data, part.first);
      return RefOf(maker.node.dtype, part.Full(), data);
    };
    if (member.product) {
      const auto operand = [&](int input) {
        return input >= 0 ? launch.input(input).data : made(static_cast<size_t>(-1 - input)).data;
      };
      void* const result = member.leaves ? launch.output(member.node.output).data : made(number).data;
      return member.product->Run(first, n, operand(member.node.inputs[0]), operand(member.node.inputs[1]),
                                 result);
    }
    std::byte* spread = memory + unit.slots * unit.slot_bytes();
    const size_t updated = member.updated;
    if (updated > 0) context->TakeParts(updated, own.first, own.Full());
    for (size_t k = updated; k < member.node.inputs.size(); ++k) {
      const int input = member.node.inputs[k];
      if (input < 0) {
        context->SetInput(k, made(static_cast<size_t>(-1 - input)));
        continue;
      }
      const TensorRef& tensor = launch.input(input);
      if (member.role == FusionRole::kReduction && k == 1) {
        context->SetInput(k, LastAxis());
      } else if (updated > 0 && k != member.gradient) {
        context->SetInput(k, tensor);
      } else if (const auto plan = member.broadcast.find(k); plan != member.broadcast.end()) {
        context->SetInput(k, Broadcast(tensor, plan->second, own, spread));
        spread += unit.slot_bytes();
      } else {
        const BlockPart read = member.role == FusionRole::kReduction ? PartOf(unit, false, first, n) : own;
        context->SetInput(k,
                          RefOf(tensor.dtype, read.Full(), ElementAt(tensor.dtype, tensor.data, read.first)));
      }
    }
    if (updated == 0) context->SetOutput(made(number));
    member.kernel->Compute(*context);
  }

  // The rows of a block are its last dimension.
  static TensorRef LastAxis() {
    static int32_t axis = 1;
    return RefOf(DataType::kInt32, Shape{1}, &axis);
  }

  // In the runs of an input that changes from row to row, or is the same in each; one run where there is
  // none.
  static BlockPart InRuns(const FusedMember& member, int64_t first, int64_t n) {
    BlockPart part{first, 1, n};
    for (const auto& [k, plan] : member.broadcast) {
      plan.ForEachPiece(first, first + n, [&](const BroadcastPlan::Piece& piece) {
        const bool whole =
            piece.rows > 1 && piece.rows * piece.n == n && piece.row[0] != piece.step[0] * piece.n;
        if (whole && part.rows == 1) part = {first, piece.rows, piece.n};
      });
    }
    return part;
  }

  // The elements of a block of an input that is broadcast: where they are, if the kernel can find them there,
  // else spread out at `memory`.
  static TensorRef Broadcast(const TensorRef& tensor, const BroadcastPlan& plan, const BlockPart& part,
                             std::byte* memory) {
    const int64_t end = part.first + part.size();
    std::optional<TensorRef> found;
    plan.ForEachPiece(part.first, end, [&](const BroadcastPlan::Piece& piece) {
      if (piece.rows * piece.n != part.size()) return;
      char* const data = ElementAt(tensor.dtype, static_cast<char*>(tensor.data), piece.offset[0]);
      const bool rows_differ = piece.rows > 1 && piece.row[0] != 0;
      if (!rows_differ && piece.step[0] == 0) {
        found = RefOf(tensor.dtype, Shape{}, data);
      } else if (piece.step[0] == 1 && (piece.rows == 1 || piece.row[0] == piece.n)) {
        found = RefOf(tensor.dtype, part.Full(), data);
      } else if (piece.rows == part.rows && piece.n == part.n && piece.step[0] + piece.row[0] == 1) {
        found = RefOf(tensor.dtype, piece.step[0] == 1 ? Shape{piece.n} : Shape{piece.rows, 1}, data);
      }
    });
    if (found) return *found;
    DispatchBySize(tensor.dtype, [&]<typename T>(T) {
      if constexpr (!std::is_same_v<T, std::string>) {
        plan.ForEachPiece(part.first, end, [&](const BroadcastPlan::Piece& piece) {
          T* to = reinterpret_cast<T*>(memory) + (piece.begin - part.first);
          for (int64_t row = 0; row < piece.rows; ++row, to += piece.n) {
            const T* from = tensor.as<const T>() + piece.offset[0] + row * piece.row[0];
            if (piece.step[0] == 1) {
              std::copy(from, from + piece.n, to);
            } else {
              std::fill(to, to + piece.n, *from);
            }
          }
        });
      }
    });
    return RefOf(tensor.dtype, part.Full(), memory);
  }

  std::vector<FusedMember> members_;
  std::vector<FusedUnit> units_;
};

}  // namespace

std::unique_ptr<Kernel> MakeFusedKernel(const Graph& graph, const Schedule& schedule,
                                        const Command& command) {
  return std::make_unique<FusedKernel>(graph, schedule, command);
}

}  // namespace lanescope::exec
