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
  const Endpoint one = ScalarOf(scope, 1, options.global_step->dtype, "value");
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
                              {.dtype = variable.dtype, .initializer = initializer, .trainable = false});
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

// Plain descent.

GradientDescentOptimizer::GradientDescentOptimizer(Input learning_rate)
    : Optimizer("GradientDescent"), learning_rate_(std::move(learning_rate)) {}

void GradientDescentOptimizer::CreateSlots(Scope&, const std::vector<const Variable*>&) {}

void GradientDescentOptimizer::Prepare(Scope& scope) {
  rate_ = ToNode(scope, learning_rate_, "learning_rate");
}

Endpoint GradientDescentOptimizer::ApplyDense(Scope& scope, Endpoint gradient, const Variable& variable) {
  return op::ApplyGradientDescent(scope, variable.ref, As(scope, rate_, variable), gradient);
}

// Rows that occur more than once are subtracted one after the other.
Endpoint GradientDescentOptimizer::ApplyRows(Scope& scope, const IndexedSlices& gradient,
                                             const Variable& variable) {
  return ApplySparse(scope, gradient, variable);
}

Endpoint GradientDescentOptimizer::ApplySparse(Scope& scope, const IndexedSlices& gradient,
                                               const Variable& variable) {
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
  const Endpoint rate = As(scope, rate_, variable);
  return op::ApplyMomentum(scope, variable.ref, Slot(variable, "momentum").ref, rate, gradient,
                           As(scope, momentum_node_, variable), {.use_nesterov = options_.use_nesterov});
}

Endpoint MomentumOptimizer::ApplySparse(Scope& scope, const IndexedSlices& gradient,
                                        const Variable& variable) {
  const Endpoint rate = As(scope, rate_, variable);
  return op::SparseApplyMomentum(scope, variable.ref, Slot(variable, "momentum").ref, rate, gradient.values,
                                 gradient.indices, As(scope, momentum_node_, variable),
                                 {.use_nesterov = options_.use_nesterov});
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
  return op::ApplyAdagrad(scope, variable.ref, Slot(variable, "accumulator").ref, As(scope, rate_, variable),
                          gradient);
}

Endpoint AdagradOptimizer::ApplySparse(Scope& scope, const IndexedSlices& gradient,
                                       const Variable& variable) {
  return op::SparseApplyAdagrad(scope, variable.ref, Slot(variable, "accumulator").ref,
                                As(scope, rate_, variable), gradient.values, gradient.indices);
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
  if (!options_.centered) {
    return op::ApplyRMSProp(scope, variable.ref, rms, mom, rate, decay, momentum, epsilon, gradient);
  }
  return op::ApplyCenteredRMSProp(scope, variable.ref, Slot(variable, "mg").ref, rms, mom, rate, decay,
                                  momentum, epsilon, gradient);
}

Endpoint RmsPropOptimizer::ApplySparse(Scope& scope, const IndexedSlices& gradient,
                                       const Variable& variable) {
  const Endpoint rate = As(scope, rate_, variable), decay = As(scope, decay_, variable);
  const Endpoint momentum = As(scope, momentum_, variable), epsilon = As(scope, epsilon_, variable);
  const Endpoint rms = Slot(variable, "rms").ref, mom = Slot(variable, "momentum").ref;
  if (!options_.centered) {
    return op::SparseApplyRMSProp(scope, variable.ref, rms, mom, rate, decay, momentum, epsilon,
                                  gradient.values, gradient.indices);
  }
  return op::SparseApplyCenteredRMSProp(scope, variable.ref, Slot(variable, "mg").ref, rms, mom, rate, decay,
                                        momentum, epsilon, gradient.values, gradient.indices);
}

// Adam.

AdamOptimizer::AdamOptimizer(Input learning_rate, const AdamOptions& options)
    : Optimizer("Adam"), learning_rate_(std::move(learning_rate)), options_(options) {}

