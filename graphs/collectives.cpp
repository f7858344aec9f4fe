// SPDX-License-Identifier: Apache-2.0
#include "graphs/collectives.h"

#include <cstdint>

#include "core/base/error.h"
#include "graphs/collective_steps.h"

namespace lanescope::graphs {
namespace {

using Attrs = std::vector<std::pair<std::string_view, AttrValue>>;

void CheckCollective(const Scope& s, const std::vector<Endpoint>& tensors,
                     const std::vector<std::string>& devices, std::string_view what) {
  if (tensors.empty() || devices.size() != tensors.size())
    Throw(Code::kInvalidArgument, "{} of {} tensors on {} devices", what, tensors.size(), devices.size());
  for (const Endpoint& tensor : tensors) {
    if (s.TypeOf(tensor) != s.TypeOf(tensors[0])) {
      Throw(Code::kInvalidArgument, "{} of {} and {}", what, DataTypeName(s.TypeOf(tensors[0])),
            DataTypeName(s.TypeOf(tensor)));
    }
  }
}

// The first dimension of what is cut or joined along it.
Dim RowsOf(const Scope& s, Endpoint tensor, std::string_view what) {
  const lanescope::Shape shape = s.ShapeOf(tensor);
  if (shape.known_rank() && shape.rank() == 0)
    Throw(Code::kInvalidArgument, "{} of '{}', which is a scalar", what, s.graph().TensorName(tensor));
  return shape.known_rank() ? shape[0] : kUnknownDim;
}

void RequireExact(const Scope& s, Endpoint tensor, std::string_view who) {
  if (s.ShapeOf(tensor).IsExact()) return;
  Throw(Code::kInvalidArgument, "'{}' has shape {}; {} has to know it", s.graph().TensorName(tensor),
        s.ShapeOf(tensor).ToString(), who);
}

// Common facts of one collective's nodes. Keys are of the graph: the number of its nodes is no key yet.
struct Keys {
  int64_t size, instance;
  Attrs attrs;
};
Keys KeysOf(const Scope& s, size_t devices, CollectiveBy by) {
  const auto size = static_cast<int64_t>(devices), instance = static_cast<int64_t>(s.graph().num_nodes());
  return {size, instance, {{"_lanescope_collective", std::string(CollectiveByName(by))}}};
}
Attrs WithKeys(const Keys& keys, Attrs attrs) {
  attrs.insert(attrs.end(), keys.attrs.begin(), keys.attrs.end());
  attrs.insert(attrs.end(),
               {{"group_size", keys.size}, {"group_key", keys.size}, {"instance_key", keys.instance}});
  return attrs;
}

std::vector<Endpoint> WriteGathers(Scope& s, const std::vector<Endpoint>& tensors,
                                   const std::vector<std::string>& devices, CollectiveBy by) {
  lanescope::Shape gathered = s.ShapeOf(tensors[0]);
  gathered.set_dim(0, 0);
  for (const Endpoint& tensor : tensors) {
    RequireExact(s, tensor, "an op");
    gathered.set_dim(0, AddDims(gathered[0], s.ShapeOf(tensor)[0]));
  }
  const Keys keys = KeysOf(s, tensors.size(), by);
  std::vector<Endpoint> results;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto on = s.Device(devices[i]);
    results.push_back(s.Add("CollectiveGather", "", {InputList(tensors[i])},
                            WithKeys(keys, {{"shape", ShapeAttr{gathered, ""}}})));
  }
  return results;
}

// The op takes its keys as tensors.
std::vector<Endpoint> WriteScatters(Scope& s, const std::vector<Endpoint>& tensors,
                                    const std::vector<std::string>& devices,
                                    const CollectiveOptions& options) {
  const Keys keys = KeysOf(s, tensors.size(), options.by);
  const auto scalar = [&](int64_t value) {
    return InputList(op::Const(s, Tensor::Scalar(static_cast<int32_t>(value))));
  };
  std::vector<Endpoint> results;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto on = s.Device(devices[i]);
    Attrs attrs = {{"merge_op", std::string("Add")}, {"final_op", std::string(options.mean ? "Div" : "Id")}};
    attrs.insert(attrs.end(), keys.attrs.begin(), keys.attrs.end());
    results.push_back(s.Add("CollectiveReduceScatterV2", "",
                            {InputList(tensors[i]), scalar(keys.size), scalar(keys.size),
                             scalar(keys.instance), InputList(std::vector<Endpoint>())},
                            attrs));
  }
  return results;
}

