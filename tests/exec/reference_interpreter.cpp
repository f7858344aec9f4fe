// SPDX-License-Identifier: Apache-2.0
#include "tests/exec/reference_interpreter.h"

#include <algorithm>
#include <set>

#include "tests/exec/kernel_harness.h"

namespace lanescope::exec::test {
namespace {

// Room for an output of which inference knows nothing.
constexpr int64_t kUnknownElements = 1 << 16;

StateRole RoleOf(const Node& node) {
  const OpDef* def = OpRegistry::Global().Find(node.op);
  return def == nullptr ? StateRole::kNone : def->role;
}

bool MakesState(const Node& node) {
  if (RoleOf(node) == StateRole::kVariable) return true;
  return node.inputs.empty() && RoleOf(node) == StateRole::kTable;
}

bool IsAssignment(const Node& node) { return node.op == "Assign" || node.op == "AssignVariableOp"; }

bool MayMeetUninitialized(const Node& node, int input) {
  if (IsAssignment(node)) return input == 0;
  return node.op == "IsVariableInitialized" || node.op == "VarIsInitializedOp" ||
         node.op == "DestroyResourceOp";
}

// Whether an assignment may give the variable a shape that was not declared.
bool TakesAnyShape(const Node& assignment, const Node& variable) {
  return !variable.GetShapeAttr("shape").IsExact() || !assignment.BoolAttr("validate_shape", true);
}

// Ops whose output is the memory of input 0: what they make of a reference variable shows its later updates.
bool IsAlias(const Node& node) {
  const OpDef* def = OpRegistry::Global().Find(node.op);
  return def != nullptr && def->alias == AliasRule::kInput0;
}

Tensor Copy(const Tensor& tensor) {
  Tensor copy(tensor.dtype(), tensor.shape());
  if (tensor.dtype() == DataType::kString) {
    std::copy_n(tensor.data<std::string>(), tensor.NumElements(), copy.data<std::string>());
  } else if (copy.ByteSize() > 0) {
    std::memcpy(copy.raw_data(), tensor.raw_data(), static_cast<size_t>(copy.ByteSize()));
  }
  return copy;
}

bool RefersToState(DataType dtype) { return IsRefType(dtype) || dtype == DataType::kResource; }

}  // namespace

class InterpreterContext final : public KernelContext {
 public:
  InterpreterContext(ReferenceInterpreter& session, NodeId id, const std::vector<TensorInfo>& outputs)
      : session_(session), id_(id), team_one_(1) {
    team_ = &team_one_;
    resources_ = &session_.shared_;
    for (const Endpoint& endpoint : session.graph_.node(id).inputs) {
      ReferenceInterpreter::Slot& slot = session.SlotOf(endpoint);
      Variable* variable = session.VariableOf(slot);
      variables_.push_back(variable);
      if (variable != nullptr) {
        inputs_.push_back(variable->tensor);
      } else {
        inputs_.push_back(slot.value.valid() ? RefTo(slot.value) : TensorRef{});
      }
    }
    for (const TensorInfo& info : outputs) AddOutput(info);
  }

  Resource& FindOrCreateResource(int input,
                                 const std::function<std::unique_ptr<Resource>()>& create) override {
    NodeId node = id_;
    if (input >= 0) {
      node = session_.SlotOf(session_.graph_.node(id_).inputs[static_cast<size_t>(input)]).state_node;
    }
    std::unique_ptr<Resource>& resource = session_.resources_[node];
    if (resource == nullptr) resource = create();
    return *resource;
  }
  uint64_t& random_counter() override { return session_.random_counters_[id_]; }
  const Node& handle_node(int input) const override {
    const Endpoint handle = session_.graph_.node(id_).inputs[static_cast<size_t>(input)];
    const NodeId node = session_.SlotOf(handle).state_node;
    return node.exists() ? session_.graph_.node(node) : KernelContext::handle_node(input);
  }

  Tensor Result(int i) {
    const TensorRef& ref = output(i);
    Tensor& memory = memory_[static_cast<size_t>(i)];
    if (ref.shape == memory.shape()) return memory;
    Tensor result(ref.dtype, ref.shape);
    if (ref.dtype == DataType::kString) {
      std::copy_n(memory.data<std::string>(), result.NumElements(), result.data<std::string>());
    } else if (result.ByteSize() > 0) {
      std::memcpy(result.raw_data(), memory.raw_data(), static_cast<size_t>(result.ByteSize()));
    }
    return result;
  }

