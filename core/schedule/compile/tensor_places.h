// SPDX-License-Identifier: Apache-2.0
// The values that hold each tensor, one in every memory that needs it.
#pragma once

#include <vector>

#include "core/schedule/compile/completion.h"
#include "core/schedule/compile/draft.h"

namespace lanescope::compile {

// Constants of these types are shape arithmetic: they are written wherever they are read, at no copy. Float
// constants are tensors like others: they live where they were placed and are copied from there (TensorFlow's
// partitioner does the same).
inline bool IsReplicated(DataType type) {
  return type == DataType::kInt32 || type == DataType::kInt64 || type == DataType::kBool;
}

inline bool LivesOnHost(DataType type) { return type == DataType::kString; }

// Adds values to the draft, and the copies between them. A tensor has a base, the value where it was made;
// its other places hang on that one as a linked list in the order in which they were asked for.
class TensorPlaces {
 public:
  // `completion` says what a copy of a node's output waits for; it is filled while this one is in use.
  TensorPlaces(Draft* draft, const Completion* completion);

  // A new value without a producer. It belongs to no endpoint until SetBase.
  ValueId NewValue(Endpoint source, DeviceId device, const TensorInfo& info, Storage storage);
  ValueId NewConstant(Endpoint source, DeviceId device, const TensorInfo& info);
  void SetBase(Endpoint endpoint, ValueId value) { base_[IndexOf(endpoint)] = value; }
  // The base; of a folded endpoint it is made at the first use.
  ValueId Base(Endpoint endpoint);
  DataType TypeOf(Endpoint endpoint) const;
  // The tensor in the memory of `device`, as the node `reader` sees it; adds the one Copy that brings it
  // there. Throws InvalidArgument for what cannot be moved.
  ValueId On(Endpoint endpoint, DeviceId device, NodeId reader);
  // The value that a fetch returns. Of a variable, which may change after the fetch, it is a copy.
  ValueId Fetched(Endpoint fetch);

 private:
  size_t IndexOf(Endpoint endpoint) const {
    return static_cast<size_t>(first_[endpoint.node] + endpoint.output);
  }
  int Version(ValueId value, NodeId reader) const;
  int FetchedVersion(Endpoint fetch, ValueId base) const;
  int VersionOfPlace(ValueId value) const;
  ValueId Place(Endpoint endpoint, ValueId base, DeviceId device, int version);
  ValueId AddCopy(Endpoint endpoint, ValueId from, DeviceId device, int version);
  void RequireMovable(Endpoint endpoint, ValueId from, DeviceId device);
  void RequireRoute(DeviceId src, DeviceId dst);

  Draft& draft_;
  const Completion& completion_;
  const DeviceId host_;
  IdVector<NodeId, int> first_;                               // by node: its first output in base_
  std::vector<ValueId> base_;                                 // by output: the value where it was made
  IdVector<ValueId, ValueId> next_place_;                     // by value: the same tensor elsewhere
  IdVector<DeviceId, IdVector<DeviceId, char>> known_route_;  // by source, where it has one, by destination
};

}  // namespace lanescope::compile
