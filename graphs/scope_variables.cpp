// SPDX-License-Identifier: Apache-2.0
// Variables of a Scope: a VariableV2 or a VarHandleOp, what it begins with, the Assign that says so, and what
// reads it.
#include "core/base/error.h"
#include "graphs/scope.h"

namespace lanescope::graphs {

// Where the variable will be, but on whatever device its ops like best: the group decides.
ScopeGuard Scope::InGroupOf(const std::string& variable) {
  State next = state_;
  next.groups = {"loc:@" + variable};
  next.devices.push_back({});
  return Open("colocation", std::move(next));
}

Endpoint Scope::FirstValue(const std::string& name, const lanescope::Shape& shape,
                           const VariableOptions& options) {
  const auto group = InGroupOf(name);
  const auto names = Name("Initializer");
  const bool is_floating = options.dtype == DataType::kFloat || options.dtype == DataType::kDouble;
  const Initializer initializer = options.initializer != nullptr ? options.initializer
                                  : is_floating                  ? GlorotUniform()
                                                                 : Zeros();
  return initializer(*this, shape, options.dtype);
}

const Variable& Scope::AddVariable(const std::string& name, Endpoint initial_value, bool in_own_group,
                                   bool trainable) {
  Variable variable;
  variable.name = name;
  variable.initial_value = initial_value;
  variable.trainable = trainable;
  variable.dtype = TypeOf(initial_value);
  variable.shape = ShapeOf(initial_value);
  {
    State next = state_;
    if (in_own_group) next.groups = {"loc:@" + name};
    const auto group = Open("colocation", std::move(next));
    variable.ref = Add("VariableV2", name + "/", {},
                       {{"shape", ShapeAttr{variable.shape, ""}}, {"dtype", variable.dtype}});
  }
  variable.initializer = Add("Assign", "Assign", {variable.ref, initial_value});
  const auto with = ColocateWith(variable.ref);
  variable.value = Add("Identity", "read", {variable.ref});
  return Keep(std::move(variable));
}

// Assigned and read where the handle is, in nobody's group.
const Variable& Scope::AddHandle(const std::string& name, Endpoint initial_value, bool trainable) {
  Variable variable;
  variable.name = name;
  variable.initial_value = initial_value;
  variable.trainable = trainable;
  variable.use_resource = true;
  variable.dtype = TypeOf(initial_value);
  variable.shape = ShapeOf(initial_value);
  {
    State next = state_;
    next.groups = {"loc:@" + name};
    const auto group = Open("colocation", std::move(next));
    variable.ref = Add("VarHandleOp", name + "/", {},
                       {{"shape", ShapeAttr{variable.shape, ""}},
                        {"dtype", variable.dtype},
                        {"shared_name", std::string(name)}});
  }
  const std::string device = graph_.node(variable.ref.node).device;
  {
    const auto names = Name("IsInitialized");
    Add("VarIsInitializedOp", "", {variable.ref});
  }
  {
    const auto alone = NoColocation();
    const auto on = Device(device);
    variable.initializer = Add("AssignVariableOp", "Assign", {variable.ref, initial_value});
  }
  const auto names = Name("Read");
  const auto on = Device(device);
  variable.value = Add("ReadVariableOp", "", {variable.ref}, {{"dtype", variable.dtype}});
  return Keep(std::move(variable));
}

const Variable& Scope::Keep(Variable variable) {
  variable.replica = state_.variables.replica;
  variables_.push_back(std::make_unique<Variable>(std::move(variable)));
  variable_order_.push_back(variables_.back().get());
  return *variables_.back();
}

const Variable& Scope::GetVariable(std::string_view name, const lanescope::Shape& shape,
                                   const VariableOptions& options) {
  std::string full_name = state_.variables.name + std::string(name);
  if (state_.variables.replica > 0) full_name += "/replica_" + std::to_string(state_.variables.replica);
  const auto known = shared_variables_.find(full_name);
  const Reuse reuse = state_.variables.reuse;
  if (known == shared_variables_.end()) {
    if (reuse == Reuse::kYes) {
      Throw(Code::kNotFound,
            "Variable {} does not exist, or was not created with GetVariable. Did you mean Reuse::kAuto in "
            "its variable scope?",
            full_name);
    }
    if (!shape.IsExact()) {
      Throw(Code::kInvalidArgument, "Shape of a new variable ({}) must be fully defined, but instead was {}.",
            full_name, shape.ToString());
    }
    return *(shared_variables_[full_name] = &MakeShared(full_name, shape, options));
  }
  const Variable& variable = *known->second;
  if (reuse == Reuse::kInherit) {
    Throw(Code::kAlreadyExists,
          "Variable {} already exists, disallowed. Did you mean Reuse::kYes or Reuse::kAuto in its variable "
          "scope?",
          full_name);
  }
  try {
    MergeShapes(variable.shape, shape);
  } catch (const Error&) {
    Throw(Code::kInvalidArgument, "Trying to share variable {}, but specified shape {} and found shape {}.",
          full_name, shape.ToString(), variable.shape.ToString());
  }
  if (variable.dtype != options.dtype) {
    Throw(Code::kInvalidArgument, "Trying to share variable {}, but specified dtype {} and found dtype {}.",
          full_name, DataTypeName(options.dtype), DataTypeName(variable.dtype));
  }
  return variable;
}

const Variable& Scope::MakeShared(const std::string& full_name, const lanescope::Shape& shape,
                                  const VariableOptions& options) {
  if (state_.variables.replica == 0) return NewVariable(full_name, shape, options);
  const std::string original = full_name.substr(0, full_name.rfind('/'));
  const auto known = shared_variables_.find(original);
  if (known == shared_variables_.end() || known->second->shape != shape ||
      known->second->dtype != options.dtype) {
    Throw(Code::kNotFound, "Variable {} is a copy of {}, but replica 0 made none of shape {} and type {}.",
          full_name, original, shape.ToString(), DataTypeName(options.dtype));
  }
  const auto root = Name("");
  return NewVariable(
      known->second->initial_value,
      {.name = full_name, .trainable = options.trainable, .use_resource = options.use_resource});
}

const Variable& Scope::NewVariable(std::string_view name, const lanescope::Shape& shape,
                                   const VariableOptions& options) {
  const auto at_once = NoControlDependencies();
  const auto root = Name("");
  const auto names = Name(name);
  const std::string node = state_.names.substr(0, state_.names.size() - 1);
  const Endpoint first = FirstValue(node, shape, options);
  if (options.use_resource) return AddHandle(node, first, options.trainable);
  return AddVariable(node, first, true, options.trainable);
}

const Variable& Scope::NewVariable(const Input& initial_value, const NewVariableOptions& options) {
  const auto at_once = NoControlDependencies();
  const auto names = Name(options.name);
  const std::string node = state_.names.substr(0, state_.names.size() - 1);
  Endpoint first;
  if (initial_value.endpoint() != nullptr) {
    first = *initial_value.endpoint();
  } else {
    const Tensor& given = initial_value.value();
    const Tensor value = initial_value.typed() ? given : NumbersAs(given, NaturalType(given));
    if (options.use_resource) {
      const auto group = InGroupOf(node);
      const auto below = Name("Initializer");
      first = Constant(value, "initial_value");
    } else {
      first = Constant(value, "initial_value");
    }
  }
  if (!ShapeOf(first).IsExact()) {
    Throw(Code::kInvalidArgument, "initial_value must have a shape specified: {} of variable {}",
          ShapeOf(first).ToString(), node);
  }
  if (options.use_resource) return AddHandle(node, first, options.trainable);
  return AddVariable(node, first, false, options.trainable);
}

void Scope::FindVariables() {
  for (const NodeId id : graph_.node_ids()) {
    const Node& node = graph_.node(id);
    const bool is_handle = node.op == "VarHandleOp";
    if (!is_handle && node.op != "VariableV2" && node.op != "Variable") continue;
    const NodeId assign = graph_.FindNode(node.name + "/Assign"),
                 read = graph_.FindNode(node.name + (is_handle ? "/Read/ReadVariableOp" : "/read"));
    if (!assign.exists() || !read.exists()) continue;
    const Node& by = graph_.node(assign);
    if (by.op != (is_handle ? "AssignVariableOp" : "Assign") || by.inputs.size() != 2) continue;
    auto variable = std::make_unique<Variable>();
    variable->name = node.name;
    variable->dtype = is_handle ? node.TypeAttr("dtype") : TypeOf({id, 0});
    variable->shape = is_handle ? node.GetShapeAttr("shape") : ShapeOf({id, 0});
    variable->ref = {id, 0};
    variable->value = {read, 0};
    variable->initial_value = by.inputs[1];
    variable->initializer = {assign, is_handle ? -1 : 0};
    variable->use_resource = is_handle;
    variable_order_.push_back(variable.get());
    shared_variables_[node.name] = variable.get();
    variables_.push_back(std::move(variable));
  }
}

const Variable* Scope::FindVariable(Endpoint output) const {
  for (const auto& variable : variables_) {
    if (variable->value == output || variable->ref == output) return variable.get();
  }
  return nullptr;
}

}  // namespace lanescope::graphs
