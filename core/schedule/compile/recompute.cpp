// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/compile/recompute.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "core/schedule/cost.h"
#include "core/schedule/fusion.h"

namespace lanescope::compile {
namespace {

class RecomputationFinder {
 public:
  RecomputationFinder(const Draft& draft, const FusionGroups& groups, const ProductJoiner& joiner,
                      const std::vector<CommandId>& launches)
      : draft_(draft), groups_(groups), joiner_(joiner) {
    for (const CommandId c : launches) with_products_.insert(groups.Of(c));
  }

  std::optional<Recomputation> Find(CommandId launch) const {
    const std::optional<MatrixBatch> matrices = MatricesOfGroup(launch);
    if (!matrices) return std::nullopt;
    Recomputation found;
    std::set<CommandId> makers;
    CommandId reading;  // the launch that reads them
    for (const CommandId c : groups_.Members(launch)) {
      const ValueId root = OutputOf(c);
      if (draft_.value(root).shape.NumElements() != matrices->elements()) continue;
      if (joiner_.IsFetched(root)) return std::nullopt;
      bool read = false;
      for (const CommandId user : joiner_.UsersOf(root)) {
        const CommandId group = groups_.Of(user);
        if (group == launch) continue;
        read = true;
        if (std::ranges::find(found.readers, user) == found.readers.end()) found.readers.push_back(user);
        if (joiner_.OperandOf(user, root, *matrices)) continue;  // joins the one that makes them anew
        if (!with_products_.contains(group) || (reading.exists() && reading != group)) return std::nullopt;
        if (!(MatricesOfGroup(group) == matrices)) return std::nullopt;
        reading = group;
      }
      if (!read) continue;
      found.values.push_back(root);
      if (!AddMakers(c, launch, *matrices, &makers)) return std::nullopt;
    }
    if (!reading.exists()) return std::nullopt;
    for (const CommandId c : groups_.Members(launch)) {
      if (makers.contains(c)) found.made_by.push_back(c);
    }
    return found;
  }

 private:
  ValueId OutputOf(CommandId c) const { return draft_.Outputs(draft_.command(c))[0]; }
  bool IsProduct(CommandId c) const {
    return FusionRoleOf(draft_.node(draft_.command(c).node)) == FusionRole::kProduct;
  }

  std::optional<MatrixBatch> MatricesOfGroup(CommandId group) const {
    for (const CommandId c : groups_.Members(group)) {
      if (IsProduct(c)) return MatricesOf(draft_.value(OutputOf(c)).shape);
    }
    return std::nullopt;
  }

  // The commands of the launch that the result of `c` needs. False where they read as much as they save, or
  // a variable, which may have another value by then.
  bool AddMakers(CommandId c, CommandId launch, const MatrixBatch& matrices,
                 std::set<CommandId>* makers) const {
    if (!makers->insert(c).second) return true;
    for (const ValueId input : draft_.Inputs(draft_.command(c))) {
      const Value& root = draft_.value(draft_.Root(input));
      const CommandId producer = draft_.producer[draft_.Root(input)];
      if (producer.exists() && groups_.Of(producer) == launch) {
        if (!AddMakers(producer, launch, matrices, makers)) return false;
        continue;
      }
      const bool is_steady = root.storage == Storage::kPlanned || root.storage == Storage::kConstant ||
                             root.storage == Storage::kFeed;
      if (!is_steady || (!IsProduct(c) && root.shape.NumElements() >= matrices.elements())) return false;
    }
    return true;
  }

  const Draft& draft_;
  const FusionGroups& groups_;
  const ProductJoiner& joiner_;
  std::set<CommandId> with_products_;  // groups
};

// Results that are kept for the backward pass take no more than this part of the device's memory.
constexpr int64_t kMostOfMemory = 4;

DeviceId DeviceOf(const Draft& draft, const Recomputation& of) {
  return draft.device_of(draft.command(of.made_by.front()).node);
}

int64_t BytesOf(const Draft& draft, const Recomputation& of) {
  int64_t bytes = 0;
  for (const ValueId v : of.values) bytes += draft.value(v).bytes;
  return bytes;
}

// Whether computing takes less time than writing and reading, at the rates of a GPU. A host, and
// a virtual device that is one, computes too slowly: it takes 6% to 20% longer (docs/reference/fusion.md).
bool IsFaster(const Draft& draft, const DeviceSpec& device, const Recomputation& of) {
  if (IsOfHostThreads(device.kind) || device.peak_flops.empty() || device.memory_bandwidth <= 0) return false;
  int64_t flops = 0;
  std::vector<TensorInfo> inputs;
  for (const CommandId c : of.made_by) {
    const Node& node = draft.node(draft.command(c).node);
    inputs.clear();
    for (const Endpoint& input : node.inputs) inputs.push_back(draft.info.of(input));
    flops += WorkOf(node, inputs, draft.info.outputs(draft.command(c).node)).flops;
  }
  const RooflineCost costs;
  return costs.Launch(device, {flops, 0}).ns < costs.Launch(device, {0, 2 * BytesOf(draft, of)}).ns;
}

class Recomputer {
 public:
  explicit Recomputer(Draft* draft) : draft_(*draft) {}