std::vector<Endpoint> WriteBroadcasts(Scope& s, Endpoint tensor, const std::vector<std::string>& devices,
                                      CollectiveBy by) {
  RequireExact(s, tensor, "an op");
  const Keys keys = KeysOf(s, devices.size(), by);
  const Attrs shape = {{"shape", ShapeAttr{s.ShapeOf(tensor), ""}}};
  std::vector<Endpoint> results;
  for (size_t i = 0; i < devices.size(); ++i) {
    const auto on = s.Device(devices[i]);
    if (i == 0) {
      results.push_back(s.Add("CollectiveBcastSend", "", {InputList(tensor)}, WithKeys(keys, shape)));
    } else {
      Attrs received = shape;
      received.emplace_back("T", s.TypeOf(tensor));
      results.push_back(s.Add("CollectiveBcastRecv", "", {}, WithKeys(keys, received)));
    }
  }
  return results;
}

std::string_view NameOr(const CollectiveOptions& options, std::string_view name) {
  return options.name.empty() ? name : options.name;
}

}  // namespace

std::vector<Endpoint> AllGather(Scope& scope, const std::vector<Endpoint>& tensors,
                                const std::vector<std::string>& devices, const CollectiveOptions& options) {
  CheckCollective(scope, tensors, devices, "an all-gather");
  for (const Endpoint& tensor : tensors) RowsOf(scope, tensor, "an all-gather");
  const auto names = scope.Name(NameOr(options, "AllGather"));
  if (options.as_op) return WriteGathers(scope, tensors, devices, options.by);
  ScopeSteps steps(scope, scope.ShapeOf(tensors[0]), devices, false);
  return ScheduleAllGather(options.by, tensors, &steps);
}

std::vector<Endpoint> ReduceScatter(Scope& scope, const std::vector<Endpoint>& tensors,
                                    const std::vector<std::string>& devices,
                                    const CollectiveOptions& options) {
  CheckCollective(scope, tensors, devices, "a reduce-scatter");
  for (const Endpoint& tensor : tensors) {
    MergeShapes(scope.ShapeOf(tensors[0]), scope.ShapeOf(tensor));
    const Dim rows = RowsOf(scope, tensor, "a reduce-scatter");
    if (IsExact(rows) && rows % static_cast<int64_t>(devices.size()) != 0)
      Throw(Code::kInvalidArgument, "{} rows cannot be scattered over {} devices", rows, devices.size());
  }
  const auto names = scope.Name(NameOr(options, "ReduceScatter"));
  if (options.as_op) return WriteScatters(scope, tensors, devices, options);
  ScopeSteps steps(scope, scope.ShapeOf(tensors[0]), devices, options.mean && tensors.size() > 1);
  return ScheduleReduceScatter(options.by, tensors, &steps);
}

std::vector<Endpoint> Broadcast(Scope& scope, Endpoint tensor, const std::vector<std::string>& devices,
                                const CollectiveOptions& options) {
  if (devices.empty()) Throw(Code::kInvalidArgument, "a broadcast to no device");
  const auto names = scope.Name(NameOr(options, "Broadcast"));
  if (options.as_op) return WriteBroadcasts(scope, tensor, devices, options.by);
  const lanescope::Shape shape = scope.ShapeOf(tensor);
  if (options.by == CollectiveBy::kRing && devices.size() > 2) RequireExact(scope, tensor, "a ring");
  ScopeSteps steps(scope, shape, devices, false);
  return ScheduleBroadcast(options.by, tensor, devices.size(), shape.IsExact() ? shape.NumElements() : 0,
                           &steps);
}

}  // namespace lanescope::graphs
