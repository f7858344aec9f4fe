#include "graphs/all_reduce.h"

#include <cstdint>

#include "core/base/error.h"
#include "graphs/gradients/arithmetic.h"

namespace lanescope::graphs {
namespace {

void CheckTensors(const Scope& s, const std::vector<Endpoint>& tensors,
                  const std::vector<std::string>& devices) {
  if (tensors.empty() || devices.size() != tensors.size()) {
    Throw(Code::kInvalidArgument, "an all-reduce of {} tensors on {} devices", tensors.size(),
          devices.size());
  }
  for (const Endpoint& tensor : tensors) {
    if (s.TypeOf(tensor) != s.TypeOf(tensors[0])) {
      Throw(Code::kInvalidArgument, "an all-reduce of {} and {}", DataTypeName(s.TypeOf(tensors[0])),
            DataTypeName(s.TypeOf(tensor)));
    }
    MergeShapes(s.ShapeOf(tensors[0]), s.ShapeOf(tensor));
  }
}

class ScopeSteps final : public AllReduceSteps {
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

 private:
  Scope& s_;
  const lanescope::Shape shape_;
  const std::vector<std::string>& devices_;
  bool mean_;
};

// One node a device, which know each other by their shared name.
std::vector<Endpoint> WriteOp(Scope& s, const std::vector<Endpoint>& tensors,
                              const std::vector<std::string>& devices, const AllReduceOptions& options) {
  const std::string shared = s.CurrentNames().substr(0, s.CurrentNames().size() - 1);
  std::vector<Endpoint> results;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto on = s.Device(devices[i]);
    const Endpoint sum = s.Add("NcclAllReduce", "", {InputList(tensors[i])},
                               {{"reduction", std::string("sum")},
                                {"num_devices", static_cast<int64_t>(tensors.size())},
                                {"shared_name", shared},
                                {"_lanescope_all_reduce", std::string(AllReduceByName(options.by))}});
    results.push_back(options.mean ? Div(s, sum, static_cast<double>(tensors.size())) : sum);
  }
  return results;
}

}  // namespace

std::vector<Endpoint> AllReduce(Scope& scope, const std::vector<Endpoint>& tensors,
                                const std::vector<std::string>& devices, const AllReduceOptions& options) {
  CheckTensors(scope, tensors, devices);
  const auto names = scope.Name(options.name);
  if (options.as_op) return WriteOp(scope, tensors, devices, options);
  const lanescope::Shape shape = scope.ShapeOf(tensors[0]);
  if (options.by == AllReduceBy::kRing && tensors.size() > 1 && !shape.IsExact()) {
    Throw(Code::kInvalidArgument, "'{}' has shape {}; an all-reduce by a ring has to know it",
          scope.graph().TensorName(tensors[0]), shape.ToString());
  }
  ScopeSteps steps(scope, shape, devices, options.mean && tensors.size() > 1);
  return ScheduleAllReduce(options.by, tensors, shape.IsExact() ? shape.NumElements() : 0, &steps);
}

}  // namespace lanescope::graphs