void AdamOptimizer::CreateSlots(Scope& scope, const std::vector<const Variable*>& variables) {
  if (beta1_power_ == nullptr) {
    const Variable* first = *std::ranges::min_element(variables, {}, &Variable::name);
    const auto with = scope.ColocateWith(first->ref);
    beta1_power_ = &scope.NewVariable(options_.beta1, {.name = "beta1_power", .trainable = false});
    beta2_power_ = &scope.NewVariable(options_.beta2, {.name = "beta2_power", .trainable = false});
  }
  for (const Variable* variable : variables) {
    Slot(scope, *variable, "m", Zeros());
    Slot(scope, *variable, "v", Zeros());
  }
}

void AdamOptimizer::Prepare(Scope& scope) {
  rate_ = ToNode(scope, learning_rate_, "learning_rate");
  beta1_ = ToNode(scope, options_.beta1, "beta1");
  beta2_ = ToNode(scope, options_.beta2, "beta2");
  epsilon_ = ToNode(scope, options_.epsilon, "epsilon");
}

Endpoint AdamOptimizer::ApplyDense(Scope& scope, Endpoint gradient, const Variable& variable) {
  const Endpoint power1 = As(scope, beta1_power_->value, variable),
                 power2 = As(scope, beta2_power_->value, variable);
  const Endpoint rate = As(scope, rate_, variable);
  const Endpoint beta1 = As(scope, beta1_, variable), beta2 = As(scope, beta2_, variable);
  return op::ApplyAdam(scope, variable.ref, Slot(variable, "m").ref, Slot(variable, "v").ref, power1, power2,
                       rate, beta1, beta2, As(scope, epsilon_, variable), gradient);
}

// All rows of the means decay, and then the rows that have a gradient get their share of it.
Endpoint AdamOptimizer::ApplySparse(Scope& scope, const IndexedSlices& gradient, const Variable& variable) {
  const Endpoint grad = gradient.values;
  const Endpoint power1 = As(scope, beta1_power_->value, variable),
                 power2 = As(scope, beta2_power_->value, variable);
  const Endpoint plain_rate = As(scope, rate_, variable);
  const Endpoint beta1 = As(scope, beta1_, variable), beta2 = As(scope, beta2_, variable);
  const Endpoint epsilon = As(scope, epsilon_, variable);
  const Endpoint root = op::Sqrt(scope, Sub(scope, 1, power2));
  const Endpoint scaled = Mul(scope, plain_rate, root);
  const Endpoint rate = Div(scope, scaled, Sub(scope, 1, power1));
  const auto mean = [&](const Variable& slot, Endpoint share, Endpoint beta) {
    const Endpoint decayed = op::Assign(scope, slot.ref, Mul(scope, slot, beta), {.use_locking = false});
    const auto after = scope.ControlDependencies({decayed});
    return op::ScatterAdd(scope, slot.ref, gradient.indices, share);
  };
  const Endpoint m_share = Mul(scope, grad, Sub(scope, 1, beta1));
  const Endpoint m = mean(Slot(variable, "m"), m_share, beta1);
  const Endpoint square = Mul(scope, grad, grad);
  const Endpoint v_share = Mul(scope, square, Sub(scope, 1, beta2));
  const Endpoint v = mean(Slot(variable, "v"), v_share, beta2);
  const Endpoint v_root = op::Sqrt(scope, v);
  const Endpoint step = Mul(scope, rate, m);
  const Endpoint update = op::AssignSub(scope, variable.ref, Div(scope, step, Add(scope, v_root, epsilon)));
  return Group(scope, {update, m, v});
}

Endpoint AdamOptimizer::Finish(Scope& scope, const std::vector<Endpoint>& updates, std::string_view name) {
  std::vector<Endpoint> all = updates;
  {
    const auto after = scope.ControlDependencies(updates);
    const auto with = scope.ColocateWith(beta1_power_->ref);
    const Endpoint power1 = Mul(scope, *beta1_power_, beta1_);
    all.push_back(op::Assign(scope, beta1_power_->ref, power1, {.use_locking = false}));
    const Endpoint power2 = Mul(scope, *beta2_power_, beta2_);
    all.push_back(op::Assign(scope, beta2_power_->ref, power2, {.use_locking = false}));
  }
  return Group(scope, all, name);
}

}  // namespace lanescope::graphs
