// SPDX-License-Identifier: Apache-2.0
#include "graphs/variable.h"

#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "graphs/constants.h"
#include "graphs/scope.h"

namespace lanescope::graphs {
namespace {

std::vector<std::pair<std::string_view, AttrValue>> Seeds(const Scope& scope, int64_t seed, DataType dtype) {
  return {{"seed", seed == 0 ? int64_t{0} : scope.random_seed()}, {"seed2", seed}, {"dtype", dtype}};
}

Endpoint RandomTensor(Scope& scope, double low, double high, int64_t seed, const lanescope::Shape& shape,
                      DataType dtype) {
  const auto names = scope.Name("random_uniform");
  const std::string full = scope.CurrentNames();
  const Endpoint dims = scope.Constant(DimsTensor(shape, DataType::kInt32), "shape");
  const Endpoint least = scope.Constant(UniformTensor(low, {}, dtype), "min");
  const Endpoint most = scope.Constant(UniformTensor(high, {}, dtype), "max");
  const Endpoint random = scope.Add("RandomUniform", "RandomUniform", {dims}, Seeds(scope, seed, dtype));
  const Endpoint width = scope.Add("Sub", "sub", {most, least});
  return scope.Add("AddV2", full, {scope.Add("Mul", "mul", {random, width}), least});
}

}  // namespace

Initializer Filled(double value) {
  return [value](Scope& scope, const lanescope::Shape& shape, DataType dtype) {
    return scope.Constant(UniformTensor(value, shape, dtype));
  };
}

Initializer Zeros() {
  return [](Scope& scope, const lanescope::Shape& shape, DataType dtype) {
    return FilledTensor(scope, 0, shape, dtype, "zeros");
  };
}

Initializer Ones() {
  return [](Scope& scope, const lanescope::Shape& shape, DataType dtype) {
    return FilledTensor(scope, 1, shape, dtype, "ones");
  };
}

Initializer RandomUniform(double low, double high, int64_t seed) {
  return [low, high, seed](Scope& scope, const lanescope::Shape& shape, DataType dtype) {
    return RandomTensor(scope, low, high, seed, shape, dtype);
  };
}

Initializer TruncatedNormal(double mean, double standard_deviation, int64_t seed) {
  return [=](Scope& scope, const lanescope::Shape& shape, DataType dtype) {
    const auto names = scope.Name("truncated_normal");
    const std::string full = scope.CurrentNames();
    const Endpoint dims = scope.Constant(DimsTensor(shape, DataType::kInt32), "shape");
    const Endpoint middle = scope.Constant(UniformTensor(mean, {}, dtype), "mean");
    const Endpoint width = scope.Constant(UniformTensor(standard_deviation, {}, dtype), "stddev");
    const Endpoint random =
        scope.Add("TruncatedNormal", "TruncatedNormal", {dims}, Seeds(scope, seed, dtype));
    return scope.Add("AddV2", full, {scope.Add("Mul", "mul", {random, width}), middle});
  };
}

Initializer GlorotUniform(int64_t seed) {
  return [seed](Scope& scope, const lanescope::Shape& shape, DataType dtype) {
    double inputs = 1, outputs = 1;
    if (shape.rank() > 0) outputs = static_cast<double>(shape[shape.rank() - 1]);
    inputs = shape.rank() > 1 ? static_cast<double>(shape[shape.rank() - 2]) : outputs;
    for (int i = 0; i + 2 < shape.rank(); ++i) {
      inputs *= static_cast<double>(shape[i]);
      outputs *= static_cast<double>(shape[i]);
    }
    const double limit = std::sqrt(6.0 / (inputs + outputs));
    return RandomTensor(scope, -limit, limit, seed, shape, dtype);
  };
}

Endpoint Group(Scope& scope, const std::vector<Endpoint>& ops, std::string_view name) {
  std::map<std::string, std::vector<Endpoint>> by_device;
  for (const Endpoint& op : ops) by_device[scope.graph().node(op.node).device].push_back(op);
  const auto after = [&scope](const std::string& device, const std::vector<Endpoint>& sources,
                              std::string_view called) {
    const auto controls = scope.ControlDependencies(sources);
    const auto on = scope.Device(device);
    return scope.Add("NoOp", called, {});
  };
  if (by_device.empty()) return scope.Add("NoOp", name, {});
  if (by_device.size() == 1) return after(by_device.begin()->first, by_device.begin()->second, name);
  std::vector<Endpoint> gates;
  // A name with a '/' behind is taken as it is, by the scope as by the node.
  const auto names = scope.Name(name);
  const std::string full = scope.CurrentNames();
  for (const auto& [device, sources] : by_device) gates.push_back(after(device, sources, "NoOp"));
  return after("", gates, full);
}

Endpoint InitializeVariables(Scope& scope, std::string_view name) {
  std::vector<Endpoint> initializers;
  for (const Variable* variable : scope.variables()) initializers.push_back(variable->initializer);
  return Group(scope, initializers, name);
}

}  // namespace lanescope::graphs
