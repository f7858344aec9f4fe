// SPDX-License-Identifier: Apache-2.0
#include "graphs/optimizer.h"

#include <algorithm>

#include "core/base/error.h"
#include "graphs/gradients/arithmetic.h"

namespace lanescope::graphs {

Endpoint Optimizer::Minimize(Scope& scope, Endpoint loss, const MinimizeOptions& options) {
  return ApplyGradients(scope, ComputeGradients(scope, loss, options),
                        {.global_step = options.global_step, .name = options.name});
}

std::vector<GradientOf> Optimizer::ComputeGradients(Scope& scope, Endpoint loss,
                                                    const MinimizeOptions& options) {
  std::vector<const Variable*> variables = options.variables;
  if (variables.empty()) {
    std::ranges::copy_if(scope.variables(), std::back_inserter(variables), &Variable::trainable);
  }
  if (variables.empty()) Throw(Code::kInvalidArgument, "No variables to optimize.");
  std::vector<Endpoint> xs;
  for (const Variable* variable : variables) xs.push_back(variable->ref);
  const std::vector<Gradient> gradients = Gradients(
      scope, {loss}, xs,
      {.colocate_with_ops = options.colocate_gradients_with_ops, .gate_gradients = options.gate_gradients});
  std::vector<GradientOf> result;
  for (size_t i = 0; i < variables.size(); ++i) result.push_back({gradients[i], variables[i]});
  return result;
}

Endpoint Optimizer::ApplyGradients(Scope& scope, const std::vector<GradientOf>& gradients,
                                   const ApplyOptions& options) {
  std::vector<const Variable*> variables;
  for (const GradientOf& of : gradients) {
    if (!of.gradient.empty()) variables.push_back(of.variable);
  }
  if (variables.empty()) {
    std::string names;
    for (const GradientOf& of : gradients) names += (names.empty() ? "" : ", ") + of.variable->name;
    Throw(Code::kInvalidArgument, "No gradients provided for any variable: {}.", names);
  }
  CreateSlots(scope, variables);
  const auto own = scope.Name(options.name.empty() ? std::string_view(name_) : options.name);
  const std::string full = scope.CurrentNames();
  Prepare(scope);
  std::vector<Endpoint> updates;
  for (const GradientOf& of : gradients) {
    if (of.gradient.empty()) continue;
    const auto names = scope.Name("update_" + of.variable->name);
    const auto with = scope.ColocateWith(of.variable->ref);
    updates.push_back(of.gradient.is_slices() ? ApplyRows(scope, of.gradient.slices(), *of.variable)
                                              : ApplyDense(scope, of.gradient.dense(), *of.variable));
  }
  if (options.global_step == nullptr) return Finish(scope, updates, full);
  const auto after = scope.ControlDependencies({Finish(scope, updates, "update")});
  const auto with = scope.ColocateWith(options.global_step->ref);
  const bool by_handle = options.global_step->use_resource;
  const Endpoint one = ScalarOf(scope, 1, options.global_step->dtype, by_handle ? "Const" : "value");
  if (by_handle) return op::AssignAddVariableOp(scope, options.global_step->ref, one, {.name = full});
  return op::AssignAdd(scope, options.global_step->ref, one, {.name = full});
}

Endpoint Optimizer::ApplyRows(Scope& scope, const IndexedSlices& gradient, const Variable& variable) {
  const auto unique = op::Unique(scope, gradient.indices);
  const Endpoint count = Element(scope, ShapeTensor(scope, unique.y), 0);
  const Endpoint sums = op::UnsortedSegmentSum(scope, gradient.values, unique.idx, count);
  return ApplySparse(scope, {sums, unique.y, gradient.dense_shape}, variable);
}

Endpoint Optimizer::Finish(Scope& scope, const std::vector<Endpoint>& updates, std::string_view name) {
  return Group(scope, updates, name);
}

const Variable& Optimizer::Slot(Scope& scope, const Variable& variable, std::string_view kind,
                                const Initializer& initializer) {
  const Variable*& slot = slots_[{&variable, std::string(kind)}];
  if (slot == nullptr) {
    const auto with = scope.ColocateWith(variable.ref);
    slot = &scope.NewVariable(variable.name + "/" + name_, variable.shape,
                              {.dtype = variable.dtype,
                               .initializer = initializer,
                               .trainable = false,
                               .use_resource = variable.use_resource});
  }
  return *slot;
}

const Variable& Optimizer::Slot(const Variable& variable, std::string_view kind) const {
  return *slots_.at({&variable, std::string(kind)});
}

Endpoint Optimizer::ToNode(Scope& scope, const Input& value, std::string_view name) {
  return op::Const(scope, value, {.name = name});
}

Endpoint Optimizer::As(Scope& scope, Endpoint value, const Variable& variable) {
  return Cast(scope, value, variable.dtype);
}

Endpoint Optimizer::ValueOf(Scope& scope, const Variable& variable) {
  if (!variable.use_resource) return variable.value;
  const auto free = scope.NoColocation();
  return op::ReadVariableOp(scope, variable.ref, variable.dtype);
}

// Plain descent.

GradientDescentOptimizer::GradientDescentOptimizer(Input learning_rate)
    : Optimizer("GradientDescent"), learning_rate_(std::move(learning_rate)) {}

void GradientDescentOptimizer::CreateSlots(Scope&, const std::vector<const Variable*>&) {}

void GradientDescentOptimizer::Prepare(Scope& scope) {
  rate_ = ToNode(scope, learning_rate_, "learning_rate");
}

Endpoint GradientDescentOptimizer::ApplyDense(Scope& scope, Endpoint gradient, const Variable& variable) {
  const Endpoint rate = As(scope, rate_, variable);
  if (variable.use_resource)
    return op::ResourceApplyGradientDescent(scope, variable.ref, rate, gradient, {.use_locking = false});
  return op::ApplyGradientDescent(scope, variable.ref, rate, gradient);
}

// Rows that occur more than once are subtracted one after the other.
Endpoint GradientDescentOptimizer::ApplyRows(Scope& scope, const IndexedSlices& gradient,
                                             const Variable& variable) {
  return ApplySparse(scope, gradient, variable);
}

Endpoint GradientDescentOptimizer::ApplySparse(Scope& scope, const IndexedSlices& gradient,
                                               const Variable& variable) {
  if (variable.use_resource) {
    const Endpoint rows = Mul(scope, Neg(scope, gradient.values), As(scope, rate_, variable));
    return op::ResourceScatterAdd(scope, variable.ref, gradient.indices, rows);
  }
  const Endpoint delta = Mul(scope, gradient.values, As(scope, rate_, variable));
  return op::ScatterSub(scope, variable.ref, gradient.indices, delta);
}

// With momentum.

MomentumOptimizer::MomentumOptimizer(Input learning_rate, Input momentum, const MomentumOptions& options)
    : Optimizer("Momentum"),
      learning_rate_(std::move(learning_rate)),
      momentum_(std::move(momentum)),
      options_(options) {}

void MomentumOptimizer::CreateSlots(Scope& scope, const std::vector<const Variable*>& variables) {
  for (const Variable* variable : variables) Slot(scope, *variable, "momentum", Zeros());
}

void MomentumOptimizer::Prepare(Scope& scope) {
  rate_ = ToNode(scope, learning_rate_, "learning_rate");
  momentum_node_ = ToNode(scope, momentum_, "momentum");
}

Endpoint MomentumOptimizer::ApplyDense(Scope& scope, Endpoint gradient, const Variable& variable) {
  const Endpoint rate = As(scope, rate_, variable), momentum = As(scope, momentum_node_, variable);
  const Endpoint accumulator = Slot(variable, "momentum").ref;
  if (variable.use_resource) {
    return op::ResourceApplyMomentum(scope, variable.ref, accumulator, rate, gradient, momentum,
                                     {.use_nesterov = options_.use_nesterov});
  }
  return op::ApplyMomentum(scope, variable.ref, accumulator, rate, gradient, momentum,
                           {.use_nesterov = options_.use_nesterov});
}

Endpoint MomentumOptimizer::ApplySparse(Scope& scope, const IndexedSlices& gradient,
                                        const Variable& variable) {
  const Endpoint rate = As(scope, rate_, variable), momentum = As(scope, momentum_node_, variable);
  const Endpoint accumulator = Slot(variable, "momentum").ref;
  if (variable.use_resource) {
    return op::ResourceSparseApplyMomentum(scope, variable.ref, accumulator, rate, gradient.values,
                                           gradient.indices, momentum,
                                           {.use_nesterov = options_.use_nesterov});
  }
  return op::SparseApplyMomentum(scope, variable.ref, accumulator, rate, gradient.values, gradient.indices,
                                 momentum, {.use_nesterov = options_.use_nesterov});
}

// By the sum of squares.

AdagradOptimizer::AdagradOptimizer(Input learning_rate, const AdagradOptions& options)
    : Optimizer("Adagrad"), learning_rate_(std::move(learning_rate)), options_(options) {
  if (options.initial_accumulator_value <= 0) {
    Throw(Code::kInvalidArgument, "initial_accumulator_value must be positive: {}",
          options.initial_accumulator_value);
  }
}

void AdagradOptimizer::CreateSlots(Scope& scope, const std::vector<const Variable*>& variables) {
  for (const Variable* variable : variables) {
    Slot(scope, *variable, "accumulator", Filled(options_.initial_accumulator_value));
  }
}

void AdagradOptimizer::Prepare(Scope& scope) { rate_ = ToNode(scope, learning_rate_, "learning_rate"); }

Endpoint AdagradOptimizer::ApplyDense(Scope& scope, Endpoint gradient, const Variable& variable) {
  const Endpoint accumulator = Slot(variable, "accumulator").ref, rate = As(scope, rate_, variable);
  if (variable.use_resource)
    return op::ResourceApplyAdagrad(scope, variable.ref, accumulator, rate, gradient);
  return op::ApplyAdagrad(scope, variable.ref, accumulator, rate, gradient);
}

Endpoint AdagradOptimizer::ApplySparse(Scope& scope, const IndexedSlices& gradient,
                                       const Variable& variable) {
  const Endpoint accumulator = Slot(variable, "accumulator").ref, rate = As(scope, rate_, variable);
  if (variable.use_resource) {
    return op::ResourceSparseApplyAdagrad(scope, variable.ref, accumulator, rate, gradient.values,
                                          gradient.indices);
  }
  return op::SparseApplyAdagrad(scope, variable.ref, accumulator, rate, gradient.values, gradient.indices);
}

// By the mean of squares.

RmsPropOptimizer::RmsPropOptimizer(Input learning_rate, const RmsPropOptions& options)
    : Optimizer("RMSProp"), learning_rate_(std::move(learning_rate)), options_(options) {}

void RmsPropOptimizer::CreateSlots(Scope& scope, const std::vector<const Variable*>& variables) {
  for (const Variable* variable : variables) {
    Slot(scope, *variable, "rms", Ones());
    if (options_.centered) Slot(scope, *variable, "mg", Zeros());
    Slot(scope, *variable, "momentum", Zeros());
  }
}

void RmsPropOptimizer::Prepare(Scope& scope) {
  rate_ = ToNode(scope, learning_rate_, "learning_rate");
  decay_ = ToNode(scope, options_.decay, "decay");
  momentum_ = ToNode(scope, options_.momentum, "momentum");
  epsilon_ = ToNode(scope, options_.epsilon, "epsilon");
}

Endpoint RmsPropOptimizer::ApplyDense(Scope& scope, Endpoint gradient, const Variable& variable) {
  const Endpoint rate = As(scope, rate_, variable), decay = As(scope, decay_, variable);
  const Endpoint momentum = As(scope, momentum_, variable), epsilon = As(scope, epsilon_, variable);
  const Endpoint rms = Slot(variable, "rms").ref, mom = Slot(variable, "momentum").ref;
  const auto apply = [&](auto add) {
    return add(scope, variable.ref, rms, mom, rate, decay, momentum, epsilon, gradient, {});
  };
  const auto apply_centered = [&](auto add) {
    const Endpoint mean = Slot(variable, "mg").ref;
    return add(scope, variable.ref, mean, rms, mom, rate, decay, momentum, epsilon, gradient, {});
  };
  if (!options_.centered)
    return variable.use_resource ? apply(op::ResourceApplyRMSProp) : apply(op::ApplyRMSProp);
  return variable.use_resource ? apply_centered(op::ResourceApplyCenteredRMSProp)
                               : apply_centered(op::ApplyCenteredRMSProp);
}

Endpoint RmsPropOptimizer::ApplySparse(Scope& scope, const IndexedSlices& gradient,
                                       const Variable& variable) {
  const Endpoint rate = As(scope, rate_, variable), decay = As(scope, decay_, variable);
  const Endpoint momentum = As(scope, momentum_, variable), epsilon = As(scope, epsilon_, variable);
  const Endpoint rms = Slot(variable, "rms").ref, mom = Slot(variable, "momentum").ref;
  const Endpoint values = gradient.values, indices = gradient.indices;
  const auto apply = [&](auto add) {
    return add(scope, variable.ref, rms, mom, rate, decay, momentum, epsilon, values, indices, {});
  };
  const auto apply_centered = [&](auto add) {
    const Endpoint mean = Slot(variable, "mg").ref;
    return add(scope, variable.ref, mean, rms, mom, rate, decay, momentum, epsilon, values, indices, {});
  };
  if (!options_.centered)
    return variable.use_resource ? apply(op::ResourceSparseApplyRMSProp) : apply(op::SparseApplyRMSProp);
  return variable.use_resource ? apply_centered(op::ResourceSparseApplyCenteredRMSProp)
                               : apply_centered(op::SparseApplyCenteredRMSProp);
}

}  // namespace lanescope::graphs
