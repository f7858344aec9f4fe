// SPDX-License-Identifier: Apache-2.0
// Lets nodes share a launch: element-wise ops that read each other's results, so that these need not go to
// memory and back, updates of variables with what makes their gradients and decays the variables, and small
// launches and updates side by side, so that fewer are started. Nodes that cannot (fusible.h) are left alone.

#include <algorithm>
#include <map>
#include <tuple>

#include "core/base/stop_point.h"
#include "core/schedule/compile/draft.h"
#include "core/schedule/compile/fusible.h"
#include "core/schedule/compile/fusion_groups.h"
#include "core/schedule/compile/join_products.h"
#include "core/schedule/compile/recompute.h"
#include "core/schedule/compile/write_fused.h"
#include "core/schedule/fusion.h"

namespace lanescope::compile {
namespace {

constexpr size_t kMaxChain = 48;   // nodes that read each other's results
constexpr size_t kMaxBatch = 256;  // nodes side by side
constexpr int64_t kSmall = 4096;   // elements: such a launch costs more than its work
// Results that others read, too, come no later than this many commands, so that nobody waits long for them
// and nothing is kept long.
constexpr int kNear = 16;
constexpr int kNearUpdate = 64;  // from one update to the next

// The results of a group have `elements`, most of them; where there is a `run`, others have one for each row
// of so many.
struct GroupShape {
  int64_t elements = 0;
  int64_t run = 0;
};

class FusePass {
 public:
  explicit FusePass(Draft* draft)
      : draft_(*draft),
        groups_(*draft),
        role_(draft->commands.size(), FusionRole::kNone),
        is_light_(draft->commands.size(), 0),
        elements_(draft->commands.size(), -1),
        run_(draft->commands.size(), 0) {
    for (const CommandId c : draft_.commands.ids()) Classify(c);
  }

  void JoinChains() {
    for (const CommandId c : groups_.order()) {
      StopPoint();
      if (RunsInBlocks(role_[c]) || role_[c] == FusionRole::kAssign) JoinProducers(c);
      if (role_[c] == FusionRole::kUpdate) JoinUpdate(c);
    }
  }

  // The products of attention go with what lies between them. `again`: what had better be computed again; may
  // be null.
  void JoinProducts(std::vector<Recomputation>* again) {
    ProductJoiner joiner(draft_, &groups_);
    std::vector<CommandId> launches;
    for (const CommandId c : groups_.order()) {
      StopPoint();
      const CommandId group = groups_.Of(c);
      if (!RunsInBlocks(role_[c]) || groups_.Last(group) != c || EndsInUpdate(group)) continue;
      const GroupShape shape = ShapeOfGroup(group);
      if (joiner.Join(group, shape.elements, shape.run)) launches.push_back(c);
    }
    if (again != nullptr) *again = FindRecomputations(draft_, groups_, joiner, launches);
  }

  void WriteLaunches() {
    for (const CommandId c : groups_.order()) {
      StopPoint();
      if (role_[c] != FusionRole::kNone && groups_.Last(groups_.Of(c)) == c) JoinBatch(groups_.Of(c));
    }
    WriteFused(&draft_, groups_);
  }

 private:
  const Shape& ShapeOf(ValueId value) const { return draft_.value(value).shape; }

  void Classify(CommandId c) {
    const Command& command = draft_.command(c);
    role_[c] = RoleInLaunch(draft_, command);
    if (role_[c] == FusionRole::kProduct) role_[c] = FusionRole::kNone;  // until JoinProducts takes it
    is_light_[c] = command.kind == CommandKind::kCopy ||
                   (role_[c] != FusionRole::kNone && role_[c] != FusionRole::kRowWise &&
                    role_[c] != FusionRole::kReduction);
    if (role_[c] == FusionRole::kUpdate) elements_[c] = ShapeOf(GradientOf(command)).NumElements();
    if (!RunsInBlocks(role_[c])) return;
    const Shape& output = ShapeOf(draft_.Outputs(command)[0]);
    elements_[c] = output.NumElements();
    if (role_[c] == FusionRole::kRowWise) run_[c] = output[output.rank() - 1];
    if (role_[c] == FusionRole::kReduction)
      run_[c] = ShapeOf(draft_.Inputs(command)[0]).NumElements() / elements_[c];
  }

