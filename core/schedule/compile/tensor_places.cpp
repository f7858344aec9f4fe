// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/compile/tensor_places.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/machine/tasks.h"

namespace lanescope::compile {

TensorPlaces::TensorPlaces(Draft* draft, const Completion* completion)
    : draft_(*draft), completion_(*completion), host_(CallersHost(draft->request, draft->machine)) {
  first_.reserve(draft_.graph.num_nodes());
  int total = 0;
  for (const NodeId id : draft_.graph.node_ids()) {
    first_.Add(total);
    total += static_cast<int>(draft_.info.outputs(id).size());
  }
  base_.assign(static_cast<size_t>(total), ValueId());
  known_route_.resize(draft_.machine.devices.size());
  // Mostly one output a node, and a copy of it at most.
  const size_t expected = 2 * draft_.order.size() + draft_.request.feeds.size();
  draft_.values.reserve(expected);
  draft_.producer.reserve(expected);
  next_place_.reserve(expected);
}

ValueId TensorPlaces::NewValue(Endpoint source, DeviceId device, const TensorInfo& info, Storage storage) {
  Value value;
  value.source = source;
  value.device = device;
  value.dtype = RemoveRef(info.dtype);
  value.shape = info.shape;
  value.storage = storage;
  value.bytes = storage == Storage::kResource ? 0 : BytesOf(info);
  draft_.producer.Add({});
  next_place_.Add(ValueId());
  return draft_.values.Add(std::move(value));
}

ValueId TensorPlaces::NewConstant(Endpoint source, DeviceId device, const TensorInfo& info) {
  const ValueId value = NewValue(source, device, info, Storage::kConstant);
  draft_.value(value).constant = info.value;
  return value;
}

ValueId TensorPlaces::Base(Endpoint endpoint) {
  const ValueId base = base_[IndexOf(endpoint)];
  if (base.exists()) return base;
  const TensorInfo& info = draft_.info.of(endpoint);
  LANESCOPE_CHECK(info.value != nullptr);
  return base_[IndexOf(endpoint)] = NewConstant(endpoint, host_, info);
}

DataType TensorPlaces::TypeOf(Endpoint endpoint) const {
  const ValueId base = base_[IndexOf(endpoint)];
  return base.exists() ? draft_.value(base).dtype : draft_.info.of(endpoint).dtype;
}

// The version of a variable's memory that `reader` reads, 0 for everything else.
int TensorPlaces::Version(ValueId value, NodeId reader) const {
  const Value& root = draft_.value(draft_.Root(value));
  if (root.storage != Storage::kVariable) return 0;
  const bool read_op = root.source.node != root.variable;  // takes the value once, for all its users
  return draft_.VersionAt(read_op ? root.source.node : reader, root.variable);
}

int TensorPlaces::VersionOfPlace(ValueId value) const {
  const CommandId producer = draft_.producer[value];
  return !producer.exists() ? 0 : draft_.CopiedVersion(producer);
}

ValueId TensorPlaces::On(Endpoint endpoint, DeviceId device, NodeId reader) {
  const ValueId base = Base(endpoint);
  if (draft_.value(base).device == device) return base;
  return Place(endpoint, base, device, Version(base, reader));
}

// The place of this device and version; made where there is none yet.
ValueId TensorPlaces::Place(Endpoint endpoint, ValueId base, DeviceId device, int version) {
  if (draft_.value(base).device == device) return base;
  ValueId last = base;
  while (next_place_[last].exists()) {
    last = next_place_[last];
    if (draft_.value(last).device == device && VersionOfPlace(last) == version) return last;
  }
  ValueId value;
  if (draft_.value(base).storage == Storage::kConstant && IsReplicated(draft_.value(base).dtype)) {
    value = NewConstant(endpoint, device, draft_.info.of(endpoint));
    draft_.value(value).constant = draft_.value(base).constant;
  } else {
    const DeviceId stop = StopBefore(draft_.machine, draft_.tasks, draft_.value(base).device, device);
    const ValueId from = Place(endpoint, base, stop, version);
    value = AddCopy(endpoint, from, device, version);
    while (next_place_[last].exists()) last = next_place_[last];  // what was made on the way
  }
  next_place_[last] = value;
  return value;
}

void TensorPlaces::RequireMovable(Endpoint endpoint, ValueId from, DeviceId device) {
  const Value& source = draft_.value(from);
  if (LivesOnHost(source.dtype) && device != draft_.tasks.host_of[device]) {
    Throw(Code::kInvalidArgument,
          "tensor '{}' has dtype {} and cannot be moved to {}; place its users on the CPU",
          draft_.graph.TensorName(endpoint), DataTypeName(source.dtype),
          draft_.machine.device(device).local_name());
  }
  if (source.storage == Storage::kResource) {
    Throw(Code::kInvalidArgument, "the resource '{}' is on {} but is used on {}; they must share a device",
          draft_.graph.TensorName(endpoint), draft_.machine.device(source.device).local_name(),
          draft_.machine.device(device).local_name());
  }
  if (source.device != device) RequireRoute(source.device, device);
}

void TensorPlaces::RequireRoute(DeviceId src, DeviceId dst) {
  IdVector<DeviceId, char>& known = known_route_[src];
  known.resize(draft_.machine.devices.size());
  if (!known[dst]) draft_.machine.RouteBetween(src, dst);
  known[dst] = 1;
}

ValueId TensorPlaces::AddCopy(Endpoint endpoint, ValueId from, DeviceId device, int version) {
  RequireMovable(endpoint, from, device);
  TensorInfo info;
  info.dtype = draft_.value(from).dtype;
  info.shape = draft_.value(from).shape;
  const ValueId value = NewValue(endpoint, device, info, Storage::kPlanned);
  const CommandId producer = draft_.producer[from];
  const CommandId copy = draft_.AddCopy(from, value, endpoint.node, version);
  if (producer.exists() && draft_.command(producer).kind == CommandKind::kCopy) {
    draft_.dependencies.Add(copy, producer);  // on the way from task to task
  } else if (!draft_.IsFed(endpoint)) {
    for (const CommandId before : completion_.Of(endpoint.node)) draft_.dependencies.Add(copy, before);
  }
  return value;
}

ValueId TensorPlaces::Fetched(Endpoint fetch) {
  const ValueId base = Base(fetch);
  const Storage storage = draft_.value(draft_.Root(base)).storage;
  if (storage == Storage::kResource) {
    Throw(Code::kInvalidArgument, "'{}' is a resource handle and cannot be fetched",
          draft_.graph.TensorName(fetch));
  }
  if (storage == Storage::kVariable) {
    const int version = FetchedVersion(fetch, base);
    const DeviceId device = draft_.value(base).device;
    const DeviceId stop = StopBefore(draft_.machine, draft_.tasks, device, host_);
    const ValueId from = stop == device ? base : AddCopy(fetch, base, stop, version);
    return AddCopy(fetch, from, host_, version);
  }
  return On(fetch, host_, fetch.node);
}

// An update's own result is the version that it makes.
int TensorPlaces::FetchedVersion(Endpoint fetch, ValueId base) const {
  const auto updates = draft_.updates.find(draft_.value(draft_.Root(base)).variable);
  if (updates != draft_.updates.end()) {
    const auto found = std::find(updates->second.begin(), updates->second.end(), fetch.node);
    if (found != updates->second.end()) return static_cast<int>(found - updates->second.begin()) + 1;
  }
  return Version(base, fetch.node);
}

}  // namespace lanescope::compile