  void Add(const Recomputation& found) {
    new_command_.clear();
    new_value_.clear();
    for (const CommandId c : found.made_by) {
      AddAgain(c);
      draft_.repeats[new_command_.at(c)] = *std::ranges::min_element(found.readers);
    }
    for (const CommandId reader : found.readers) Redirect(reader, found.values);
  }

 private:
  void AddAgain(CommandId old) {
    const Command command = draft_.command(old);
    std::vector<ValueId> inputs(draft_.Inputs(command).begin(), draft_.Inputs(command).end());
    const ValueId output = draft_.Outputs(command)[0];
    for (ValueId& input : inputs) input = NewValue(input);
    const CommandId added = draft_.AddLaunch(command.node, inputs, 1);
    const ValueId made = AddValue(output);
    draft_.producer[made] = added;
    draft_.operands.push_back(made);
    new_value_[output] = made;
    new_command_[old] = added;
    std::vector<CommandId> before;
    draft_.dependencies.ForEach(old, [&](CommandId c) { before.push_back(c); });
    for (const CommandId c : before) {
      const auto again = new_command_.find(c);
      draft_.dependencies.Add(added, again == new_command_.end() ? c : again->second);
    }
  }

  ValueId AddValue(ValueId like) {
    const Value copy = draft_.value(like);
    draft_.producer.Add(CommandId());
    return draft_.values.Add(copy);
  }

  // The value that stands for this one from now on, or for an alias: itself where it is not made again.
  ValueId NewValue(ValueId old) {
    if (const auto found = new_value_.find(old); found != new_value_.end()) return found->second;
    const ValueId of = draft_.value(old).alias_of;
    if (!of.exists() || NewValue(of) == of) return old;
    const ValueId alias = AddValue(old);
    draft_.value(alias).alias_of = NewValue(of);
    return new_value_[old] = alias;
  }

  void Redirect(CommandId reader, const std::vector<ValueId>& values) {
    const Command command = draft_.command(reader);
    for (int i = 0; i < command.num_inputs; ++i) {
      const auto at = static_cast<size_t>(command.inputs + i);
      const ValueId root = draft_.Root(draft_.operands[at]);
      if (std::ranges::find(values, root) == values.end()) continue;
      const CommandId maker = draft_.producer[root];
      draft_.operands[at] = NewValue(draft_.operands[at]);
      draft_.dependencies.Add(reader, new_command_.at(maker));
    }
  }

  Draft& draft_;
  std::map<CommandId, CommandId> new_command_;
  std::map<ValueId, ValueId> new_value_;
};

}  // namespace

std::vector<Recomputation> FindRecomputations(const Draft& draft, const FusionGroups& groups,
                                              const ProductJoiner& joiner,
                                              const std::vector<CommandId>& launches) {
  const RecomputationFinder finder(draft, groups, joiner, launches);
  std::vector<std::pair<int, Recomputation>> found;
  IdVector<DeviceId, int64_t> bytes(draft.machine.devices.size(), 0);  // to be kept
  for (const CommandId c : launches) {
    std::optional<Recomputation> one = finder.Find(groups.Of(c));
    if (!one) continue;
    int first = groups.Position(one->readers.front());
    for (const CommandId reader : one->readers) first = std::min(first, groups.Position(reader));
    bytes[DeviceOf(draft, *one)] += BytesOf(draft, *one);
    found.emplace_back(first, std::move(*one));
  }
  std::ranges::stable_sort(found, {}, [](const auto& entry) { return entry.first; });
  std::vector<Recomputation> in_order;
  for (auto& [position, one] : found) {
    const DeviceSpec& device = draft.machine.device(DeviceOf(draft, one));
    const bool fits =
        device.memory_bytes == 0 || bytes[DeviceOf(draft, one)] <= device.memory_bytes / kMostOfMemory;
    if (!fits || IsFaster(draft, device, one)) in_order.push_back(std::move(one));
  }
  return in_order;
}

void Recompute(Draft* draft, const std::vector<Recomputation>& found) {
  Recomputer recomputer(draft);
  for (const Recomputation& one : found) recomputer.Add(one);
}

}  // namespace lanescope::compile
