// SPDX-License-Identifier: Apache-2.0
#include "core/place/device_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace lanescope {
namespace {

bool IsCompileOnly(std::string_view type) { return type.starts_with("XLA_"); }

// A higher rank is preferred. Types are told by their ending, so that "FakeGPU" is a GPU.
int RankOfType(std::string_view type) {
  if (IsCompileOnly(type)) return -1;
  if (type.ends_with("GPU")) return 2;
  if (type.ends_with("CPU")) return 1;
  return 0;
}

const TypeChoice* FindType(const TypeChoices& types, int type) {
  for (const TypeChoice& choice : types) {
    if (choice.type == type) return &choice;
  }
  return nullptr;
}

}  // namespace

DeviceTable::DeviceTable(const Machine& machine, DeviceId default_device)
    : machine_(machine), default_device_(default_device) {
  for (const DeviceSpec& device : machine.devices) types_.push_back(device.parsed.type);
  std::sort(types_.begin(), types_.end(), [](const std::string& a, const std::string& b) {
    const int rank_a = RankOfType(a), rank_b = RankOfType(b);
    return rank_a != rank_b ? rank_a > rank_b : a < b;
  });
  types_.erase(std::unique(types_.begin(), types_.end()), types_.end());
  for (const std::string& type : types_) automatic_.push_back(!IsCompileOnly(type));
  for (const DeviceSpec& device : machine.devices) {
    const auto place = std::find(types_.begin(), types_.end(), device.parsed.type);
    type_of_.Add(static_cast<int>(place - types_.begin()));
  }
  for (const DeviceId device : machine.devices.ids()) in_order_.push_back(device);
  std::sort(in_order_.begin(), in_order_.end(), [this](DeviceId a, DeviceId b) {
    const int type_a = type_of(a), type_b = type_of(b);
    return type_a != type_b ? type_a < type_b : machine_.device(a).name < machine_.device(b).name;
  });
}

TypeChoices DeviceTable::Supported(const Node& node, const KernelTable& kernels) const {
  TypeChoices supported;
  for (int type = 0; type < num_types(); ++type) {
    const KernelEntry* kernel = kernels.Find(node, type_name(type));
    if (kernel != nullptr) supported.push_back({type, kernel->priority});
  }
  std::stable_sort(supported.begin(), supported.end(),
                   [](const TypeChoice& a, const TypeChoice& b) { return a.priority > b.priority; });
  return supported;
}

std::vector<DeviceId> DeviceTable::Candidates(const DeviceName& pattern, const TypeChoices& types) const {
  std::vector<std::pair<int, DeviceId>> found;  // kernel priority, device
  for (const DeviceId device : in_order_) {
    const TypeChoice* choice = FindType(types, type_of(device));
    if (choice == nullptr || !Matches(pattern, machine_.device(device).parsed)) continue;
    if (!pattern.has_type && !automatic_[static_cast<size_t>(choice->type)]) continue;
    found.emplace_back(device == default_device_ ? INT32_MAX : choice->priority, device);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<DeviceId> devices;
  for (const auto& [priority, device] : found) devices.push_back(device);
  return devices;
}

bool DeviceTable::AnyMatches(const DeviceName& pattern) const {
  return std::any_of(machine_.devices.begin(), machine_.devices.end(),
                     [&](const DeviceSpec& device) { return Matches(pattern, device.parsed); });
}

std::string DeviceTable::AllNames() const {
  std::vector<std::string> names;
  for (const DeviceSpec& device : machine_.devices) names.push_back(device.name);
  std::sort(names.begin(), names.end());
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace lanescope
