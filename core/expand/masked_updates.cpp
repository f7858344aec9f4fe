// SPDX-License-Identifier: Apache-2.0
// An update that adds to a variable, where data decide whether its branch or trip is taken, runs in any
// case, and adds nothing where the side is not taken.
#include "core/expand/control_flow_expander.h"

namespace lanescope {
namespace {

bool Adds(std::string_view op) { return op == "AssignAdd" || op == "AssignAddVariableOp"; }
bool Subtracts(std::string_view op) { return op == "AssignSub" || op == "AssignSubVariableOp"; }

bool IsFloating(DataType dtype) {
  return dtype == DataType::kFloat || dtype == DataType::kDouble || dtype == DataType::kHalf ||
         dtype == DataType::kBfloat16;
}

}  // namespace

Endpoint ControlFlowExpander::Nothing(const std::string& name, const Node& update) {
  const Endpoint value = update.inputs[1];
  const Endpoint zeros = graph_.Add(graph_.New("ZerosLike", name + "/nothing", update.device).Input(value));
  // -0 + 0 is 0, and -0 + -0 is -0.
  if (Subtracts(update.op) || !IsFloating(graph_.info(value).dtype)) return zeros;
  return graph_.Add(graph_.New("Neg", name + "/nothing", update.device).Input(zeros));
}

void ControlFlowExpander::MaskUpdate(const std::string& name, const Sides& own, Node* update) {
  const OpDef* def = OpRegistry::Global().Find(update->op);
  if (def == nullptr || def->role != StateRole::kUpdate) return;
  const std::optional<Endpoint> taken = WhetherTaken(own, name, update->device);
  // Any other would write what it has read before, whatever else has changed meanwhile.
  if (!taken || update->inputs.size() != 2 || (!Adds(update->op) && !Subtracts(update->op)))
    Throw(Code::kUnimplemented,
          "node '{}' ({}) changes a variable in a loop or branch whose condition depends on data; only what "
          "adds to one or subtracts from it runs there",
          name, update->op);
  update->inputs[1] = graph_.Add(graph_.New("Select", name + "/value", update->device)
                                     .Input(*taken)
                                     .Input(update->inputs[1])
                                     .Input(Nothing(name, *update)));
}

}  // namespace lanescope
