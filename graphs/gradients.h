// SPDX-License-Identifier: Apache-2.0
// Derivatives as graphs: what TensorFlow's tf.gradients adds to a graph, node for node.
#pragma once

#include <string_view>
#include <variant>
#include <vector>

#include "graphs/scope.h"

namespace lanescope::graphs {

// Rows of a larger tensor: row indices[i] of it is values[i], rows at equal indices add up, and what is not
// named is zero. The gradient of a lookup in a table.
struct IndexedSlices {
  Endpoint values;
  Endpoint indices;
  Endpoint dense_shape;
};

// A gradient: none (the ys do not depend on it), a tensor, or rows of one. Value type.
class Gradient {
 public:
  Gradient() = default;
  Gradient(Endpoint dense) : value_(dense) {}                // NOLINT: implicit by design
  Gradient(const IndexedSlices& slices) : value_(slices) {}  // NOLINT: implicit by design

  bool empty() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_slices() const { return std::holds_alternative<IndexedSlices>(value_); }
  const IndexedSlices& slices() const { return std::get<IndexedSlices>(value_); }
  // Throws InvalidArgument where it is not a tensor.
  Endpoint dense() const;
  // As a tensor; rows are added up in a node of the scope, called `name`.
  Endpoint ToDense(Scope& scope, std::string_view name = {}) const;

 private:
  std::variant<std::monostate, Endpoint, IndexedSlices> value_;
};

struct GradientOptions {
  std::string_view name = "gradients";
  // Every node lives with the op that it differentiates; without, where the placer puts it.
  bool colocate_with_ops = false;
  // All gradients of an op's inputs wait for each other.
  bool gate_gradients = false;
  // Gradients of the ys, one each; empty: ones.
  std::vector<Gradient> grad_ys = {};
  // Not differentiated through.
  std::vector<Endpoint> stop_gradients = {};
};

// The derivatives of the sum of all `ys` by each of `xs`. A variable is given by its `ref`. Throws
// InvalidArgument for a y that is not numeric, Unimplemented naming the op on the way that has no gradient
// here, and FailedPrecondition for PreventGradient.
std::vector<Gradient> Gradients(Scope& scope, const std::vector<Endpoint>& ys,
                                const std::vector<Endpoint>& xs, const GradientOptions& options = {});

// Whether Gradients can pass through this op: it has a gradient, or none by nature.
bool IsDifferentiable(std::string_view op);

}  // namespace lanescope::graphs
