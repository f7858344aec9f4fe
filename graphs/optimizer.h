// SPDX-License-Identifier: Apache-2.0
// Optimizers: from a loss to the node that makes one training step, as TensorFlow 1 writes it. What an
// optimizer remembers of a variable (its slots) lives with the variable, and so does every update; the two
// powers of Adam live with the variable that is first by name.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graphs/gradients.h"
#include "graphs/scope.h"

namespace lanescope::graphs {

struct GradientOf {
  Gradient gradient;
  const Variable* variable = nullptr;
};

struct MinimizeOptions {
  // Which to change; empty: all that are trainable.
  std::vector<const Variable*> variables = {};
  bool colocate_gradients_with_ops = false;
  // All gradients of an op's inputs wait for each other.
  bool gate_gradients = true;
  // An integer variable that counts steps.
  const Variable* global_step = nullptr;
  // The name of the node that makes the step, and of its parts; empty: the optimizer's.
  std::string_view name = {};
};

struct ApplyOptions {
  const Variable* global_step = nullptr;
  std::string_view name = {};
};

// One way to change variables by their gradients. An object serves one Scope, which must outlive it. Not
// thread-safe.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // The node of one step. Throws InvalidArgument where no variable has a gradient, and what Gradients throws.
  Endpoint Minimize(Scope& scope, Endpoint loss, const MinimizeOptions& options = {});
  std::vector<GradientOf> ComputeGradients(Scope& scope, Endpoint loss, const MinimizeOptions& options = {});
  // Variables without a gradient stay as they are.
  Endpoint ApplyGradients(Scope& scope, const std::vector<GradientOf>& gradients,
                          const ApplyOptions& options = {});

 protected:
  explicit Optimizer(std::string name) : name_(std::move(name)) {}

  virtual void CreateSlots(Scope& scope, const std::vector<const Variable*>& variables) = 0;
  // Makes the tensors that updates share, in the optimizer's name scope.
  virtual void Prepare(Scope& scope) = 0;
  virtual Endpoint ApplyDense(Scope& scope, Endpoint gradient, const Variable& variable) = 0;
  // Updates rows without duplicates.
  virtual Endpoint ApplySparse(Scope& scope, const IndexedSlices& gradient, const Variable& variable) = 0;
  // Updates rows that may occur more than once; adds those up first.
  virtual Endpoint ApplyRows(Scope& scope, const IndexedSlices& gradient, const Variable& variable);
  // Ends the step after the updates: the node called `name` waits for all.
  virtual Endpoint Finish(Scope& scope, const std::vector<Endpoint>& updates, std::string_view name);

  // The slot of this kind, made at first use where the variable lives.
  const Variable& Slot(Scope& scope, const Variable& variable, std::string_view kind,
                       const Initializer& initializer);
  const Variable& Slot(const Variable& variable, std::string_view kind) const;
  // `value` as a node called `name`, and that for a variable of another type.
  static Endpoint ToNode(Scope& scope, const Input& value, std::string_view name);
  static Endpoint As(Scope& scope, Endpoint value, const Variable& variable);
  // The variable's value as it is now: of one behind a handle, read here.
  static Endpoint ValueOf(Scope& scope, const Variable& variable);

 private:
  const std::string name_;
  std::map<std::pair<const Variable*, std::string>, const Variable*> slots_;
};

// variable -= learning_rate * gradient.
class GradientDescentOptimizer : public Optimizer {
 public:
  explicit GradientDescentOptimizer(Input learning_rate);

 protected:
  void CreateSlots(Scope& scope, const std::vector<const Variable*>& variables) override;
  void Prepare(Scope& scope) override;
  Endpoint ApplyDense(Scope& scope, Endpoint gradient, const Variable& variable) override;
  Endpoint ApplySparse(Scope& scope, const IndexedSlices& gradient, const Variable& variable) override;
  Endpoint ApplyRows(Scope& scope, const IndexedSlices& gradient, const Variable& variable) override;

 private:
  const Input learning_rate_;
  Endpoint rate_;
};

struct MomentumOptions {
  bool use_nesterov = false;
};

