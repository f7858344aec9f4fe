// SPDX-License-Identifier: Apache-2.0
// Optimizers: Apply* on variables by reference or by handle, dense or by rows.
#include "core/base/error.h"
#include "core/graph/ops/common.h"
#include "core/graph/ops/op_spec.h"

namespace lanescope::ops {
namespace {

// Where an optimizer's inputs lie: variables first, then scalars and the gradient; a sparse gradient is
// followed by its indices.
struct Rule {
  int variables = 1;
  int gradient = 0;
  int64_t flops = 0;  // for each element of the gradient
};

// The shape of the variable behind an input: a reference has it itself, a handle refers to it.
Shape HeldShape(const InferenceContext& context, int input) {
  const TensorInfo& info = context.input(input);
  if (info.dtype != DataType::kResource) return info.shape;
  return info.handle != nullptr ? info.handle->shape : Shape::Unknown();
}

// The variables have one shape, and `gradient` gives each of its rows a row. All other inputs are scalars.
void InferApply(InferenceContext& context, const Rule& rule, bool sparse) {
  Shape variable = Shape::Unknown();
  for (int i = 0; i < rule.variables; ++i) variable = MergeShapes(variable, HeldShape(context, i));
  for (int i = rule.variables; i < context.num_inputs(); ++i) {
    if (i != rule.gradient && !(sparse && i == rule.gradient + 1)) context.RequireRank(i, 0);
  }
  const Shape& gradient = context.shape(rule.gradient);
  if (!sparse) {
    variable = MergeShapes(variable, gradient);
  } else {
    context.RequireRank(rule.gradient + 1, 1);
    const Shape& indices = context.shape(rule.gradient + 1);
    if (variable.known_rank() && variable.rank() == 0)
      Throw(Code::kInvalidArgument, "rows of a scalar variable");
    if (variable.known_rank() && indices.known_rank()) {
      MergeShapes(gradient, ConcatShapes(indices, SubShape(variable, 1, variable.rank())));
    }
  }
  if (context.num_outputs() > 0) context.SetShape(0, variable);
}

// Reads the gradient and reads and writes as much of each variable.
OpWork ApplyCost(const Rule& rule, bool sparse, std::span<const TensorInfo> inputs) {
  const auto gradient = static_cast<size_t>(rule.gradient);
  const int64_t bytes = BytesOf(inputs[gradient]);
  return {SaturatingMul(rule.flops, CountOf(inputs[gradient])),
          (1 + 2 * rule.variables) * bytes + (sparse ? BytesOf(inputs[gradient + 1]) : 0)};
}

void Complete(OpSpec op, const Rule& rule, bool sparse) {
  std::vector<int> variables;
  for (int i = 0; i < rule.variables; ++i) variables.push_back(i);
  op.Infer([rule, sparse](InferenceContext& context) { InferApply(context, rule, sparse); })
      .Updates(std::move(variables))
      .Work([rule, sparse](const Node&, std::span<const TensorInfo> inputs, std::span<const TensorInfo>) {
        return ApplyCost(rule, sparse, inputs);
      });
}

void Dense(OpSpec op, const Rule& rule) { Complete(op, rule, false); }
void Sparse(OpSpec op, const Rule& rule) { Complete(op, rule, true); }

}  // namespace

void RegisterOptimizerOps(OpRegistry& registry) {
  const OpLister op(registry);
  Dense(op("ApplyGradientDescent(var: Ref(T), alpha: T, delta: T) -> (out: Ref(T))",
           "T: number; use_locking: bool = false"),
        {1, 2, 2});
  Dense(op("ApplyMomentum(var: Ref(T), accum: Ref(T), lr: T, grad: T, momentum: T) -> (out: Ref(T))",
           "T: number; use_locking: bool = false; use_nesterov: bool = false"),
        {2, 3, 4});
  Dense(op("ApplyAdam(var: Ref(T), m: Ref(T), v: Ref(T), beta1_power: T, beta2_power: T, lr: T, beta1: T, "
           "beta2: T, epsilon: T, grad: T) -> (out: Ref(T))",
           "T: number; use_locking: bool = false; use_nesterov: bool = false"),
        {3, 9, 12});
  Dense(op("ApplyAdagrad(var: Ref(T), accum: Ref(T), lr: T, grad: T) -> (out: Ref(T))",
           "T: number; use_locking: bool = false; update_slots: bool = true"),
        {2, 3, 5});
  Dense(op("ApplyAdagradV2(var: Ref(T), accum: Ref(T), lr: T, epsilon: T, grad: T) -> (out: Ref(T))",
           "T: number; use_locking: bool = false; update_slots: bool = true"),
        {2, 4, 5});
  Dense(op("ApplyAdadelta(var: Ref(T), accum: Ref(T), accum_update: Ref(T), lr: T, rho: T, epsilon: T, grad: "
           "T) -> (out: Ref(T))",
           "T: number; use_locking: bool = false"),
        {3, 6, 14});
  Dense(op("ApplyRMSProp(var: Ref(T), ms: Ref(T), mom: Ref(T), lr: T, rho: T, momentum: T, epsilon: T, grad: "
           "T) -> (out: Ref(T))",
           "T: number; use_locking: bool = false"),
        {3, 7, 10});
  Dense(op("ApplyCenteredRMSProp(var: Ref(T), mg: Ref(T), ms: Ref(T), mom: Ref(T), lr: T, rho: T, momentum: "
           "T, epsilon: T, grad: T) -> (out: Ref(T))",
           "T: number; use_locking: bool = false"),
        {4, 8, 14});
  Dense(op("ApplyFtrl(var: Ref(T), accum: Ref(T), linear: Ref(T), grad: T, lr: T, l1: T, l2: T, lr_power: T) "
           "-> (out: Ref(T))",
           "T: number; use_locking: bool = false; multiply_linear_by_lr: bool = false"),
        {3, 3, 14});
  Dense(op("ApplyFtrlV2(var: Ref(T), accum: Ref(T), linear: Ref(T), grad: T, lr: T, l1: T, l2: T, "
           "l2_shrinkage: T, lr_power: T) -> (out: Ref(T))",
           "T: number; use_locking: bool = false; multiply_linear_by_lr: bool = false"),
        {3, 3, 16});
  Dense(op("ApplyProximalGradientDescent(var: Ref(T), alpha: T, l1: T, l2: T, delta: T) -> (out: Ref(T))",
           "T: number; use_locking: bool = false"),
        {1, 4, 6});
  Dense(op("ApplyProximalAdagrad(var: Ref(T), accum: Ref(T), lr: T, l1: T, l2: T, grad: T) -> (out: Ref(T))",
           "T: number; use_locking: bool = false"),
        {2, 5, 11});
  Dense(op("ResourceApplyGradientDescent(var: resource, alpha: T, delta: T) -> ()",
           "T: number; use_locking: bool = false")
            .Stateful(),
        {1, 2, 2});
  Dense(op("ResourceApplyMomentum(var: resource, accum: resource, lr: T, grad: T, momentum: T) -> ()",
           "T: number; use_locking: bool = false; use_nesterov: bool = false")
            .Stateful(),
        {2, 3, 4});
  Dense(op("ResourceApplyKerasMomentum(var: resource, accum: resource, lr: T, grad: T, momentum: T) -> ()",
           "T: number; use_locking: bool = false; use_nesterov: bool = false")
            .Stateful(),
        {2, 3, 4});
  Dense(op("ResourceApplyAdam(var: resource, m: resource, v: resource, beta1_power: T, beta2_power: T, lr: "
           "T, beta1: T, beta2: T, epsilon: T, grad: T) -> ()",
           "T: number; use_locking: bool = false; use_nesterov: bool = false")
            .Stateful(),
        {3, 9, 12});
  Dense(op("ResourceApplyAdagrad(var: resource, accum: resource, lr: T, grad: T) -> ()",
           "T: number; use_locking: bool = false; update_slots: bool = true")
            .Stateful(),
        {2, 3, 5});
  Dense(op("ResourceApplyAdagradV2(var: resource, accum: resource, lr: T, epsilon: T, grad: T) -> ()",
           "T: number; use_locking: bool = false; update_slots: bool = true")
            .Stateful(),
        {2, 4, 5});
  Dense(op("ResourceApplyAdadelta(var: resource, accum: resource, accum_update: resource, lr: T, rho: T, "
           "epsilon: T, grad: T) -> ()",
           "T: number; use_locking: bool = false")
            .Stateful(),
        {3, 6, 14});
  Dense(op("ResourceApplyRMSProp(var: resource, ms: resource, mom: resource, lr: T, rho: T, momentum: T, "
           "epsilon: T, grad: T) -> ()",
           "T: number; use_locking: bool = false")
            .Stateful(),
        {3, 7, 10});
  Dense(op("ResourceApplyCenteredRMSProp(var: resource, mg: resource, ms: resource, mom: resource, lr: T, "
           "rho: T, momentum: T, epsilon: T, grad: T) -> ()",
           "T: number; use_locking: bool = false")
            .Stateful(),
        {4, 8, 14});
  Dense(op("ResourceApplyFtrl(var: resource, accum: resource, linear: resource, grad: T, lr: T, l1: T, l2: "
           "T, lr_power: T) -> ()",
           "T: number; use_locking: bool = false; multiply_linear_by_lr: bool = false")
            .Stateful(),
        {3, 3, 14});
  Dense(op("ResourceApplyFtrlV2(var: resource, accum: resource, linear: resource, grad: T, lr: T, l1: T, l2: "
           "T, l2_shrinkage: T, lr_power: T) -> ()",
           "T: number; use_locking: bool = false; multiply_linear_by_lr: bool = false")
            .Stateful(),
        {3, 3, 16});
  Dense(op("ResourceApplyProximalGradientDescent(var: resource, alpha: T, l1: T, l2: T, delta: T) -> ()",
           "T: number; use_locking: bool = false")
            .Stateful(),
        {1, 4, 6});
  Dense(op("ResourceApplyProximalAdagrad(var: resource, accum: resource, lr: T, l1: T, l2: T, grad: T) -> ()",
           "T: number; use_locking: bool = false")
            .Stateful(),
        {2, 5, 11});
  Sparse(op("SparseApplyMomentum(var: Ref(T), accum: Ref(T), lr: T, grad: T, indices: Tindices, momentum: T) "
            "-> (out: Ref(T))",
            "T: number; Tindices: index; use_locking: bool = false; use_nesterov: bool = false"),
         {2, 3, 4});
  Sparse(
      op("SparseApplyAdagrad(var: Ref(T), accum: Ref(T), lr: T, grad: T, indices: Tindices) -> (out: Ref(T))",
         "T: number; Tindices: index; use_locking: bool = false; update_slots: bool = true"),
      {2, 3, 5});
  Sparse(op("SparseApplyAdagradV2(var: Ref(T), accum: Ref(T), lr: T, epsilon: T, grad: T, indices: Tindices) "
            "-> (out: Ref(T))",
            "T: number; Tindices: index; use_locking: bool = false; update_slots: bool = true"),
         {2, 4, 5});
  Sparse(op("SparseApplyAdadelta(var: Ref(T), accum: Ref(T), accum_update: Ref(T), lr: T, rho: T, epsilon: "
            "T, grad: T, indices: Tindices) -> (out: Ref(T))",
            "T: number; Tindices: index; use_locking: bool = false"),
         {3, 6, 14});
  Sparse(op("SparseApplyRMSProp(var: Ref(T), ms: Ref(T), mom: Ref(T), lr: T, rho: T, momentum: T, epsilon: "
            "T, grad: T, indices: Tindices) -> (out: Ref(T))",
            "T: number; Tindices: index; use_locking: bool = false"),
         {3, 7, 14});
  Sparse(op("SparseApplyCenteredRMSProp(var: Ref(T), mg: Ref(T), ms: Ref(T), mom: Ref(T), lr: T, rho: T, "
            "momentum: T, epsilon: T, grad: T, indices: Tindices) -> (out: Ref(T))",
            "T: number; Tindices: index; use_locking: bool = false"),
         {4, 8, 14});
  Sparse(op("SparseApplyFtrl(var: Ref(T), accum: Ref(T), linear: Ref(T), grad: T, indices: Tindices, lr: T, "
            "l1: T, l2: T, lr_power: T) -> (out: Ref(T))",
            "T: number; Tindices: index; use_locking: bool = false; multiply_linear_by_lr: bool = false"),
         {3, 3, 14});
  Sparse(op("SparseApplyFtrlV2(var: Ref(T), accum: Ref(T), linear: Ref(T), grad: T, indices: Tindices, lr: "
            "T, l1: T, l2: T, l2_shrinkage: T, lr_power: T) -> (out: Ref(T))",
            "T: number; Tindices: index; use_locking: bool = false; multiply_linear_by_lr: bool = false"),
         {3, 3, 16});
  Sparse(op("SparseApplyProximalGradientDescent(var: Ref(T), alpha: T, l1: T, l2: T, grad: T, indices: "
            "Tindices) -> (out: Ref(T))",
            "T: number; Tindices: index; use_locking: bool = false"),
         {1, 4, 6});
  Sparse(op("SparseApplyProximalAdagrad(var: Ref(T), accum: Ref(T), lr: T, l1: T, l2: T, grad: T, indices: "
            "Tindices) -> (out: Ref(T))",
            "T: number; Tindices: index; use_locking: bool = false"),
         {2, 5, 11});
  Sparse(op("ResourceSparseApplyMomentum(var: resource, accum: resource, lr: T, grad: T, indices: Tindices, "
            "momentum: T) -> ()",
            "T: number; Tindices: index; use_locking: bool = false; use_nesterov: bool = false")
             .Stateful(),
         {2, 3, 4});
  Sparse(op("ResourceSparseApplyKerasMomentum(var: resource, accum: resource, lr: T, grad: T, indices: "
            "Tindices, momentum: T) -> ()",
            "T: number; Tindices: index; use_locking: bool = false; use_nesterov: bool = false")
             .Stateful(),
         {2, 3, 4});
  Sparse(op("ResourceSparseApplyAdagrad(var: resource, accum: resource, lr: T, grad: T, indices: Tindices) "
            "-> ()",
            "T: number; Tindices: index; use_locking: bool = false; update_slots: bool = true")
             .Stateful(),
         {2, 3, 5});
  Sparse(op("ResourceSparseApplyAdagradV2(var: resource, accum: resource, lr: T, epsilon: T, grad: T, "
            "indices: Tindices) -> ()",
            "T: number; Tindices: index; use_locking: bool = false; update_slots: bool = true")
             .Stateful(),
         {2, 4, 5});
  Sparse(op("ResourceSparseApplyAdadelta(var: resource, accum: resource, accum_update: resource, lr: T, rho: "
            "T, epsilon: T, grad: T, indices: Tindices) -> ()",
            "T: number; Tindices: index; use_locking: bool = false")
             .Stateful(),
         {3, 6, 14});
  Sparse(op("ResourceSparseApplyRMSProp(var: resource, ms: resource, mom: resource, lr: T, rho: T, momentum: "
            "T, epsilon: T, grad: T, indices: Tindices) -> ()",
            "T: number; Tindices: index; use_locking: bool = false")
             .Stateful(),
         {3, 7, 14});
  Sparse(op("ResourceSparseApplyCenteredRMSProp(var: resource, mg: resource, ms: resource, mom: resource, "
            "lr: T, rho: T, momentum: T, epsilon: T, grad: T, indices: Tindices) -> ()",
            "T: number; Tindices: index; use_locking: bool = false")
             .Stateful(),
         {4, 8, 14});
  Sparse(op("ResourceSparseApplyFtrl(var: resource, accum: resource, linear: resource, grad: T, indices: "
            "Tindices, lr: T, l1: T, l2: T, lr_power: T) -> ()",
            "T: number; Tindices: index; use_locking: bool = false; multiply_linear_by_lr: bool = false")
             .Stateful(),
         {3, 3, 14});
  Sparse(op("ResourceSparseApplyFtrlV2(var: resource, accum: resource, linear: resource, grad: T, indices: "
            "Tindices, lr: T, l1: T, l2: T, l2_shrinkage: T, lr_power: T) -> ()",
            "T: number; Tindices: index; use_locking: bool = false; multiply_linear_by_lr: bool = false")
             .Stateful(),
         {3, 3, 16});
  Sparse(op("ResourceSparseApplyProximalGradientDescent(var: resource, alpha: T, l1: T, l2: T, grad: T, "
            "indices: Tindices) -> ()",
            "T: number; Tindices: index; use_locking: bool = false")
             .Stateful(),
         {1, 4, 6});
  Sparse(op("ResourceSparseApplyProximalAdagrad(var: resource, accum: resource, lr: T, l1: T, l2: T, grad: "
            "T, indices: Tindices) -> ()",
            "T: number; Tindices: index; use_locking: bool = false")
             .Stateful(),
         {2, 5, 11});
}

}  // namespace lanescope::ops
