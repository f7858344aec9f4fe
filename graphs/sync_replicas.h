// SPDX-License-Identifier: Apache-2.0
// Training by several replicas, each a graph of its own, whose variables are shared: synchronously, as
// TensorFlow's SyncReplicasOptimizer, and asynchronously.
//
// Synchronously every replica pushes its gradients into accumulators beside the variables and waits for a
// token; the chief's update takes the mean of as many as are aggregated, changes the variables, and hands out
// tokens with the new step. A gradient for an older step than that is dropped.
#pragma once

#include <cstdint>
#include <vector>

#include "graphs/optimizer.h"
#include "graphs/scope.h"

namespace lanescope::graphs {

struct SyncReplicasOptions {
  int replicas_to_aggregate = 1;
  // Fewer than that: a replica does several batches for an update; more: some are backup workers, whose
  // gradients come too late.
  int total_replicas = 0;  // 0: as many as are aggregated
};

// Makes one replica's part. The same optimizer on all. Not thread-safe; scope and optimizer must outlive it.
class SyncReplicas {
 public:
  // Throws InvalidArgument for numbers that are not positive.
  SyncReplicas(Scope* scope, Optimizer* optimizer, const SyncReplicasOptions& options);

  // The node of one step of the replica: it ends with the token. `global_step`, an int64 variable beside the
  // others, is required; the replica's own step lives where the scope is. Once. Throws InvalidArgument
  // without gradients or a global step.
  Endpoint ApplyGradients(const std::vector<GradientOf>& gradients, const ApplyOptions& options);
  Endpoint Minimize(Endpoint loss, const MinimizeOptions& options);

  // The members that follow are there once that has been called.

  // The chief's: one update, which waits for the gradients. It runs again and again while replicas step.
  Endpoint update() const { return update_; }
  // Keeps that in the scope's queue runners.
  void RunUpdates();
  // The chief's, once: the first tokens, as many as are aggregated unless `tokens` says another number (0:
  // none). Their step is the global one's, which must have a value; or, after `init` in the same step, its
  // first value. Throws InvalidArgument for fewer than the first update needs.
  Endpoint InitTokens(int tokens = -1, Endpoint init = {});
  // Every replica's, once variables have values: its own step is that of the variables. The chief's: those of
  // the accumulators too.
  Endpoint init_replica() const { return init_replica_; }
  Endpoint init_chief() const { return init_chief_; }
  const Variable& local_step() const { return *local_step_; }

 private:
  struct Accumulated {
    Endpoint push;      // the replica's
    Gradient mean;      // the chief's
    Endpoint set_step;  // none for rows, which have no such op
  };
  Accumulated Accumulate(const Gradient& gradient, const Variable& variable, const Variable& global_step);
  void RequireApplied() const;

  Scope& scope_;
  Optimizer& optimizer_;
  const SyncReplicasOptions options_;
  int total_ = 0;
  const Variable* global_step_ = nullptr;
  const Variable* local_step_ = nullptr;
  Endpoint tokens_, update_, init_replica_, init_chief_;
};

// The fate of a gradient whose variables have changed since they were read.
enum class Stale {
  kApply,  // it counts as any other
  kDrop,   // it counts as zero, where it is older than so many updates
  kScale,  // it counts for 1 / (1 + s), after s updates of others
};

struct AsyncReplicasOptions {
  Stale stale = Stale::kApply;
  int64_t most = 0;  // kDrop: updates of others that do no harm
};

// One replica's part of asynchronous training: gradients change the variables as soon as they are there.
struct AsyncReplicas {
  Endpoint train;      // one step
  Endpoint staleness;  // int64: how many updates others have made between what was read and this one
  Endpoint weight;     // float: what its gradients count for
};

// The number of updates when the step began.
Endpoint AsyncRead(Scope& scope, const Variable& global_step);
// `read`: by AsyncRead. `options.global_step` is required, and counts updates. Throws InvalidArgument
// without.
AsyncReplicas ApplyAsync(Scope& scope, Optimizer& optimizer, std::vector<GradientOf> gradients, Endpoint read,
                         const AsyncReplicasOptions& stale, const ApplyOptions& options);

}  // namespace lanescope::graphs
