// SPDX-License-Identifier: Apache-2.0
// The devices of a machine as the placer sees them: device types, and the order in which equal choices are
// taken. Internal to core.
#pragma once

#include <string>
#include <vector>

#include "core/machine/machine.h"
#include "core/place/kernel_table.h"

namespace lanescope {

// A device type that can run something, and the priority of the kernel there.
struct TypeChoice {
  int type = 0;  // index into DeviceTable's types
  int priority = 0;
  friend bool operator==(const TypeChoice&, const TypeChoice&) = default;
};
using TypeChoices = std::vector<TypeChoice>;

// Refers to the machine, which must outlive it. Immutable after construction.
class DeviceTable {
 public:
  // `default_device`: taken before all others wherever it qualifies, if there is one.
  DeviceTable(const Machine& machine, DeviceId default_device);

  const Machine& machine() const { return machine_; }
  int num_types() const { return static_cast<int>(types_.size()); }
  // Type names, GPU before CPU before others.
  const std::string& type_name(int type) const { return types_[static_cast<size_t>(type)]; }
  int type_of(DeviceId device) const { return type_of_[device]; }

  // The types with a kernel for `node`, in the default order.
  TypeChoices Supported(const Node& node, const KernelTable& kernels) const;
  // Devices that match `pattern` and are of one of the types: the default device, then by kernel priority,
  // type, name as a string. Types that only a compiler serves (XLA_CPU) must be asked for.
  std::vector<DeviceId> Candidates(const DeviceName& pattern, const TypeChoices& types) const;
  bool AnyMatches(const DeviceName& pattern) const;
  // "a, b, c", sorted
  std::string AllNames() const;

 private:
  const Machine& machine_;
  DeviceId default_device_;
  std::vector<std::string> types_;
  IdVector<DeviceId, int> type_of_;
  std::vector<DeviceId> in_order_;  // devices by (type, name)
  std::vector<bool> automatic_;     // by type: may be chosen without being asked for
};

}  // namespace lanescope