 private:
  void AddOutput(const TensorInfo& info) {
    if (RefersToState(info.dtype)) {
      memory_.emplace_back();
      outputs_.emplace_back();
      return;
    }
    const Shape room = info.shape.HasBound() ? info.shape.Bound() : Shape{kUnknownElements};
    memory_.emplace_back(info.dtype, room);
    outputs_.push_back(RefTo(memory_.back()));
    if (!info.shape.IsExact()) outputs_.back().shape = Shape::Unknown();
  }

  ReferenceInterpreter& session_;
  NodeId id_;
  TestTeam team_one_;
  std::vector<Tensor> memory_;
};

std::vector<Tensor> ReferenceInterpreter::Run(const std::map<std::string, Tensor>& feeds,
                                              const std::vector<std::string>& fetches,
                                              const std::vector<std::string>& targets) {
  slots_.clear();
  fed_.clear();
  for (const auto& [name, tensor] : feeds) {
    const Endpoint endpoint = graph_.FindEndpoint(name);
    slots_[{endpoint.node, endpoint.output}].value = tensor;
    fed_[{endpoint.node, endpoint.output}] = true;
  }
  std::vector<Endpoint> roots;
  for (const std::string& name : fetches) roots.push_back(graph_.FindEndpoint(name));
  for (const std::string& name : targets) roots.push_back({graph_.FindEndpoint(name).node, -1});
  // A fetch is read where its node stands in the order; later updates do not change it.
  std::vector<Tensor> results(fetches.size());
  const auto fetch = [&](auto wanted) {
    for (size_t i = 0; i < fetches.size(); ++i) {
      if (wanted(roots[i])) results[i] = Fetch(roots[i]);
    }
  };
  fetch([&](Endpoint root) { return Fed(root); });
  for (const NodeId id : OrderOf(NeededNodes(roots))) {
    RunNode(id);
    fetch([&](Endpoint root) { return root.node == id && !Fed(root); });
  }
  return results;
}

IdVector<NodeId, bool> ReferenceInterpreter::NeededNodes(const std::vector<Endpoint>& roots) const {
  IdVector<NodeId, bool> needed(graph_.num_nodes(), false);
  std::vector<NodeId> open;
  const auto need = [&](NodeId id) {
    if (needed[id]) return;
    needed[id] = true;
    open.push_back(id);
  };
  for (const Endpoint& root : roots) {
    if (!Fed(root)) need(root.node);
  }
  while (!open.empty()) {
    const Node& node = graph_.node(open.back());
    open.pop_back();
    for (const Endpoint& input : node.inputs) {
      if (!Fed(input)) need(input.node);
    }
    for (const NodeId control : node.control_inputs) need(control);
  }
  return needed;
}

// Which variable each node reads or updates: of the reference or handle that an input leads to.
struct ReferenceInterpreter::Accesses {
  std::map<NodeId, std::vector<NodeId>> readers;  // by variable
  std::map<NodeId, std::vector<NodeId>> updates;
};

ReferenceInterpreter::Accesses ReferenceInterpreter::FindAccesses(
    const IdVector<NodeId, bool>& needed) const {
  Accesses accesses;
  std::map<NodeId, NodeId> variable_of;
  for (const NodeId id : graph_.TopologicalOrder()) {
    const Node& node = graph_.node(id);
    if (!needed[id]) continue;
    if (MakesState(node)) {
      variable_of[id] = id;
      continue;
    }
    const OpDef* def = OpRegistry::Global().Find(node.op);
    const std::vector<DataType> outputs = OutputTypes(node);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const auto source = variable_of.find(node.inputs[i].node);
      if (source == variable_of.end() || Fed(node.inputs[i])) continue;
      const NodeId variable = source->second;
      if (i == 0 && !outputs.empty() && (RefersToState(outputs[0]) || IsAlias(node)))
        variable_of[id] = variable;
      const bool updates =
          def != nullptr && std::count(def->updates.begin(), def->updates.end(), static_cast<int>(i)) > 0;
      (updates ? accesses.updates : accesses.readers)[variable].push_back(id);
    }
  }
  return accesses;
}

