// SPDX-License-Identifier: Apache-2.0
// Variables of a graph that is being written, and how they begin.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/base/dtype.h"
#include "core/graph/graph.h"
#include "core/graph/shape.h"

namespace lanescope::graphs {

class Scope;

// Belongs to its Scope. Where a tensor is wanted, it is its value.
struct Variable {
  std::string name;
  DataType dtype = DataType::kFloat;
  lanescope::Shape shape;
  Endpoint ref;            // the variable itself, or its handle: what updates and Gradients take
  Endpoint value;          // its value, by an Identity called "read" or a ReadVariableOp below "Read"
  Endpoint initial_value;  // what it begins with
  Endpoint initializer;    // the Assign that says so
  bool trainable = true;
  bool use_resource = false;  // it is behind a handle (VarHandleOp)
  int replica = 0;            // of the scope that made it

  operator Endpoint() const { return value; }  // NOLINT: implicit by design
};

// Makes the first value of a variable of this shape, in the name scope "VARIABLE/Initializer".
using Initializer = std::function<Endpoint(Scope& scope, const lanescope::Shape& shape, DataType dtype)>;

struct VariableOptions {
  DataType dtype = DataType::kFloat;
  Initializer initializer = nullptr;
  bool trainable = true;
  bool use_resource = false;  // a variable behind a handle, as TensorFlow 2 has them
};

struct NewVariableOptions {
  std::string_view name = "Variable";
  bool trainable = true;
  bool use_resource = false;
};

// Initializers. A seed of 0 takes the session's.
Initializer Zeros();
Initializer Ones();
Initializer Filled(double value);
Initializer RandomUniform(double low, double high, int64_t seed = 0);
Initializer TruncatedNormal(double mean, double standard_deviation, int64_t seed = 0);
// Uniform within sqrt(6 / (inputs + outputs)), the last two dimensions times what is before them.
Initializer GlorotUniform(int64_t seed = 0);

// A NoOp after the initializers of all variables: what a session runs first.
Endpoint InitializeVariables(Scope& scope, std::string_view name = "init");
// A NoOp after all of these, by way of one on every device that they are on.
Endpoint Group(Scope& scope, const std::vector<Endpoint>& ops, std::string_view name = "group_deps");

}  // namespace lanescope::graphs
