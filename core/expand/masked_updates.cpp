// Changes of variables on a side of a branch, or in a trip of a loop, that data decide: they are made in any
// case, with a value that leaves the variable as it is where the side is not taken.
#include "core/expand/control_flow_expander.h"

namespace lanescope {
namespace {

bool Adds(std::string_view op) { return op == "AssignAdd" || op == "AssignAddVariableOp"; }
bool Subtracts(std::string_view op) { return op == "AssignSub" || op == "AssignSubVariableOp"; }

bool IsFloating(DataType dtype) {
  return dtype == DataType::kFloat || dtype == DataType::kDouble || dtype == DataType::kHalf ||
         dtype == DataType::kBfloat16;
}

// An assignment may give the variable another shape.
bool KeepsShape(const Node& update) {
  const auto found = update.attrs.find("validate_shape");
  const bool* const checked = found == update.attrs.end() ? nullptr : std::get_if<bool>(&found->second);
  return update.op == "AssignVariableOp" || checked == nullptr || *checked;
}

}  // namespace

std::optional<Endpoint> ControlFlowExpander::ValueWithoutEffect(const std::string& name, const Node& update) {
  if (Adds(update.op) || Subtracts(update.op)) {
    const Endpoint zeros =
        graph_.Add(graph_.New("ZerosLike", name + "/nothing", update.device).Input(update.inputs[1]));
    // -0 + 0 is 0, and -0 + -0 is -0.
    if (Subtracts(update.op) || !IsFloating(graph_.info(update.inputs[1]).dtype)) return zeros;
    return graph_.Add(graph_.New("Neg", name + "/nothing", update.device).Input(zeros));
  }
  const bool of_handle = update.op == "AssignVariableOp";
  if ((!of_handle && update.op != "Assign") || !KeepsShape(update)) return std::nullopt;
  NodeBuilder read = graph_.New(of_handle ? "ReadVariableOp" : "Identity", name + "/before", update.device);
  read.Input(update.inputs[0]);
  if (of_handle) read.Attr("dtype", graph_.info(update.inputs[1]).dtype);
  for (const NodeId control : update.control_inputs) read.ControlInput(control);
  return graph_.Add(std::move(read));
}

void ControlFlowExpander::MaskUpdate(const std::string& name, const Sides& own, Node* update) {
  const OpDef* def = OpRegistry::Global().Find(update->op);
  if (def == nullptr || def->role != StateRole::kUpdate) return;
  const std::optional<Endpoint> taken = WhetherTaken(own, name, update->device);
  const std::optional<Endpoint> otherwise =
      taken && update->inputs.size() == 2 ? ValueWithoutEffect(name, *update) : std::nullopt;
  if (!otherwise)
    Throw(Code::kUnimplemented,
          "node '{}' ({}) changes a variable in a loop or branch whose condition depends on data; only "
          "assignments of whole variables run there",
          name, update->op);
  update->inputs[1] = graph_.Add(graph_.New("Select", name + "/value", update->device)
                                     .Input(*taken)
                                     .Input(update->inputs[1])
                                     .Input(*otherwise));
}

}  // namespace lanescope
