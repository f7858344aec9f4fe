// SPDX-License-Identifier: Apache-2.0
// The nodes of collectives as op functions write them. Internal to graphs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/collective/collective_schedule.h"
#include "graphs/gradients/arithmetic.h"
#include "graphs/scope.h"

namespace lanescope::graphs {

// `shape`: of what Join gives. Refers to the scope and the devices.
class ScopeSteps final : public CollectiveSteps {
 private:
  template <typename Write>
  auto On(size_t device, Write write) {
    const auto on = s_.Device(devices_[device]);
    return write();
  }

 public:
  ScopeSteps(Scope& scope, const lanescope::Shape& shape, const std::vector<std::string>& devices, bool mean)
      : s_(scope), shape_(shape), devices_(devices), mean_(mean) {}

  Endpoint Combine(size_t device, Endpoint a, Endpoint b) override {
    return On(device, [&] { return Add(s_, a, b); });
  }
  Endpoint CombineAll(size_t device, const std::vector<Endpoint>& tensors) override {
    return On(device, [&] { return op::AddN(s_, tensors); });
  }
  Endpoint Send(size_t device, Endpoint tensor) override {
    return On(device, [&] { return op::Identity(s_, tensor); });
  }
  Endpoint Finish(size_t device, Endpoint whole) override {
    if (!mean_) return whole;
    return On(device, [&] { return Div(s_, whole, static_cast<double>(devices_.size())); });
  }
  std::vector<Endpoint> Split(size_t device, Endpoint tensor, const std::vector<int64_t>& sizes) override {
    const auto count = static_cast<int64_t>(sizes.size());
    return On(device, [&] {
      return op::SplitV(s_, op::Reshape(s_, tensor, {-1}), Tensor::FromValues(lanescope::Shape{count}, sizes),
                        0, count);
    });
  }
  Endpoint Join(size_t device, const std::vector<Endpoint>& parts) override {
    const std::vector<Dim> dims(shape_.dims().begin(), shape_.dims().end());
    return On(device, [&] {
      return op::Reshape(s_, op::ConcatV2(s_, parts, 0),
                         Tensor::FromValues(lanescope::Shape{shape_.rank()}, dims));
    });
  }
  std::vector<Endpoint> SplitRows(size_t device, Endpoint tensor, size_t parts) override {
    return On(device, [&] { return op::Split(s_, 0, tensor, static_cast<int64_t>(parts)); });
  }
  Endpoint JoinRows(size_t device, const std::vector<Endpoint>& parts) override {
    return On(device, [&] { return op::ConcatV2(s_, parts, 0); });
  }

 private:
  Scope& s_;
  const lanescope::Shape shape_;
  const std::vector<std::string>& devices_;
  bool mean_;
};

}  // namespace lanescope::graphs