  bool ShareQueue(CommandId a, CommandId b) const {
    const auto& priority = draft_.placement.priority;
    const NodeId of_a = draft_.command(a).node, of_b = draft_.command(b).node;
    return draft_.device_of(of_a) == draft_.device_of(of_b) &&
           (priority.empty() || priority[of_a] == priority[of_b]);
  }

  CommandId ProducerOf(ValueId value) const { return draft_.producer[draft_.Root(value)]; }

  // Puts the command with those whose results it reads, one after the other.
  void JoinProducers(CommandId c) {
    const Command command = draft_.command(c);
    const bool assign = role_[c] == FusionRole::kAssign;
    for (int i = assign ? 1 : 0; i < command.num_inputs; ++i) {
      const ValueId input = draft_.Inputs(command)[static_cast<size_t>(i)];
      const CommandId producer = ProducerOf(input);
      if (!producer.exists() || !RunsInBlocks(role_[producer])) continue;
      const CommandId from = groups_.Of(producer), to = groups_.Of(c);
      if (from == to || EndsInUpdate(from) || (!assign && !HaveOneShape(from, to))) continue;
      if (!ShareQueue(producer, c)) continue;
      if (groups_.Members(from).size() + groups_.Members(to).size() > kMaxChain) continue;
      if (!IsNear(from, to) || DisturbVariables(from, to) || !groups_.MayJoin(from, to)) continue;
      groups_.Join(from, to);
    }
  }

  ValueId GradientOf(const Command& update) const {
    return draft_.Inputs(update)[static_cast<size_t>(GradientInput(draft_.node(update.node).op))];
  }
  bool EndsInUpdate(CommandId group) const { return role_[groups_.Last(group)] == FusionRole::kUpdate; }

  // Puts the update of a variable behind what makes its gradient, and what changes the variable before it, as
  // the decay of a weight.
  void JoinUpdate(CommandId update) {
    const ValueId gradient = GradientOf(draft_.command(update));
    if (ProducerOf(gradient).exists()) JoinWithUpdate(ProducerOf(gradient), update);
    std::vector<CommandId> before;
    draft_.dependencies.ForEach(update, [&](CommandId c) { before.push_back(c); });
    for (const CommandId assign : before) {
      if (role_[assign] == FusionRole::kAssign && IsDecay(assign, update)) JoinWithUpdate(assign, update);
    }
  }

  // Assigns to the variable of the update what is made of it.
  bool IsDecay(CommandId assign, CommandId update) const {
    const auto assigned = draft_.Inputs(draft_.command(assign));
    const NodeId variable = VariableOf(assigned[0]);
    return assigned[0] == draft_.Inputs(draft_.command(update))[0] &&
           std::ranges::any_of(draft_.Inputs(draft_.command(ProducerOf(assigned[1]))),
                               [&](ValueId v) { return VariableOf(v) == variable; });
  }

  void JoinWithUpdate(CommandId before, CommandId update) {
    const CommandId from = groups_.Of(before), to = groups_.Of(update);
    const Command& command = draft_.command(update);
    const bool same =
        std::ranges::all_of(groups_.Members(from), [&](CommandId c) { return IsLike(c, update); });
    // Numbers are read whole, not by blocks.
    const auto inputs = draft_.Inputs(command);
    const auto gradient = static_cast<size_t>(GradientInput(draft_.node(command.node).op));
    bool makes_number = false;
    for (size_t k = 0; k < inputs.size(); ++k) {
      const CommandId maker = k == gradient ? CommandId() : ProducerOf(inputs[k]);
      makes_number |= maker.exists() && groups_.Of(maker) == from;
    }
    if (from != to && same && !makes_number && ShareQueue(before, update) &&
        groups_.Members(from).size() + groups_.Members(to).size() <= kMaxChain &&
        !DisturbVariables(from, to) && groups_.MayJoin(from, to, &is_light_))
      groups_.Join(from, to);
  }

  GroupShape ShapeOfGroup(CommandId group) const {
    GroupShape shape;
    int64_t fewest = 0;
    for (const CommandId c : groups_.Members(group)) {
      if (!RunsInBlocks(role_[c])) continue;
      const int64_t full = role_[c] == FusionRole::kReduction ? elements_[c] * run_[c] : elements_[c];
      shape.elements = std::max(shape.elements, full);
      fewest = fewest == 0 ? elements_[c] : std::min(fewest, elements_[c]);
      if (run_[c] > 0) shape.run = run_[c];
    }
    if (fewest > 0 && fewest < shape.elements) shape.run = shape.elements / fewest;
    return shape;
  }

