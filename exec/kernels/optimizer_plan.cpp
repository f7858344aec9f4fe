// SPDX-License-Identifier: Apache-2.0
#include "exec/kernels/optimizer_plan.h"

#include <algorithm>

namespace lanescope::exec {
namespace {

constexpr std::string_view kL1 = "l1 regularization strength";
constexpr std::string_view kL2 = "l2 regularization strength";
constexpr std::string_view kShrinkage = "l2 shrinkage regularization strength";
constexpr auto kPositive = NumberRule::kPositive;
constexpr auto kNotNegative = NumberRule::kNotNegative;
constexpr auto kNotPositive = NumberRule::kNotPositive;

constexpr OptimizerRule kRules[] = {
    {"GradientDescent", Optimizer::kGradientDescent, {}, 2, {{{1, "alpha"}}}},
    {"Momentum", Optimizer::kMomentum, {"accum"}, 3, {{{2, "lr"}, {4, "momentum"}}}, "use_nesterov"},
    {"KerasMomentum",
     Optimizer::kKerasMomentum,
     {"accum"},
     3,
     {{{2, "lr"}, {4, "momentum"}}},
     "use_nesterov"},
    {"Adam",
     Optimizer::kAdam,
     {"m", "v"},
     9,
     {{{5, "lr"}, {6, "beta1"}, {7, "beta2"}, {8, "epsilon"}, {3, "beta1_power"}, {4, "beta2_power"}}},
     "use_nesterov"},
    {"Adagrad", Optimizer::kAdagrad, {"accum"}, 3, {{{2, "lr"}}}, "update_slots", true},
    {"AdagradV2", Optimizer::kAdagradV2, {"accum"}, 4, {{{2, "lr"}, {3, "epsilon"}}}, "update_slots", true},
    {"RMSProp",
     Optimizer::kRmsProp,
     {"ms", "mom"},
     7,
     {{{3, "lr"}, {4, "rho"}, {5, "momentum"}, {6, "epsilon"}}}},
    {"Adadelta",
     Optimizer::kAdadelta,
     {"accum", "accum_update"},
     6,
     {{{3, "lr"}, {4, "rho"}, {5, "epsilon"}}}},
    {"CenteredRMSProp",
     Optimizer::kCenteredRmsProp,
     {"mg", "ms", "mom"},
     8,
     {{{4, "lr"}, {5, "rho"}, {6, "momentum"}, {7, "epsilon"}}}},
    {"ProximalGradientDescent",
     Optimizer::kProximalGradientDescent,
     {},
     4,
     {{{1, "alpha"}, {2, kL1}, {3, kL2}}}},
    {"ProximalAdagrad",
     Optimizer::kProximalAdagrad,
     {"accum"},
     5,
     {{{2, "lr", kPositive}, {3, kL1, kNotNegative}, {4, kL2, kNotNegative}}}},
    {"Ftrl",
     Optimizer::kFtrl,
     {"accum", "linear"},
     3,
     {{{4, "lr", kPositive}, {5, kL1, kNotNegative}, {6, kL2, kNotNegative}, {7, "lr_power", kNotPositive}}},
     "multiply_linear_by_lr"},
    {"FtrlV2",
     Optimizer::kFtrl,
     {"accum", "linear"},
     3,
     {{{4, "lr", kPositive},
       {5, kL1, kNotNegative},
       {6, kL2, kNotNegative},
       {8, "lr_power", kNotPositive},
       {7, kShrinkage, kNotNegative}}},
     "multiply_linear_by_lr"},
};

// TensorFlow checks the values of Ftrl's numbers in the steps by rows alone.
NumberRule RuleOf(const OptimizerPlan& plan, const OptimizerRule::Number& number) {
  const bool unchecked = plan.rule.optimizer == Optimizer::kFtrl && plan.indices == nullptr;
  return unchecked ? NumberRule::kAny : number.rule;
}

std::string_view KindOf(const OptimizerPlan& plan, NumberRule rule) {
  switch (rule) {
    case NumberRule::kAny:
      return "scalar";
    case NumberRule::kPositive:
      return plan.rule.optimizer == Optimizer::kFtrl
                 ? "positive scalar (or zero if multiply_linear_by_lr is set)"
                 : "positive scalar";
    case NumberRule::kNotNegative:
      return "non-negative scalar";
    case NumberRule::kNotPositive:
      return "non-positive scalar";
  }
  return "";
}

template <typename T>
bool Holds(const OptimizerPlan& plan, NumberRule rule, T value) {
  const bool zero_too = plan.rule.optimizer == Optimizer::kFtrl && plan.flag;
  return rule == NumberRule::kAny ||
         (rule == NumberRule::kPositive && (value > 0 || (zero_too && value == 0))) ||
         (rule == NumberRule::kNotNegative && value >= 0) || (rule == NumberRule::kNotPositive && value <= 0);
}

[[noreturn]] void ThrowWrongNumber(const OptimizerPlan& plan, const OptimizerRule::Number& number,
                                   const TensorRef& tensor) {
  Throw(Code::kInvalidArgument, "{} is not a {}: {}", number.name, KindOf(plan, RuleOf(plan, number)),
        tensor.shape.ToString());
}

// A handle may lead to a variable of another type than the op's.
void CheckType(const OptimizerPlan& plan, std::string_view name, const TensorRef& tensor) {
  if (tensor.dtype == plan.slots[0]->dtype) return;
  Throw(Code::kInvalidArgument, "var is of type {}, {} of type {}", DataTypeName(plan.slots[0]->dtype), name,
        DataTypeName(tensor.dtype));
}

void CheckSparse(const Shape& variable, const Shape& grad, const Shape& indices) {
  if (variable.rank() < 1) Throw(Code::kInvalidArgument, "var must be at least 1 dimensional");
  if (indices.rank() != 1) Throw(Code::kInvalidArgument, "indices must be one-dimensional");
  if (grad.rank() != variable.rank()) {
    Throw(Code::kInvalidArgument, "var and grad must have the same number of dimensions, not {} and {}",
          variable.ToString(), grad.ToString());
  }
  for (int d = 1; d < variable.rank(); ++d) {
    if (grad[d] == variable[d]) continue;
    Throw(Code::kInvalidArgument, "var and grad must match in dimension {}: {} {}", d, variable.ToString(),
          grad.ToString());
  }
  if (grad[0] != indices[0]) {
    Throw(Code::kInvalidArgument, "grad must be the same size as indices in the first dimension.");
  }
}

}  // namespace

std::span<const OptimizerRule> OptimizerRules() { return kRules; }

OptimizerOp::OptimizerOp(const Node& node) {
  std::string_view name = node.op;
  for (const std::string_view prefix : {"Resource", "Sparse", "Apply"}) {
    if (!name.starts_with(prefix)) continue;
    if (prefix == "Sparse") sparse_ = true;
    name.remove_prefix(prefix.size());
  }
  rule_ = std::find_if(std::begin(kRules), std::end(kRules),
                       [&](const OptimizerRule& rule) { return rule.name == name; });
  LANESCOPE_CHECK(rule_ != std::end(kRules));
  flag_ = rule_->flag_fallback;
  if (*rule_->flag != '\0') flag_ = node.BoolAttr(rule_->flag, rule_->flag_fallback);
}

OptimizerPlan OptimizerOp::Plan(KernelContext& context) const {
  const TensorRef& variable = context.variable(0).tensor;
  const Shape& shape = variable.shape;
  OptimizerPlan plan{*rule_, flag_};
  plan.elements = shape.NumElements();
  plan.grad = &context.input(rule_->gradient);
  if (sparse_) plan.indices = &context.input(rule_->gradient + 1);
  plan.slots[0] = &variable;
  CheckType(plan, "grad", *plan.grad);
  for (size_t i = 0; i < rule_->slots.size() && !rule_->slots[i].empty(); ++i) {
    const TensorRef& slot = context.variable(static_cast<int>(i) + 1).tensor;
    if (!(slot.shape == shape)) {
      Throw(Code::kInvalidArgument, "var and {} do not have the same shape{} {}", rule_->slots[i],
            shape.ToString(), slot.shape.ToString());
    }
    CheckType(plan, rule_->slots[i], slot);
    plan.slots[i + 1] = &slot;
  }
  if (sparse_) {
    CheckSparse(shape, plan.grad->shape, plan.indices->shape);
    plan.inner = SizeOfDims(shape, 1, shape.rank());
  } else if (!(plan.grad->shape == shape)) {
    const bool descent = rule_->name.ends_with("GradientDescent");
    Throw(Code::kInvalidArgument, "var and {} do not have the same shape{} {}", descent ? "delta" : "grad",
          shape.ToString(), plan.grad->shape.ToString());
  }
  for (size_t i = 0; i < plan.numbers.size(); ++i) {
    const OptimizerRule::Number& number = rule_->numbers[i];
    if (number.input == 0) continue;
    plan.numbers[i] = &context.input(number.input + (sparse_ && number.input > rule_->gradient ? 1 : 0));
    CheckType(plan, number.name, *plan.numbers[i]);
    if (plan.numbers[i]->shape.rank() != 0) ThrowWrongNumber(plan, number, *plan.numbers[i]);
  }
  return plan;
}

template <typename T>
functors::StepNumbers<T> ReadNumbers(const OptimizerPlan& plan) {
  functors::StepNumbers<T> numbers{{}, plan.flag, plan.indices != nullptr};
  for (size_t i = 0; i < plan.numbers.size(); ++i) {
    if (plan.numbers[i] == nullptr) continue;
    const OptimizerRule::Number& number = plan.rule.numbers[i];
    numbers.at[i] = *plan.numbers[i]->as<T>();
    if (!Holds(plan, RuleOf(plan, number), numbers.at[i])) ThrowWrongNumber(plan, number, *plan.numbers[i]);
  }
  return numbers;
}
template functors::StepNumbers<float> ReadNumbers<float>(const OptimizerPlan&);
template functors::StepNumbers<double> ReadNumbers<double>(const OptimizerPlan&);

}  // namespace lanescope::exec