std::vector<NodeId> ReferenceInterpreter::SmallestFirst(const IdVector<NodeId, bool>& needed,
                                                        const Edges& before) {
  std::vector<NodeId> order;
  IdVector<NodeId, bool> done(needed.size(), false);
  std::set<NodeId> waiting;
  for (const NodeId id : needed.ids()) {
    if (needed[id]) waiting.insert(id);
  }
  while (!waiting.empty()) {
    const auto next = std::find_if(waiting.begin(), waiting.end(), [&](NodeId id) {
      const auto& first = before[id];
      return std::all_of(first.begin(), first.end(), [&](NodeId other) { return done[other]; });
    });
    LANESCOPE_CHECK(next != waiting.end());
    done[*next] = true;
    order.push_back(*next);
    waiting.erase(next);
  }
  return order;
}

// The nodes that depend on `id`, itself included.
static std::set<NodeId> Descendants(NodeId id, const IdVector<NodeId, std::set<NodeId>>& before) {
  std::set<NodeId> found = {id};
  for (bool grown = true; grown;) {
    grown = false;
    for (const NodeId other : before.ids()) {
      if (found.contains(other)) continue;
      if (std::any_of(before[other].begin(), before[other].end(),
                      [&](NodeId first) { return found.contains(first); })) {
        found.insert(other);
        grown = true;
      }
    }
  }
  return found;
}

// Variable by variable: its updates one after another, each after all readers that do not depend on it.
std::vector<NodeId> ReferenceInterpreter::OrderOf(const IdVector<NodeId, bool>& needed) const {
  Edges before(graph_.num_nodes());
  for (const NodeId id : needed.ids()) {
    if (!needed[id]) continue;
    const Node& node = graph_.node(id);
    before[id].insert(node.control_inputs.begin(), node.control_inputs.end());
    for (const Endpoint& input : node.inputs) {
      if (!Fed(input)) before[id].insert(input.node);
    }
  }
  Accesses accesses = FindAccesses(needed);
  for (auto& [variable, updates] : accesses.updates) {
    const std::vector<NodeId> order = SmallestFirst(needed, before);
    const auto place = [&](NodeId id) { return std::find(order.begin(), order.end(), id); };
    std::sort(updates.begin(), updates.end(), [&](NodeId a, NodeId b) { return place(a) < place(b); });
    for (size_t u = 1; u < updates.size(); ++u) before[updates[u]].insert(updates[u - 1]);
    for (const NodeId update : updates) {
      const std::set<NodeId> later = Descendants(update, before);
      for (const NodeId reader : accesses.readers[variable]) {
        if (!later.contains(reader)) before[update].insert(reader);
      }
    }
  }
  return SmallestFirst(needed, before);
}

Variable* ReferenceInterpreter::VariableOf(const Slot& slot) {
  if (!slot.state_node.exists()) return nullptr;
  const auto found = variables_.find(slot.state_node);
  return found == variables_.end() ? nullptr : &found->second.variable;
}

std::vector<TensorInfo> ReferenceInterpreter::InputInfos(const Node& node) {
  std::vector<TensorInfo> infos;
  const std::vector<DataType> dtypes = InputTypes(node);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Slot& slot = SlotOf(node.inputs[i]);
    TensorInfo& info = infos.emplace_back();
    info.dtype = RemoveRef(dtypes[i]);
    if (const Variable* variable = VariableOf(slot)) {
      if (info.dtype == DataType::kResource) {
        TensorInfo behind;
        behind.dtype = variable->tensor.dtype;
        behind.shape = variable->tensor.shape;
        info.shape = Shape{};
        info.handle = std::make_shared<const TensorInfo>(behind);
      } else {
        info.shape = variable->tensor.shape;
      }
    } else if (slot.value.valid()) {
      info.shape = slot.value.shape();
      info.value = std::make_shared<const Tensor>(slot.value);
    }
  }
  return infos;
}

