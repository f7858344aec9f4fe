// SPDX-License-Identifier: Apache-2.0
// Steps of optimizers on variables and their slots, dense and by rows, for every kind of device: which inputs
// each reads, in TensorFlow's order, and what is asked of them.
#pragma once

#include <array>
#include <string_view>

#include "exec/functors/optimizer.h"
#include "exec/kernels/op_kernel.h"

namespace lanescope::exec {

enum class Optimizer : int {
  kGradientDescent,
  kMomentum,
  kKerasMomentum,
  kAdam,
  kAdagrad,
  kAdagradV2,
  kRmsProp,
  kAdadelta,
  kCenteredRmsProp,
  kProximalGradientDescent,
  kProximalAdagrad,
  kFtrl,
};

// Calls visit.template operator()<the optimizer's step>().
template <typename T, typename Visit>
void WithStep(Optimizer optimizer, const Visit& visit) {
  namespace f = functors;
  switch (optimizer) {
    case Optimizer::kGradientDescent:
      return visit.template operator()<f::GradientDescentStep<T>>();
    case Optimizer::kMomentum:
      return visit.template operator()<f::MomentumStep<T>>();
    case Optimizer::kKerasMomentum:
      return visit.template operator()<f::KerasMomentumStep<T>>();
    case Optimizer::kAdam:
      return visit.template operator()<f::AdamStep<T>>();
    case Optimizer::kAdagrad:
      return visit.template operator()<f::AdagradStep<T>>();
    case Optimizer::kAdagradV2:
      return visit.template operator()<f::AdagradV2Step<T>>();
    case Optimizer::kRmsProp:
      return visit.template operator()<f::RmsPropStep<T>>();
    case Optimizer::kAdadelta:
      return visit.template operator()<f::AdadeltaStep<T>>();
    case Optimizer::kCenteredRmsProp:
      return visit.template operator()<f::CenteredRmsPropStep<T>>();
    case Optimizer::kProximalGradientDescent:
      return visit.template operator()<f::ProximalGradientDescentStep<T>>();
    case Optimizer::kProximalAdagrad:
      return visit.template operator()<f::ProximalAdagradStep<T>>();
    case Optimizer::kFtrl:
      return visit.template operator()<f::FtrlStep<T>>();
  }
}

// The rule that a number must keep.
enum class NumberRule { kAny, kPositive, kNotNegative, kNotPositive };

// The inputs of the dense op: the variable and its slots first, then numbers and the gradient. In the sparse
// op the indices follow the gradient, and later inputs move by one.
struct OptimizerRule {
  struct Number {
    int input = 0;  // 0: none, and the step takes zero
    std::string_view name{};
    NumberRule rule = NumberRule::kAny;
  };
  std::string_view name;  // of the op, without its prefixes
  Optimizer optimizer;
  std::array<std::string_view, 3> slots;  // after the variable
  int gradient;
  std::array<Number, 6> numbers;  // in the order of functors::StepNumbers
  const char* flag = "";          // an attribute that may be missing
  bool flag_fallback = false;

  bool has_sparse() const {
    return optimizer != Optimizer::kGradientDescent && optimizer != Optimizer::kAdam;
  }
  bool handles_only() const { return optimizer == Optimizer::kKerasMomentum; }
};
std::span<const OptimizerRule> OptimizerRules();

struct OptimizerPlan {
  const OptimizerRule& rule;
  bool flag;
  std::array<const TensorRef*, 4> slots{};    // the variable and its slots; null: none
  std::array<const TensorRef*, 6> numbers{};  // null: none
  const TensorRef* grad = nullptr;
  const TensorRef* indices = nullptr;  // of the rows that the gradient's rows belong to; null: dense
  int64_t elements = 0;                // of the variable
  int64_t inner = 0;                   // elements of a row, of a sparse step
};

class OptimizerOp {
 public:
  explicit OptimizerOp(const Node& node);
  OptimizerPlan Plan(KernelContext& context) const;

 private:
  const OptimizerRule* rule_ = nullptr;
  bool sparse_ = false;
  bool flag_ = false;
};

// For host memory: the numbers' values. Throws InvalidArgument where one breaks its rule.
template <typename T>
functors::StepNumbers<T> ReadNumbers(const OptimizerPlan& plan);

// `serves`: whether the device has the op (a rule, and whether by rows).
template <void (*step)(KernelContext&, const OptimizerPlan&)>
void RegisterOptimizerRules(KernelRegistry& registry, bool (*serves)(const OptimizerRule&, bool)) {
  for (const OptimizerRule& rule : OptimizerRules()) {
    for (const bool sparse : {false, true}) {
      if (!serves(rule, sparse) || (sparse && !rule.has_sparse())) continue;
      const std::string name = (sparse ? "SparseApply" : "Apply") + std::string(rule.name);
      RegisterOp<OptimizerOp, step>(registry, "Resource" + name);
      if (!rule.handles_only()) RegisterOp<OptimizerOp, step>(registry, name);
    }
  }
}

}  // namespace lanescope::exec