  // Whether the results of both groups are rows and elements of the same kind, and read as such.
  bool HaveOneShape(CommandId a, CommandId b) const {
    const GroupShape of_a = ShapeOfGroup(a), of_b = ShapeOfGroup(b);
    const int64_t elements = std::max(of_a.elements, of_b.elements);
    const int64_t fewer = std::min(of_a.elements, of_b.elements);
    int64_t run = std::max(of_a.run, of_b.run);
    if (of_a.run > 0 && of_b.run > 0 && of_a.run != of_b.run) return false;
    if (fewer != elements) {
      // The one that has rows already has the many elements.
      const GroupShape& small = of_a.elements == fewer ? of_a : of_b;
      if (small.run > 0 || elements % fewer != 0) return false;
      if (run == 0) run = elements / fewer;
      if (fewer * run != elements) return false;
    }
    return run <= kMaxRow && IsReadInRows(a, b, elements, run) && IsReadInRows(b, a, elements, run);
  }

  bool IsReadInRows(CommandId makers, CommandId readers, int64_t elements, int64_t run) const {
    return std::ranges::all_of(groups_.Members(readers), [&](CommandId reader) {
      const Command& command = draft_.command(reader);
      return std::ranges::all_of(draft_.Inputs(command), [&](ValueId input) {
        const CommandId producer = ProducerOf(input);
        if (!producer.exists() || groups_.Of(producer) != makers) return true;
        if (role_[reader] == FusionRole::kReduction) return elements_[producer] == elements;
        if (elements_[producer] == elements_[reader]) return true;
        return elements_[reader] == elements && elements_[producer] * run == elements &&
               RowRun(ShapeOf(input), ShapeOf(draft_.Outputs(command)[0])) == run;
      });
    });
  }

  // Whether nobody else waits for the earlier group, or not for long.
  bool IsNear(CommandId from, CommandId to) const {
    bool alone = true, copied = false;
    groups_.ForDependents(from, [&](CommandId next) {
      if (groups_.Of(next) == to) return;
      alone = false;
      copied |= draft_.command(next).kind == CommandKind::kCopy;
    });
    const int distance = groups_.Position(groups_.Last(to)) - groups_.Position(groups_.Last(from));
    return alone || (!copied && distance <= kNear);
  }

  NodeId VariableOf(ValueId value) const {
    return value.exists() ? draft_.value(draft_.Root(value)).variable : NodeId();
  }
  bool Writes(CommandId c, NodeId variable) const {
    const Command& command = draft_.command(c);
    if (RunsInBlocks(role_[c])) return VariableOf(draft_.Outputs(command)[0]) == variable;
    const auto inputs = draft_.Inputs(command);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (VariableOf(inputs[i]) == variable && draft_.op(command.node).Updates(i)) return true;
    }
    return false;
  }

  // Whether one of the groups writes a variable that the other accesses, so that their order would matter
  // in the launch. An element-wise read of the same elements may come before the write.
  bool DisturbVariables(CommandId a, CommandId b) const {
    for (const auto& [writers, others] : {std::pair(a, b), std::pair(b, a)}) {
      for (const CommandId writer : groups_.Members(writers)) {
        const Command& command = draft_.command(writer);
        std::vector<ValueId> touched(draft_.Inputs(command).begin(), draft_.Inputs(command).end());
        touched.insert(touched.end(), draft_.Outputs(command).begin(), draft_.Outputs(command).end());
        for (const ValueId value : touched) {
          const NodeId variable = VariableOf(value);
          if (!variable.exists() || !Writes(writer, variable)) continue;
          for (const CommandId other : groups_.Members(others)) {
            if (Accesses(other, variable, writer)) return true;
          }
        }
      }
    }
    return false;
  }
  bool Accesses(CommandId other, NodeId variable, CommandId writer) const {
    const Command& command = draft_.command(other);
    const auto is_variable = [&](ValueId v) { return VariableOf(v) == variable; };
    if (IsFollowed(other, writer) || IsFollowed(writer, other)) return false;
    // The assignment that its producer has left nothing to do for.
    if (role_[other] == FusionRole::kAssign && ProducerOf(draft_.Inputs(command)[1]) == writer) return false;
    if (role_[writer] == FusionRole::kAssign && ProducerOf(draft_.Inputs(draft_.command(writer))[1]) == other)
      return false;
    if (std::ranges::any_of(draft_.Outputs(command), is_variable)) return true;
    return std::ranges::any_of(draft_.Inputs(command), [&](ValueId v) {
      const bool in_place =
          role_[writer] == FusionRole::kElementWise && groups_.Position(other) < groups_.Position(writer) &&
          elements_[other] == elements_[writer] && ShapeOf(v).NumElements() == elements_[other];
      return is_variable(v) && !(in_place && role_[other] == FusionRole::kElementWise);
    });
  }

