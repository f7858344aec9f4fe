// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/compile/join_products.h"

#include <algorithm>

#include "core/schedule/compile/fusible.h"

namespace lanescope::compile {

ProductJoiner::ProductJoiner(const Draft& draft, FusionGroups* groups)
    : draft_(draft), groups_(*groups), users_(draft.values.size()), is_fetched_(draft.values.size(), 0) {
  for (const CommandId c : draft.commands.ids()) {
    for (const ValueId input : draft.Inputs(draft.command(c))) {
      if (!input.exists()) continue;
      auto& users = users_[draft.Root(input)];
      if (users.empty() || users.back() != c) users.push_back(c);
    }
  }
  for (const ValueId fetch : draft.fetches) is_fetched_[draft.Root(fetch)] = 1;
}

bool ProductJoiner::Join(CommandId group, int64_t elements, int64_t run) {
  if (run < 2 || WritesVariable(group)) return false;
  const CommandId member = groups_.First(group);
  MatrixBatch matrices;
  const auto makers = FindMakers(group, elements, run, &matrices);
  if (makers.empty()) return false;
  const auto readers = FindReaders(group, matrices);
  if (!HaveKernel(makers, readers, matrices)) return false;
  if (!Pays(group, matrices, makers, readers)) return false;
  bool joined = false;
  for (const CommandId maker : makers) joined |= JoinOne(member, maker, -1);
  if (!joined) return false;
  for (const Reader& reader : readers) JoinOne(member, reader.product, reader.operand);
  return true;
}

// Products of one launch are of one type, and what a GPU has no kernel for stays alone as a whole.
bool ProductJoiner::HaveKernel(const std::vector<CommandId>& makers, const std::vector<Reader>& readers,
                               const MatrixBatch& matrices) const {
  const CommandId first = makers.front();
  const auto is_like = [&](CommandId product) {
    return draft_.value(OutputOf(product)).dtype == draft_.value(OutputOf(first)).dtype;
  };
  const bool on_host =
      IsOfHostThreads(draft_.machine.device(draft_.device_of(draft_.command(first).node)).kind);
  return std::ranges::all_of(makers, is_like) && std::ranges::all_of(readers, [&](const Reader& reader) {
           const Command& command = draft_.command(reader.product);
           const Shape& other = ShapeOf(draft_.Inputs(command)[reader.operand == 0 ? 1 : 0]);
           return is_like(reader.product) &&
                  (on_host ||
                   FitsGpuKernel(RowProductOf(draft_.node(command.node), reader.operand), matrices, other));
         });
}

// The other factors are read whole, and so is what a reader makes: nothing of that comes from the launch, or
// goes to it.
bool ProductJoiner::JoinOne(CommandId member, CommandId product, int operand) {
  const CommandId group = groups_.Of(member), single = groups_.Of(product);
  const auto inputs = draft_.Inputs(draft_.command(product));
  for (int i = 0; i < 2; ++i) {
    const CommandId maker = draft_.producer[draft_.Root(inputs[static_cast<size_t>(i)])];
    if (i != operand && maker.exists() && IsWithin(maker, group)) return false;
  }
  const ValueId result = OutputOf(product);
  const auto& users = users_[result];
  const bool read_within = std::ranges::any_of(users, [&](CommandId user) { return IsWithin(user, group); });
  if (operand >= 0 && (read_within || (users.empty() && !IsFetched(result)))) return false;
  if (!groups_.MayJoin(single, group)) return false;
  groups_.Join(single, group);
  return true;
}

bool ProductJoiner::IsProduct(CommandId c) const {
  return groups_.Members(groups_.Of(c)).size() == 1 &&
         RoleInLaunch(draft_, draft_.command(c)) == FusionRole::kProduct;
}

bool ProductJoiner::ShareQueue(CommandId a, CommandId b) const {
  const auto& priority = draft_.placement.priority;
  const NodeId of_a = draft_.command(a).node, of_b = draft_.command(b).node;
  return draft_.device_of(of_a) == draft_.device_of(of_b) &&
         (priority.empty() || priority[of_a] == priority[of_b]);
}

bool ProductJoiner::WritesVariable(CommandId group) const {
  return std::ranges::any_of(groups_.Members(group), [&](CommandId c) {
    return draft_.command(c).num_outputs != 1 ||
           draft_.value(draft_.Root(OutputOf(c))).storage != Storage::kPlanned;
  });
}

std::vector<CommandId> ProductJoiner::FindMakers(CommandId group, int64_t elements, int64_t run,
                                                 MatrixBatch* matrices) const {
  std::vector<CommandId> makers;
  for (const CommandId c : groups_.Members(group)) {
    for (const ValueId input : draft_.Inputs(draft_.command(c))) {
      const ValueId root = draft_.Root(input);
      const CommandId maker = draft_.producer[root];
      if (!maker.exists() || std::ranges::find(makers, maker) != makers.end()) continue;
      if (IsWithin(maker, group) || !IsProduct(maker) || !ShareQueue(maker, c) || IsFetched(root)) continue;
      const MatrixBatch made = MatricesOf(ShapeOf(root));
      if (made.elements() != elements || made.columns != run) continue;
      if (!makers.empty() && !(made == *matrices)) continue;
      const bool alone =
          std::ranges::all_of(users_[root], [&](CommandId user) { return IsWithin(user, group); });
      if (!alone) continue;
      *matrices = made;
      makers.push_back(maker);
    }
  }
  return makers;
}

std::optional<int> ProductJoiner::OperandOf(CommandId product, ValueId root,
                                            const MatrixBatch& matrices) const {
  if (!IsProduct(product)) return std::nullopt;
  const auto inputs = draft_.Inputs(draft_.command(product));
  const bool first = draft_.Root(inputs[0]) == root, second = draft_.Root(inputs[1]) == root;
  if (first == second) return std::nullopt;
  const Shape& shape = ShapeOf(inputs[first ? 0 : 1]);
  if (!(MatricesOf(shape) == matrices)) return std::nullopt;
  return first ? 0 : 1;
}

std::vector<ProductJoiner::Reader> ProductJoiner::FindReaders(CommandId group,
                                                              const MatrixBatch& matrices) const {
  std::vector<Reader> readers;
  for (const CommandId c : groups_.Members(group)) {
    const ValueId root = OutputOf(c);
    if (ShapeOf(root).NumElements() != matrices.elements()) continue;
    for (const CommandId user : users_[root]) {
      if (IsWithin(user, group) || !ShareQueue(user, c)) continue;
      const std::optional<int> operand = OperandOf(user, root, matrices);
      if (operand) readers.push_back({user, *operand});
    }
  }
  return readers;
}

// Elements that each block of rows copies or writes anew: of a sum its result, else the other factor.
int64_t ProductJoiner::CopiedElements(CommandId product, int matrices) const {
  const Command& command = draft_.command(product);
  const RowProduct part = RowProductOf(draft_.node(command.node), matrices);
  if (part.part == ProductPart::kSums) return 2 * ShapeOf(OutputOf(product)).NumElements();
  return ShapeOf(draft_.Inputs(command)[part.matrices == 1 ? 0 : 1]).NumElements();
}

bool ProductJoiner::Pays(CommandId group, const MatrixBatch& matrices, const std::vector<CommandId>& makers,
                         const std::vector<Reader>& readers) const {
  const int64_t blocks = std::max<int64_t>(1, matrices.rows / RowsOfBlock(matrices));
  const int64_t elements = matrices.elements();
  int64_t saved = 2 * elements * static_cast<int64_t>(makers.size()), copied = 0;
  for (const CommandId maker : makers) copied += CopiedElements(maker, -1);
  for (const Reader& reader : readers) {
    saved += elements;
    copied += CopiedElements(reader.product, reader.operand);
  }
  for (const CommandId c : groups_.Members(group)) {
    const ValueId root = OutputOf(c);
    const bool dropped = !IsFetched(root) && std::ranges::all_of(users_[root], [&](CommandId user) {
      return IsWithin(user, group) ||
             std::ranges::any_of(readers, [&](const Reader& r) { return r.product == user; });
    });
    const bool was_kept =
        std::ranges::any_of(users_[root], [&](CommandId user) { return !IsWithin(user, group); });
    if (dropped && was_kept) saved += elements;
  }
  return saved > (blocks - 1) * copied;
}

}  // namespace lanescope::compile
