// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/compile/op_traits.h"

#include <algorithm>
#include <vector>

#include "core/collective/joint_launch.h"
#include "core/place/kernel_table.h"

namespace lanescope::compile {
namespace {

OpClass ClassOf(std::string_view op) {
  if (op == "Placeholder") return OpClass::kPlaceholder;
  if (op == "Const") return OpClass::kConst;
  if (op == "NoOp") return OpClass::kNoOp;
  if (op == "ReadVariableOp") return OpClass::kReadVariable;
  if (op == "Assign" || op == "AssignVariableOp") return OpClass::kAssign;
  return OpClass::kOther;
}

bool KeepsShape(std::string_view op) {
  return op == "Identity" || op == "StopGradient" || op == "PreventGradient" || op == "Snapshot" ||
         op == "RefIdentity";
}

bool HasHostArguments(std::string_view op) {
  const auto& entries = KernelTable::Global().Entries(op);
  return std::any_of(entries.begin(), entries.end(),
                     [](const KernelEntry& entry) { return !entry.host_memory_args.empty(); });
}

// Every constraint is on a type that an argument shows, and every argument is one tensor.
bool HostArgumentsByDtype(std::string_view op, const OpDef* def) {
  if (def == nullptr) return false;
  std::vector<const ArgDef*> args;
  for (const auto* list : {&def->inputs, &def->outputs}) {
    for (const ArgDef& arg : *list) args.push_back(&arg);
  }
  const bool single = std::all_of(args.begin(), args.end(), [](const ArgDef* arg) {
    return arg->number_attr.empty() && arg->type_list_attr.empty();
  });
  const auto is_shown = [&](const std::string& attr) {
    return std::any_of(args.begin(), args.end(), [&](const ArgDef* arg) { return arg->type_attr == attr; });
  };
  const auto& entries = KernelTable::Global().Entries(op);
  return single && std::all_of(entries.begin(), entries.end(), [&](const KernelEntry& entry) {
           return std::all_of(entry.constraints.begin(), entry.constraints.end(),
                              [&](const auto& constraint) { return is_shown(constraint.first); });
         });
}

}  // namespace

bool OpTraits::Updates(size_t input) const {
  return def != nullptr &&
         std::find(def->updates.begin(), def->updates.end(), static_cast<int>(input)) != def->updates.end();
}

bool OpTraits::IsPure() const {
  return op_class == OpClass::kNoOp || op_class == OpClass::kConst ||
         (op_class == OpClass::kOther && def != nullptr && !def->stateful && def->role == StateRole::kNone);
}

bool IsFolded(const OpTraits& op, std::span<const TensorInfo> outputs) {
  const auto constant = [](const TensorInfo& output) { return output.value != nullptr; };
  if (outputs.empty() || !std::all_of(outputs.begin(), outputs.end(), constant)) return false;
  return op.op_class != OpClass::kConst && op.def != nullptr && !op.def->stateful;
}

const OpTraits& OpTraitsTable::Of(const std::string& op) {
  const auto [found, added] = traits_.try_emplace(op);
  if (added) {
    OpTraits& traits = found->second;
    traits.def = OpRegistry::Global().Find(op);
    traits.op_class = ClassOf(op);
    traits.keeps_shape = KeepsShape(op);
    traits.has_host_arguments = HasHostArguments(op);
    traits.host_arguments_by_dtype = HostArgumentsByDtype(op, traits.def);
    Node node;
    node.op = op;
    traits.may_be_joint = JointKindOf(node).has_value();
  }
  return found->second;
}

}  // namespace lanescope::compile