// accumulator = momentum * accumulator + gradient; variable -= learning_rate * accumulator (Nesterov: looked
// ahead).
class MomentumOptimizer : public Optimizer {
 public:
  MomentumOptimizer(Input learning_rate, Input momentum, const MomentumOptions& options = {});

 protected:
  void CreateSlots(Scope& scope, const std::vector<const Variable*>& variables) override;
  void Prepare(Scope& scope) override;
  Endpoint ApplyDense(Scope& scope, Endpoint gradient, const Variable& variable) override;
  Endpoint ApplySparse(Scope& scope, const IndexedSlices& gradient, const Variable& variable) override;

 private:
  const Input learning_rate_, momentum_;
  const MomentumOptions options_;
  Endpoint rate_, momentum_node_;
};

struct AdagradOptions {
  double initial_accumulator_value = 0.1;
};

// accumulator += gradient^2; variable -= learning_rate * gradient / sqrt(accumulator).
class AdagradOptimizer : public Optimizer {
 public:
  // Throws InvalidArgument for an initial value that is not positive.
  explicit AdagradOptimizer(Input learning_rate, const AdagradOptions& options = {});

 protected:
  void CreateSlots(Scope& scope, const std::vector<const Variable*>& variables) override;
  void Prepare(Scope& scope) override;
  Endpoint ApplyDense(Scope& scope, Endpoint gradient, const Variable& variable) override;
  Endpoint ApplySparse(Scope& scope, const IndexedSlices& gradient, const Variable& variable) override;

 private:
  const Input learning_rate_;
  const AdagradOptions options_;
  Endpoint rate_;
};

struct RmsPropOptions {
  double decay = 0.9;
  double momentum = 0;
  double epsilon = 1e-10;
  bool centered = false;
};

// Gradients over the root of the decaying mean of their squares (centered: of their variance), with momentum.
class RmsPropOptimizer : public Optimizer {
 public:
  explicit RmsPropOptimizer(Input learning_rate, const RmsPropOptions& options = {});

 protected:
  void CreateSlots(Scope& scope, const std::vector<const Variable*>& variables) override;
  void Prepare(Scope& scope) override;
  Endpoint ApplyDense(Scope& scope, Endpoint gradient, const Variable& variable) override;
  Endpoint ApplySparse(Scope& scope, const IndexedSlices& gradient, const Variable& variable) override;

 private:
  const Input learning_rate_;
  const RmsPropOptions options_;
  Endpoint rate_, decay_, momentum_, epsilon_;
};

struct AdamOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
};

// Decaying means of gradients and of their squares, both corrected for their beginning at zero.
class AdamOptimizer : public Optimizer {
 public:
  explicit AdamOptimizer(Input learning_rate = 0.001, const AdamOptions& options = {});

 protected:
  void CreateSlots(Scope& scope, const std::vector<const Variable*>& variables) override;
  void Prepare(Scope& scope) override;
  Endpoint ApplyDense(Scope& scope, Endpoint gradient, const Variable& variable) override;
  Endpoint ApplySparse(Scope& scope, const IndexedSlices& gradient, const Variable& variable) override;
  Endpoint Finish(Scope& scope, const std::vector<Endpoint>& updates, std::string_view name) override;

 private:
  static Endpoint Decayed(Scope& scope, const Variable& slot, Endpoint beta);
  static Endpoint WithRows(Scope& scope, const Variable& slot, Endpoint indices, Endpoint share);

  const Input learning_rate_;
  const AdamOptions options_;
  const Variable* beta1_power_ = nullptr;
  const Variable* beta2_power_ = nullptr;
  Endpoint rate_, beta1_, beta2_, epsilon_;
};

// The gradient, scaled where its norm is larger than clip_norm.
Gradient ClipByNorm(Scope& scope, const Gradient& gradient, const Input& clip_norm);
// The norm of all gradients together.
Endpoint GlobalNorm(Scope& scope, const std::vector<Gradient>& gradients);
// All of them scaled alike where the norm of all together is larger than clip_norm. Those that are empty stay
// so.
std::vector<Gradient> ClipByGlobalNorm(Scope& scope, const std::vector<Gradient>& gradients,
                                       const Input& clip_norm);

}  // namespace lanescope::graphs