std::vector<TensorInfo> ReferenceInterpreter::InferOutputs(const Node& node,
                                                           const std::vector<TensorInfo>& inputs) const {
  const std::vector<DataType> dtypes = OutputTypes(node);
  std::vector<TensorInfo> outputs;
  for (const DataType dtype : dtypes) outputs.emplace_back().dtype = RemoveRef(dtype);
  InferenceContext context(node, inputs, outputs);
  const OpDef* def = OpRegistry::Global().Find(node.op);
  if (def != nullptr && def->infer) def->infer(context);
  for (size_t i = 0; i < dtypes.size(); ++i) outputs[i].dtype = dtypes[i];
  return outputs;
}

void ReferenceInterpreter::MakeRoom(NodeId variable_node, const Tensor& value) {
  VariableMemory& memory = variables_.at(variable_node);
  if (value.NumElements() <= memory.tensor.NumElements()) return;
  memory.tensor = Tensor(value.dtype(), value.shape());
  const Shape declared = memory.variable.tensor.shape;
  memory.variable.tensor = RefTo(memory.tensor);
  memory.variable.tensor.shape = declared;
}

void ReferenceInterpreter::RunNode(NodeId id) {
  const Node& node = graph_.node(id);
  if (RoleOf(node) == StateRole::kVariable && !variables_.contains(id)) {
    VariableMemory& memory = variables_[id];
    const Shape& declared = node.GetShapeAttr("shape");
    memory.tensor = Tensor(RemoveRef(node.TypeAttr("dtype")), declared.IsExact() ? declared : Shape{});
    memory.variable.tensor = RefTo(memory.tensor);
    memory.variable.tensor.shape = declared;
  }
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Slot& slot = SlotOf(node.inputs[i]);
    const Variable* variable = VariableOf(slot);
    const bool carries = InputTypes(node)[i] == DataType::kResource && node.op == "Identity";
    if (variable != nullptr && !variable->initialized && !carries &&
        !MayMeetUninitialized(node, static_cast<int>(i))) {
      Throw(Code::kFailedPrecondition, "Attempting to use uninitialized value {}",
            graph_.node(slot.state_node).name);
    }
  }
  if (IsAssignment(node)) {
    const Slot& target = SlotOf(node.inputs[0]);
    const Slot& source = SlotOf(node.inputs[1]);
    if (source.value.valid() && TakesAnyShape(node, graph_.node(target.state_node))) {
      MakeRoom(target.state_node, source.value);
    }
  }
  const std::vector<TensorInfo> inputs = InputInfos(node);
  const std::vector<TensorInfo> outputs = InferOutputs(node, inputs);
  InterpreterContext context(*this, id, outputs);
  KernelRegistry::Host().Create(node)->Compute(context);
  for (int k = 0; k < static_cast<int>(outputs.size()); ++k) {
    if (Fed({id, k})) continue;
    Slot& slot = slots_[{id, k}];
    if (RefersToState(outputs[static_cast<size_t>(k)].dtype)) {
      slot.state_node = MakesState(node) ? id : SlotOf(node.inputs[0]).state_node;
    } else {
      slot.value = IsAlias(node) ? SharedInput(node, context.Result(k).shape()) : context.Result(k);
    }
  }
}

Tensor ReferenceInterpreter::SharedInput(const Node& node, const Shape& shape) {
  const Slot& source = SlotOf(node.inputs[0]);
  const bool variable = VariableOf(source) != nullptr;
  return (variable ? variables_.at(source.state_node).tensor : source.value).Reshaped(shape);
}

Tensor ReferenceInterpreter::Fetch(Endpoint endpoint) {
  const Slot& slot = SlotOf(endpoint);
  const Variable* variable = VariableOf(slot);
  if (variable == nullptr) return Copy(slot.value);
  if (!variable->initialized) {
    Throw(Code::kFailedPrecondition, "Attempting to use uninitialized value {}",
          graph_.node(slot.state_node).name);
  }
  Tensor copy(variable->tensor.dtype, variable->tensor.shape);
  if (copy.ByteSize() > 0) {
    std::memcpy(copy.raw_data(), variable->tensor.data, static_cast<size_t>(copy.ByteSize()));
  }
  return copy;
}

}  // namespace lanescope::exec::test
