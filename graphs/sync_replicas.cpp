// SPDX-License-Identifier: Apache-2.0
#include "graphs/sync_replicas.h"

#include <algorithm>
#include <string>

#include "core/base/error.h"
#include "graphs/gradients/arithmetic.h"
#include "graphs/input_queues.h"

namespace lanescope::graphs {
namespace {

ScopeGuard DeviceOf(Scope& scope, const Variable& variable) {
  return scope.Device(std::string_view(scope.graph().node(variable.ref.node).device));
}

Endpoint Long(Scope& scope, Endpoint value) { return Cast(scope, value, DataType::kInt64); }

void RequireStep(const Variable* global_step) {
  if (global_step == nullptr) Throw(Code::kInvalidArgument, "Global step is required to check staleness");
  if (global_step->dtype == DataType::kInt64 && !global_step->use_resource) return;
  Throw(Code::kInvalidArgument, "the global step of replicas is a variable of int64 by reference");
}

}  // namespace

SyncReplicas::SyncReplicas(Scope* scope, Optimizer* optimizer, const SyncReplicasOptions& options)
    : scope_(*scope),
      optimizer_(*optimizer),
      options_(options),
      total_(options.total_replicas == 0 ? options.replicas_to_aggregate : options.total_replicas) {
  if (options.replicas_to_aggregate < 1 || total_ < 1)
    Throw(Code::kInvalidArgument, "{} of {} replicas cannot be aggregated; both are at least 1",
          options.replicas_to_aggregate, total_);
}

void SyncReplicas::RequireApplied() const {
  if (local_step_ == nullptr) Throw(Code::kFailedPrecondition, "Should be called after apply_gradients().");
}

Endpoint SyncReplicas::Minimize(Endpoint loss, const MinimizeOptions& options) {
  return ApplyGradients(optimizer_.ComputeGradients(scope_, loss, options),
                        {.global_step = options.global_step, .name = options.name});
}

SyncReplicas::Accumulated SyncReplicas::Accumulate(const Gradient& gradient, const Variable& variable,
                                                   const Variable& global_step) {
  const auto device = DeviceOf(scope_, variable);
  Accumulated made;
  const bool rows = gradient.is_slices();
  const std::string accumulator = rows ? "SparseConditionalAccumulator" : "ConditionalAccumulator";
  const lanescope::Shape shape = variable.shape;
  const Endpoint sum =
      scope_.Add(accumulator, rows ? "sparse_conditional_accumulator" : "conditional_accumulator", {},
                 {{"dtype", variable.dtype},
                  {"shape", ShapeAttr{rows ? lanescope::Shape::Unknown() : shape, {}}},
                  {"shared_name", variable.name + ":0/grad_accum"}});
  const Endpoint local = Long(scope_, local_step_->value);
  const Endpoint required = scope_.Scalar<int32_t>(options_.replicas_to_aggregate, "num_required");
  if (rows) {
    const IndexedSlices& slices = gradient.slices();
    std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
    const auto rank = static_cast<Dim>(dims.size());
    const Endpoint whole =
        scope_.Constant(Tensor::FromValues(lanescope::Shape{rank}, dims), "gradient_shape");
    made.push = scope_.Add("SparseAccumulatorApplyGradient", "apply_grad",
                           {InputList{sum}, InputList{local}, InputList{Long(scope_, slices.indices)},
                            InputList{slices.values}, InputList{whole}},
                           {{"has_known_shape", true}});
    const Endpoint mean = scope_.Add("SparseAccumulatorTakeGradient", "take_grad",
                                     {InputList{sum}, InputList{required}}, {{"dtype", variable.dtype}});
    made.mean = IndexedSlices{Scope::Output(mean, 1), mean, Scope::Output(mean, 2)};
    return made;
  }
  made.push = scope_.Add("AccumulatorApplyGradient", "apply_grad",
                         {InputList{sum}, InputList{local}, InputList{gradient.dense()}});
  const Endpoint mean = scope_.Add("AccumulatorTakeGradient", "take_grad",
                                   {InputList{sum}, InputList{required}}, {{"dtype", variable.dtype}});
  made.mean = mean;
  made.set_step = scope_.Add("AccumulatorSetGlobalStep", "SetGlobalStep",
                             {InputList{sum}, InputList{Long(scope_, global_step.value)}});
  return made;
}

Endpoint SyncReplicas::ApplyGradients(const std::vector<GradientOf>& gradients, const ApplyOptions& options) {
  if (gradients.empty()) Throw(Code::kInvalidArgument, "Must supply at least one variable");
  RequireStep(options.global_step);
  if (local_step_ != nullptr) Throw(Code::kFailedPrecondition, "the gradients of a replica are applied once");
  global_step_ = options.global_step;
  {
    // Beside what is here anyway, and not where other variables go.
    const Endpoint anchor = scope_.Add("NoOp", "local_anchor", {});
    const auto here = scope_.ColocateWith(anchor);
    local_step_ = &scope_.NewVariable(scope_.Scalar<int64_t>(0, "sync_rep_local_step/initial_value"),
                                      {.name = "sync_rep_local_step", .trainable = false});
    init_replica_ = scope_.Add("Assign", "init_local_step",
                               {InputList{local_step_->ref}, InputList{global_step_->value}});
  }
  std::vector<Endpoint> pushes, inits{init_replica_};
  std::vector<GradientOf> means;
  {
    const auto names = scope_.Name("sync_replicas");
    for (const GradientOf& of : gradients) {
      if (of.gradient.empty()) continue;
      const Accumulated made = Accumulate(of.gradient, *of.variable, *global_step_);
      pushes.push_back(made.push);
      if (made.set_step.node.exists()) inits.push_back(made.set_step);
      means.push_back({made.mean, of.variable});
    }
  }
  init_chief_ = Group(scope_, inits, "init_chief");
  const auto with_step = DeviceOf(scope_, *global_step_);
  const Endpoint next =
      optimizer_.ApplyGradients(scope_, means, {.global_step = global_step_, .name = options.name});
  tokens_ = scope_.Add("FIFOQueueV2", "sync_token_q", {},
                       {{"component_types", std::vector<DataType>{DataType::kInt64}},
                        {"shapes", std::vector<ShapeAttr>{{lanescope::Shape{}, {}}}},
                        {"capacity", int64_t{-1}},
                        {"shared_name", std::string("sync_token_q")}});
  const std::vector<DataType> types{DataType::kInt64};
  Endpoint token;
  {
    const auto after = scope_.ControlDependencies(pushes);
    token = scope_.Outputs(scope_.Add("QueueDequeueV2", "sync_token_q_Dequeue", {InputList{tokens_}},
                                      {{"component_types", types}}))[0];
  }
  const Endpoint train = scope_.Add("Assign", "take_token", {InputList{local_step_->ref}, InputList{token}});
  // The step as the update has left it.
  const int count = std::max(total_, options_.replicas_to_aggregate);
  const Endpoint many = scope_.Constant(Tensor::FromValues(lanescope::Shape{1}, std::vector<int32_t>{count}),
                                        "tokens_per_step");
  const Endpoint new_tokens = scope_.Add("Fill", "new_tokens", {InputList{many}, InputList{next}});
  update_ = scope_.Add("QueueEnqueueManyV2", "sync_token_q_EnqueueMany",
                       {InputList{tokens_}, InputList{new_tokens}});
  return train;
}

void SyncReplicas::RunUpdates() {
  RequireApplied();
  QueueRunnerSpec runner;
  runner.queue = "sync_token_q";
  runner.enqueue_ops = {scope_.graph().node(update_.node).name};
  scope_.KeepQueueRunner(std::move(runner));
}

Endpoint SyncReplicas::InitTokens(int tokens, Endpoint init) {
  RequireApplied();
  const int needed = options_.replicas_to_aggregate - total_;
  if (tokens == -1) tokens = options_.replicas_to_aggregate;
  if (tokens < needed) {
    Throw(Code::kInvalidArgument, "Too few tokens to finish the first step: {} (given) vs {} (needed)",
          tokens, needed);
  }
  const auto with_step = DeviceOf(scope_, *global_step_);
  if (tokens <= 0) return scope_.Add("NoOp", "no_init_tokens", {});
  const Endpoint many = scope_.Constant(Tensor::FromValues(lanescope::Shape{1}, std::vector<int32_t>{tokens}),
                                        "init_tokens_count");
  const bool with_init = init.node.exists();
  const Endpoint step = with_init ? global_step_->initial_value : global_step_->value;
  const Endpoint first = scope_.Add("Fill", "first_tokens", {InputList{many}, InputList{step}});
  const auto after =
      scope_.ControlDependencies(with_init ? std::vector<Endpoint>{init} : std::vector<Endpoint>{});
  return scope_.Add("QueueEnqueueManyV2", "init_tokens", {InputList{tokens_}, InputList{first}});
}

Endpoint AsyncRead(Scope& scope, const Variable& global_step) {
  RequireStep(&global_step);
  const auto device = DeviceOf(scope, global_step);
  const Endpoint one = scope.Scalar<int64_t>(0, "read_step/none");
  return scope.Add("Add", "read_step", {InputList{global_step.value}, InputList{one}});
}

AsyncReplicas ApplyAsync(Scope& scope, Optimizer& optimizer, std::vector<GradientOf> gradients, Endpoint read,
                         const AsyncReplicasOptions& stale, const ApplyOptions& options) {
  RequireStep(options.global_step);
  AsyncReplicas made;
  {
    // The update's own number, taken once all its gradients are where the variables are.
    std::vector<Endpoint> arrived;
    for (GradientOf& of : gradients) {
      if (of.gradient.empty()) continue;
      const auto there = DeviceOf(scope, *of.variable);
      const bool rows = of.gradient.is_slices();
      const Endpoint value = rows ? of.gradient.slices().values : of.gradient.dense();
      arrived.push_back(scope.Add("Identity", "arrived_" + of.variable->name, {InputList{value}}));
      if (rows) {
        of.gradient =
            IndexedSlices{arrived.back(), of.gradient.slices().indices, of.gradient.slices().dense_shape};
      } else {
        of.gradient = arrived.back();
      }
    }
    const auto device = DeviceOf(scope, *options.global_step);
    const auto names = scope.Name("stale");
    Endpoint counted;
    {
      const auto after = scope.ControlDependencies(arrived);
      counted =
          scope.Add("CountUpTo", "count", {InputList{options.global_step->ref}}, {{"limit", INT64_MAX}});
    }
    made.staleness = scope.Add("Sub", "staleness", {InputList{counted}, InputList{read}});
    const Endpoint age = Cast(scope, made.staleness, DataType::kFloat);
    if (stale.stale == Stale::kDrop) {
      const Endpoint fresh =
          scope.Add("LessEqual", "fresh",
                    {InputList{made.staleness}, InputList{scope.Scalar<int64_t>(stale.most, "most")}});
      made.weight = Cast(scope, fresh, DataType::kFloat);
    } else if (stale.stale == Stale::kScale) {
      const Endpoint parts =
          scope.Add("Add", "parts", {InputList{age}, InputList{scope.Scalar(1.0f, "whole")}});
      made.weight = scope.Add("Reciprocal", "weight", {InputList{parts}});
    } else {
      made.weight = scope.Scalar(1.0f, "weight");
    }
  }
  std::vector<GradientOf> weighted;
  for (const GradientOf& of : gradients) {
    if (of.gradient.empty()) continue;
    const auto device = DeviceOf(scope, *of.variable);
    const auto names = scope.Name("weigh_" + of.variable->name);
    const Endpoint weight = Cast(scope, made.weight, of.variable->dtype);
    if (stale.stale == Stale::kApply) {
      weighted.push_back(of);
    } else if (of.gradient.is_slices()) {
      const IndexedSlices& slices = of.gradient.slices();
      weighted.push_back(
          {IndexedSlices{Mul(scope, slices.values, weight), slices.indices, slices.dense_shape},
           of.variable});
    } else {
      weighted.push_back({Mul(scope, of.gradient.dense(), weight), of.variable});
    }
  }
  const auto after = scope.ControlDependencies({made.staleness});
  made.train = optimizer.ApplyGradients(scope, weighted, {.name = options.name});
  return made;
}

}  // namespace lanescope::graphs