  // Whether the update comes after this access of the same elements in every block.
  bool IsFollowed(CommandId c, CommandId update) const {
    return role_[update] == FusionRole::kUpdate && groups_.Position(c) < groups_.Position(update) &&
           IsLike(c, update);
  }
  bool IsLike(CommandId c, CommandId update) const {
    return role_[c] == FusionRole::kAssign ||
           (role_[c] == FusionRole::kElementWise && elements_[c] == elements_[update]);
  }

  // Groups of one key may share a launch side by side: device, priority, and the op of an update, or "" for
  // small launches and those that write variables.
  using BatchKey = std::tuple<DeviceId, int, std::string>;
  bool FindKey(CommandId group, BatchKey* key) const {
    const auto& members = groups_.Members(group);
    const Command& last = draft_.command(members.back());
    const auto& priority = draft_.placement.priority;
    std::get<0>(*key) = draft_.device_of(last.node);
    std::get<1>(*key) = priority.empty() ? 0 : priority[last.node];
    std::get<2>(*key) = "";
    if (role_[members.back()] == FusionRole::kUpdate) {
      std::get<2>(*key) = draft_.node(last.node).op;
      return true;
    }
    return std::ranges::all_of(members, [&](CommandId c) {
      if (role_[c] == FusionRole::kAssign) return true;
      if (role_[c] != FusionRole::kElementWise) return false;
      return elements_[c] <= kSmall || VariableOf(draft_.Outputs(draft_.command(c))[0]).exists();
    });
  }

  void JoinBatch(CommandId group) {
    BatchKey key;
    if (!FindKey(group, &key)) return;
    CommandId& open = open_[key];
    if (open.exists()) open = groups_.Of(open);
    const int near = std::get<2>(key).empty() ? kNear : kNearUpdate;
    const bool joins =
        open.exists() && open != group &&
        groups_.Position(groups_.First(group)) - groups_.Position(groups_.Last(open)) <= near &&
        groups_.Members(open).size() + groups_.Members(group).size() <= kMaxBatch &&
        !DisturbVariables(open, group) && groups_.MayJoin(open, group, &is_light_) && !Reads(open, group) &&
        !Reads(group, open);
    open = joins ? groups_.Join(open, group) : group;
  }

  // Whether a command of `group` waits for one of `other`: those side by side do not.
  bool Reads(CommandId group, CommandId other) const {
    bool found = false;
    groups_.ForDependents(other, [&](CommandId next) { found |= groups_.Of(next) == group; });
    return found;
  }

  Draft& draft_;
  FusionGroups groups_;
  IdVector<CommandId, FusionRole> role_;
  IdVector<CommandId, char> is_light_;     // has a role, or is a copy
  IdVector<CommandId, int64_t> elements_;  // of what it makes in blocks
  IdVector<CommandId, int64_t> run_;       // of its rows, if it works by these
  std::map<BatchKey, CommandId> open_;     // a command of the batch that others may still join
};

}  // namespace

void Fuse(Draft* draft) {
  if (!draft->request.fuse) return;
  {
    FusePass pass(draft);
    pass.JoinChains();
    std::vector<Recomputation> again;
    pass.JoinProducts(&again);
    if (again.empty()) return pass.WriteLaunches();
    Recompute(draft, again);
  }
  FusePass pass(draft);
  pass.JoinChains();
  pass.JoinProducts(nullptr);
  pass.WriteLaunches();
}

}  // namespace lanescope::compile
