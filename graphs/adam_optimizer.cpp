// SPDX-License-Identifier: Apache-2.0
// Adam, of variables by reference and behind handles.
#include <algorithm>

#include "graphs/gradients/arithmetic.h"
#include "graphs/optimizer.h"

namespace lanescope::graphs {

AdamOptimizer::AdamOptimizer(Input learning_rate, const AdamOptions& options)
    : Optimizer("Adam"), learning_rate_(std::move(learning_rate)), options_(options) {}

void AdamOptimizer::CreateSlots(Scope& scope, const std::vector<const Variable*>& variables) {
  if (beta1_power_ == nullptr) {
    const Variable* first = *std::ranges::min_element(variables, {}, &Variable::name);
    const auto with = scope.ColocateWith(first->ref);
    const bool resource = first->use_resource;
    beta1_power_ = &scope.NewVariable(options_.beta1,
                                      {.name = "beta1_power", .trainable = false, .use_resource = resource});
    beta2_power_ = &scope.NewVariable(options_.beta2,
                                      {.name = "beta2_power", .trainable = false, .use_resource = resource});
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
  const Variable& m = Slot(variable, "m");
  const Variable& v = Slot(variable, "v");
  const auto power = [&](const Variable& of) {
    if (!of.use_resource) return As(scope, of.value, variable);
    const auto names = scope.Name(scope.CurrentNames() + "ResourceApplyAdam/");
    return As(scope, ValueOf(scope, of), variable);
  };
  const Endpoint power1 = power(*beta1_power_), power2 = power(*beta2_power_);
  const Endpoint rate = As(scope, rate_, variable);
  const Endpoint beta1 = As(scope, beta1_, variable), beta2 = As(scope, beta2_, variable);
  const Endpoint epsilon = As(scope, epsilon_, variable);
  if (variable.use_resource) {
    return op::ResourceApplyAdam(scope, variable.ref, m.ref, v.ref, power1, power2, rate, beta1, beta2,
                                 epsilon, gradient);
  }
  return op::ApplyAdam(scope, variable.ref, m.ref, v.ref, power1, power2, rate, beta1, beta2, epsilon,
                       gradient);
}

// All rows of a mean decay: the node that sees to it.
Endpoint AdamOptimizer::Decayed(Scope& scope, const Variable& slot, Endpoint beta) {
  const Endpoint decayed = Mul(scope, ValueOf(scope, slot), beta);
  if (slot.use_resource) {
    const Endpoint assigned =
        op::AssignVariableOp(scope, slot.ref, decayed, {.validate_shape = slot.shape.IsExact()});
    scope.UniqueName("ReadVariableOp");  // TensorFlow reads it back, for nobody
    return assigned;
  }
  return op::Assign(scope, slot.ref, decayed, {.use_locking = false});
}

// The mean after rows got their shares of the gradient.
Endpoint AdamOptimizer::WithRows(Scope& scope, const Variable& slot, Endpoint indices, Endpoint share) {
  if (!slot.use_resource) return op::ScatterAdd(scope, slot.ref, indices, share);
  const Endpoint added = op::ResourceScatterAdd(scope, slot.ref, indices, share);
  const auto after = scope.ControlDependencies({added});
  return ValueOf(scope, slot);
}

// All rows of the means decay, and then the rows that have a gradient get their share of it.
Endpoint AdamOptimizer::ApplySparse(Scope& scope, const IndexedSlices& gradient, const Variable& variable) {
  const Endpoint grad = gradient.values;
  const bool resource = variable.use_resource;
  // A variable behind a handle is read where it is used.
  const auto power = [&](const Variable& of) { return As(scope, ValueOf(scope, of), variable); };
  Endpoint power1, power2;
  if (!resource) {
    power1 = power(*beta1_power_);
    power2 = power(*beta2_power_);
  }
  const Endpoint plain_rate = As(scope, rate_, variable);
  const Endpoint beta1 = As(scope, beta1_, variable), beta2 = As(scope, beta2_, variable);
  const Endpoint epsilon = As(scope, epsilon_, variable);
  if (resource) power2 = power(*beta2_power_);
  const Endpoint root = op::Sqrt(scope, Sub(scope, 1, power2));
  const Endpoint scaled = Mul(scope, plain_rate, root);
  if (resource) power1 = power(*beta1_power_);
  const Endpoint rate = Div(scope, scaled, Sub(scope, 1, power1));
  const auto mean = [&](const Variable& slot, Endpoint share, Endpoint beta) {
    const auto after = scope.ControlDependencies({Decayed(scope, slot, beta)});
    return WithRows(scope, slot, gradient.indices, share);
  };
  const Endpoint m_share = Mul(scope, grad, Sub(scope, 1, beta1));
  const Endpoint m = mean(Slot(variable, "m"), m_share, beta1);
  const Endpoint square = Mul(scope, grad, grad);
  const Endpoint v_share = Mul(scope, square, Sub(scope, 1, beta2));
  const Endpoint v = mean(Slot(variable, "v"), v_share, beta2);
  const Endpoint v_root = op::Sqrt(scope, v);
  const Endpoint step = Div(scope, Mul(scope, rate, m), Add(scope, v_root, epsilon));
  const Endpoint update = resource ? op::AssignSubVariableOp(scope, variable.ref, step)
                                   : op::AssignSub(scope, variable.ref, step);
  return Group(scope, {update, m, v});
}

Endpoint AdamOptimizer::Finish(Scope& scope, const std::vector<Endpoint>& updates, std::string_view name) {
  std::vector<Endpoint> all = updates;
  {
    const auto after = scope.ControlDependencies(updates);
    const auto with = scope.ColocateWith(beta1_power_->ref);
    all.push_back(Decayed(scope, *beta1_power_, beta1_));
    all.push_back(Decayed(scope, *beta2_power_, beta2_));
  }
  return Group(scope, all, name);
}

}  // namespace lanescope::graphs
