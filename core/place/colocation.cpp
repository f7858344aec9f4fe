// SPDX-License-Identifier: Apache-2.0
#include "core/place/colocation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "core/base/error.h"
#include "core/base/stop_point.h"
#include "core/place/colocation_rules.h"
#include "core/place/placer_messages.h"
#include "core/place/type_choices.h"

namespace lanescope {
namespace {

bool AreCompatible(const DeviceName& a, const DeviceName& b) {
  return !(a.has_job && b.has_job && a.job != b.job) &&
         !(a.has_replica && b.has_replica && a.replica != b.replica) &&
         !(a.has_task && b.has_task && a.task != b.task) && !(a.has_type && b.has_type && a.type != b.type) &&
         !(a.has_id && b.has_id && a.id != b.id);
}

// Both name a task, and not the same one.
bool IsOtherAddressSpace(const DeviceName& a, const DeviceName& b) {
  const auto complete = [](const DeviceName& name) {
    return name.has_job && name.has_replica && name.has_task;
  };
  return complete(a) && complete(b) && !IsSameAddressSpace(a, b);
}

DeviceName DropDevicePart(DeviceName name, bool keep_type, bool keep_id) {
  if (!keep_type) {
    name.has_type = false;
    name.type.clear();
  }
  if (!keep_id) {
    name.has_id = false;
    name.id = 0;
  }
  return name;
}

// TensorFlow's text for programs that ask for a GPU where there is none.
std::string_view HintForMissingGpu(const DeviceName& asked, const DeviceTable& devices) {
  const bool is_gpu =
      asked.type.size() == 3 && std::equal(asked.type.begin(), asked.type.end(), "GPU", [](char c, char gpu) {
        return std::toupper(static_cast<unsigned char>(c)) == gpu;
      });
  DeviceName any_gpu;
  any_gpu.has_type = true;
  any_gpu.type = "GPU";
  if (!is_gpu || devices.AnyMatches(any_gpu)) return "";
  return " The requested device appears to be a GPU, but CUDA is not enabled.";
}

}  // namespace

ColocationGraph::ColocationGraph(const Graph& graph, std::span<const NodeId> order,
                                 const DeviceTable& devices, const KernelTable& kernels,
                                 const OpRegistry& registry, const PlacerOptions& options)
    : graph_(graph),
      order_(order),
      devices_(devices),
      kernels_(kernels),
      registry_(registry),
      options_(options) {
  local_ =
      devices.machine().device(options.default_device.exists() ? options.default_device : DeviceId(0)).parsed;
  members_.resize(graph.num_nodes());
  for (const NodeId id : order_) {
    StopPoint();
    InitMember(id);
  }
  ForEachSharedStateEdge(graph, order_, registry,
                         [this](NodeId src, NodeId dst) { ColocateAcrossEdge(src, dst); });
  ColocateByAttributes();
}

const std::string& ColocationGraph::RequestOf(NodeId id) const {
  return options_.requested.empty() ? node(id).device : options_.requested[id];
}

NodeId ColocationGraph::Root(NodeId id) {
  NodeId root = id;
  while (member(root).parent != root) root = member(root).parent;
  while (member(id).parent != root) id = std::exchange(member(id).parent, root);
  return root;
}

// The types with a kernel; for a node without any that is meant for another task, which knows its kernels
// itself, the type it asks for.
TypeChoices ColocationGraph::SupportedTypes(NodeId id) const {
  TypeChoices types = devices_.Supported(node(id), kernels_);
  if (!types.empty()) return types;
  if (graph_.problems.contains(id)) {  // a step that needs it says what is wrong
    for (int type = 0; type < devices_.num_types(); ++type) types.push_back({type, 0});
    return types;
  }
  if (RequestOf(id).empty()) return types;
  DeviceName requested;
  if (!ParseDeviceName(RequestOf(id), &requested) || !IsOtherAddressSpace(local_, requested)) return types;
  for (int type = 0; type < devices_.num_types(); ++type) {
    if (!requested.has_type || requested.type == devices_.type_name(type)) types.push_back({type, 0});
  }
  return types;
}

void ColocationGraph::InitMember(NodeId id) {
  Member& self = member(id);
  self.parent = id;
  self.types = SupportedTypes(id);
  if (options_.assigned.Contains(id) && !options_.assigned[id].empty()) {
    InitAssigned(id, options_.assigned[id]);
    return;
  }
  if (self.types.empty()) {
    const std::string message = fmt::format(
        "No OpKernel was registered to support Op '{}' used by {} with these attrs: [{}]\nRegistered "
        "devices: [{}]\nRegistered kernels:\n{}",
        node(id).op, NodeTag(node(id).name), SummarizeAttrs(node(id)), TypeNames(devices_),
        RegisteredKernels(node(id).op, kernels_));
    throw Error(Code::kInvalidArgument, WithNodeTag(message, node(id)));
  }
  if (RequestOf(id).empty()) return;
  if (!ParseDeviceName(RequestOf(id), &self.requested)) {
    const std::string message =
        fmt::format("Malformed device specification '{}' in node: {}", RequestOf(id), NodeTag(node(id).name));
    throw Error(Code::kInvalidArgument, WithNodeTag(message, node(id)));
  }
  if (!graph_.problems.contains(id) && IsStateGenerator(node(id), registry_)) self.resource = self.requested;
}

void ColocationGraph::InitAssigned(NodeId id, const std::string& device) {
  Member& self = member(id);
  const auto fail = [&](const std::string& message) {
    throw Error(Code::kInternal, WithNodeTag(message, node(id)));
  };
  if (!ParseDeviceName(device, &self.assigned)) fail(fmt::format("Malformed assigned device '{}'", device));
  DeviceId found;
  for (const DeviceId i : devices_.machine().devices.ids()) {
    if (devices_.machine().device(i).parsed == self.assigned) found = i;
  }
  if (!found.exists()) fail(fmt::format("Assigned device '{}' does not match any device", device));
  const bool supported = std::any_of(self.types.begin(), self.types.end(), [&](const TypeChoice& choice) {
    return choice.type == devices_.type_of(found);
  });
  if (!supported) {
    fail(fmt::format("Assigned device '{}' does not have registered OpKernel support for {}", device,
                     node(id).op));
  }
  self.requested = self.assigned;
}

// State cannot move between devices, so both ends of the edge follow the source: where the two were given
// different devices it is an error, where the destination merely asks for another one its wish is dropped.
void ColocationGraph::CheckAcrossEdge(NodeId src, NodeId dst) {
  const Member& from = member(Root(src));
  Member& to = member(Root(dst));
  const auto check = [&](const DeviceName& a, const DeviceName& b, std::string_view what) {
    if (AreCompatible(a, b)) return;
    Throw(Code::kInvalidArgument,
          "Cannot place the graph because a reference or resource edge connects colocation groups with "
          "incompatible {} devices: {} vs {}. The edge src node is {} , and the dst node is {}",
          what, a.ToString(), b.ToString(), node(src).name, node(dst).name);
  };
  check(from.assigned, to.assigned, "assigned");
  check(from.resource, to.resource, "resource");
  if (AreCompatible(from.requested, to.requested)) return;
  to.requested = from.requested;
  MergeOverrideDeviceNames(&to.requested, to.resource);
  MergeOverrideDeviceNames(&to.requested, to.assigned);
}

void ColocationGraph::ColocateAcrossEdge(NodeId src, NodeId dst) {
  if (Root(src) == Root(dst)) return;
  CheckAcrossEdge(src, dst);
  try {
    Colocate(src, dst);
  } catch (const Error& error) {
    const std::string message = fmt::format(
        "Nodes were connected by a reference connection (requiring them to be on the same device), but "
        "the two nodes were assigned two different devices: {}",
        error.message());
    throw Error(Code::kInvalidArgument, WithNodeTag(message, node(dst)));
  }
}

// A group is named by a string; its first member in the order is what later ones join.
void ColocationGraph::ColocateByAttributes() {
  GroupFounders founders(graph_);
  const auto join = [&](NodeId id, NodeId founder) {
    if (founder == id) return;
    try {
      Colocate(id, founder);
    } catch (const Error& error) {
      if (!options_.soft_placement) throw Error(error.code(), WithNodeTag(error.message(), node(id)));
    }
  };
  for (const NodeId id : order_) {
    for (const std::string_view group : LocationsOf(node(id))) join(id, founders.Join(group, id));
    join(id, founders.JoinOwn(id));
  }
}

// Joins two groups or throws InvalidArgument and leaves them as they are.
void ColocationGraph::Colocate(NodeId x, NodeId y) {
  const NodeId x_root = Root(x), y_root = Root(y);
  if (x_root == y_root) return;
  const bool x_stays = member(x_root).rank >= member(y_root).rank;
  Member& root = member(x_stays ? x_root : y_root);
  Member& child = member(x_stays ? y_root : x_root);

  // A child without any request, the usual case, has no names to merge.
  DeviceName assigned = root.assigned, resource = root.resource, requested = root.requested;
  if (!child.requested.empty()) {
    try {
      MergeDeviceNames(&assigned, child.assigned, false);
      MergeDeviceNames(&resource, child.resource, false);
      MergeDeviceNames(&requested, child.requested, options_.soft_placement);
    } catch (const Error& error) {
      Throw(Code::kInvalidArgument, "Cannot colocate nodes {} and {}: {}", ColocationTag(node(x).name),
            ColocationTag(node(y).name), error.message());
    }
    MergeOverrideDeviceNames(&requested, resource);
    MergeOverrideDeviceNames(&requested, assigned);
  }
  TypeChoices types = MergeTypes(root.types, child.types);
  if (types.empty()) {
    Throw(Code::kInvalidArgument,
          "Cannot colocate nodes {} and {} because no device type supports both of those nodes and the other "
          "nodes colocated with them.{}{}",
          ColocationTag(node(x).name), ColocationTag(node(y).name), DebugInfo(x_root), DebugInfo(y_root));
  }
  root.assigned = std::move(assigned);
  root.resource = std::move(resource);
  root.requested = std::move(requested);
  root.types = std::move(types);
  child.parent = x_stays ? x_root : y_root;
  if (root.rank == child.rank) ++root.rank;
}

std::vector<DeviceId> ColocationGraph::Candidates(NodeId id) {
  const NodeId root_id = Root(id);
  const Member& root = member(root_id);
  if (root.device.exists()) return {root.device};
  if (root.requested.empty()) {
    const std::vector<DeviceId>& free = FreeCandidates(root.types);
    if (!free.empty()) return free;
  }
  std::vector<DeviceId> candidates = devices_.Candidates(root.requested, root.types);
  if (!candidates.empty()) return candidates;
  if (root.requested.empty()) {
    std::vector<std::string> types;
    for (const DataType type : InputTypes(node(id))) types.push_back(DataTypeName(type));
    Throw(Code::kInvalidArgument,
          "Node had no OpKernel registered to support this operation: Operation was {} and inputs were "
          "[{}].\n{}",
          node(id).op, fmt::join(types, ", "), DebugInfo(root_id));
  }
  if (options_.soft_placement) candidates = SoftCandidates(root);
  if (candidates.empty()) ThrowUnsatisfied(id, root_id);
  return candidates;
}

const std::vector<DeviceId>& ColocationGraph::FreeCandidates(const TypeChoices& types) {
  for (const auto& [known, candidates] : free_candidates_) {
    if (known == types) return candidates;
  }
  free_candidates_.emplace_back(types, devices_.Candidates(DeviceName(), types));
  return free_candidates_.back().second;
}

// Without the type and id that were asked for: first keeping those of resources, then giving them up too.
// Job, replica and task, and devices assigned from outside, always hold.
std::vector<DeviceId> ColocationGraph::SoftCandidates(const Member& root) const {
  const DeviceName keep_resources =
      DropDevicePart(root.requested, root.assigned.has_type || root.resource.has_type,
                     root.assigned.has_id || root.resource.has_id);
  std::vector<DeviceId> candidates = devices_.Candidates(keep_resources, root.types);
  if (!candidates.empty()) return candidates;
  return devices_.Candidates(DropDevicePart(root.requested, root.assigned.has_type, root.assigned.has_id),
                             root.types);
}

void ColocationGraph::Assign(NodeId id, DeviceId device) { member(Root(id)).device = device; }

void ColocationGraph::ThrowUnsatisfied(NodeId id, NodeId root) {
  const Node& failed = node(id);
  DeviceName asked;
  const bool is_own_wish = ParseDeviceName(RequestOf(id), &asked) && asked == member(root).requested;
  if (!is_own_wish) {
    Throw(Code::kInvalidArgument,
          "Could not satisfy explicit device specification '{}' because the node {} was colocated with a "
          "group of nodes that required incompatible device '{}'. All available devices [{}]. {}",
          RequestOf(id), ColocationTag(failed.name), member(root).requested.ToString(), devices_.AllNames(),
          DebugInfo(root));
  }
  if (!devices_.AnyMatches(asked)) {
    Throw(Code::kInvalidArgument,
          "{} was explicitly assigned to {} but available devices are [ {} ]. Make sure the device "
          "specification refers to a valid device.{}",
          NodeTag(failed.name), RequestOf(id), devices_.AllNames(), HintForMissingGpu(asked, devices_));
  }
  Throw(Code::kInvalidArgument,
        "Could not satisfy explicit device specification '{}' because no supported kernel for {} devices is "
        "available.{}\nOp: {}\nNode attrs: {}\nRegistered kernels:\n{}",
        RequestOf(id), asked.has_type ? asked.type : "these", DebugInfo(root), failed.op,
        SummarizeAttrs(failed), RegisteredKernels(failed.op, kernels_));
}

std::string ColocationGraph::DebugInfo(NodeId root) {
  std::map<std::string, std::string> types_of_op;
  std::string members;
  for (const NodeId id : graph_.node_ids()) {
    if (Root(id) != root) continue;
    std::string types;
    for (const TypeChoice& choice : SupportedTypes(id)) types += devices_.type_name(choice.type) + " ";
    types_of_op[node(id).op] = types;
    members += fmt::format("\n  {} ({}) {}", node(id).name, node(id).op, RequestOf(id));
    if (options_.assigned.Contains(id) && !options_.assigned[id].empty()) {
      members += " framework assigned device=" + options_.assigned[id];
    }
  }
  std::string text =
      "\nColocation Debug Info:\nColocation group had the following types and supported devices: ";
  for (const auto& [op, types] : types_of_op) text += fmt::format("\n{}: {}", op, types);
  return text +
         "\n\nColocation members, user-requested devices, and framework assigned devices, if any:" + members +
         "\n";
}

}  // namespace lanescope
