// SPDX-License-Identifier: Apache-2.0
#include "graphs/all_reduce.h"

#include <cstdint>
#include <optional>

#include "core/base/error.h"
#include "graphs/collective_steps.h"

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
                                {"_lanescope_all_reduce", std::string(CollectiveByName(options.by))}});
    results.push_back(options.mean ? Div(s, sum, static_cast<double>(tensors.size())) : sum);
  }
  return results;
}

}  // namespace

std::vector<Endpoint> AllReduce(Scope& scope, const std::vector<Endpoint>& tensors,
                                const std::vector<std::string>& devices, const AllReduceOptions& options) {
  CheckTensors(scope, tensors, devices);
  const auto names = scope.Name(options.name);
  if (options.as_op || options.by == AllReduceBy::kNccl) return WriteOp(scope, tensors, devices, options);
  const lanescope::Shape shape = scope.ShapeOf(tensors[0]);
  if (options.by == AllReduceBy::kRing && tensors.size() > 1 && !shape.IsExact()) {
    Throw(Code::kInvalidArgument, "'{}' has shape {}; an all-reduce by a ring has to know it",
          scope.graph().TensorName(tensors[0]), shape.ToString());
  }
  ScopeSteps steps(scope, shape, devices, options.mean && tensors.size() > 1);
  const int64_t elements = shape.IsExact() ? shape.NumElements() : 0;
  if (options.by != AllReduceBy::kHierarchical)
    return ScheduleAllReduce(options.by, tensors, elements, &steps);
  const DeviceGroups groups = GroupsByTask(devices);
  const auto element_bytes = static_cast<int64_t>(ElementSize(scope.TypeOf(tensors[0])));
  const CollectiveBy between =
      SuitedBySize(groups.size(), shape.IsExact() ? std::optional(elements * element_bytes) : std::nullopt);
  return ScheduleHierarchicalAllReduce(groups, between, tensors, elements, &steps);
}

}  // namespace lanescope::graphs
