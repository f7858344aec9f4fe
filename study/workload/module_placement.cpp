// SPDX-License-Identifier: Apache-2.0
#include "study/workload/module_placement.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/machine/device_name.h"
#include "core/place/kernel_table.h"

namespace lanescope::study {
namespace {

// One spelling for each device; those of this computer without their task.
std::string NameOf(const std::string& device) {
  std::string task, local;
  DeviceName parsed;
  if (SplitDeviceName(device, &task, &local)) {
    if (task.empty() || task == kLocalTask) return local;
    return task + "/device:" + local;
  }
  if (ParseLocalDeviceName(device, &parsed)) return parsed.LocalName();
  Throw(Code::kInvalidArgument, "'{}' is the name of no device", device);
}

// "GPU" of "GPU:1" or "/job:worker/replica:0/task:0/device:GPU:1", as NameOf gives them.
std::string TypeOf(const std::string& name) {
  const size_t number = name.rfind(':');
  const size_t before = name.find_last_of(":/", number - 1);
  return name.substr(before + 1, number - before - 1);
}

std::string HostBeside(const std::string& name) {
  const size_t slash = name.rfind('/');
  return slash == std::string::npos ? "CPU:0" : name.substr(0, slash) + "/device:CPU:0";
}

// The treatment of a parameter's further names: none, for who cares where bytes lie, or one more parameter.
enum class Tied { kLeftOut, kNamed };

// Modules with where their parameters lie.
class PlacedModules {
 public:
  PlacedModules(const ModuleTree& modules, const DeviceOfNode& device, Tied tied)
      : modules_(modules), tied_(tied) {
    Add(modules.root(), device);
  }

  bool HasParameters(size_t module) const { return !bytes_.at(module).empty(); }

  // Visits what is placed, from `module` down, by modules as large as they can be.
  template <typename Visit>
  void VisitParts(size_t number, const std::set<std::string>& whole, const Visit& visit) const {
    const TorchModule& module = modules_[number];
    const std::map<std::string, int64_t>& bytes = bytes_.at(number);
    if (bytes.empty()) return;
    if (bytes.size() == 1 || whole.contains(module.type))
      return visit({module.path, MainDevice(bytes)}, &module);
    for (const size_t child : module.children) VisitParts(child, whole, visit);
    for (const TorchParameter& parameter : module.parameters)
      if (Counts(parameter)) visit({parameter.name, device_.at(parameter.name)}, nullptr);
  }

 private:
  bool Counts(const TorchParameter& parameter) const {
    return tied_ == Tied::kNamed || parameter.tied_to.empty();
  }

  static std::string MainDevice(const std::map<std::string, int64_t>& bytes) {
    return std::max_element(bytes.begin(), bytes.end(),
                            [](const auto& a, const auto& b) {
                              return std::pair(a.second, a.first) < std::pair(b.second, b.first);
                            })
        ->first;
  }

  void Add(size_t number, const DeviceOfNode& device) {
    std::map<std::string, int64_t> bytes;
    for (const TorchParameter& parameter : modules_[number].parameters) {
      if (!Counts(parameter)) continue;
      const std::string node = parameter.NodeName();
      const std::string name = device(node);
      if (name.empty()) {
        Throw(Code::kInvalidArgument,
              "the placement does not name the node '{}'; is it one of the graph that was exported with "
              "these modules?",
              node);
      }
      const auto added = device_.emplace(parameter.name, NameOf(name)).first;
      bytes[added->second] += parameter.bytes;
    }
    for (const size_t child : modules_[number].children) {
      Add(child, device);
      for (const auto& [name, more] : bytes_.at(child)) bytes[name] += more;
    }
    bytes_.emplace(number, std::move(bytes));
  }

  const ModuleTree& modules_;
  const Tied tied_;
  std::map<std::string, std::string> device_;               // of each parameter
  std::map<size_t, std::map<std::string, int64_t>> bytes_;  // of each module, by device
};

void AddWraps(const ModuleTree& modules, const PlacedModules& placed, size_t number,
              std::vector<std::string>* wraps) {
  const TorchModule& module = modules[number];
  std::map<std::string, int> alike;
  for (const size_t child : module.children) ++alike[modules[child].type];
  for (const size_t child : module.children) {
    if (!placed.HasParameters(child)) continue;
    if (HoldsBlocks(module) && alike[modules[child].type] > 1) {
      placed.VisitParts(child, {}, [&](const ModulePart& part, const TorchModule* of) {
        if (of != nullptr) wraps->push_back(part.path);
      });
    } else {
      AddWraps(modules, placed, child, wraps);
    }
  }
}

nlohmann::ordered_json DeviceMap(const std::vector<ModulePart>& parts) {
  nlohmann::ordered_json map = nlohmann::ordered_json::object();
  for (const ModulePart& part : parts) {
    DeviceName name;
    if (!ParseLocalDeviceName(part.device, &name)) {
      Throw(Code::kInvalidArgument,
            "a device map is of one process, and '{}' is a device of another one; take split-points",
            part.device);
    }
    if (name.type == "GPU") {
      map[part.path] = name.id;
    } else {
      map[part.path] = "cpu";
    }
  }
  return map;
}

}  // namespace

std::vector<ModulePart> PartsOnOneDevice(const ModuleTree& modules, const DeviceOfNode& device,
                                         const std::set<std::string>& whole) {
  std::vector<ModulePart> parts;
  PlacedModules(modules, device, Tied::kNamed)
      .VisitParts(modules.root(), whole,
                  [&](const ModulePart& part, const TorchModule*) { parts.push_back(part); });
  return parts;
}

std::vector<std::string> SplitPoints(const ModuleTree& modules, const DeviceOfNode& device,
                                     const std::set<std::string>& whole) {
  struct Stretch {
    size_t first_use;
    ModulePart part;
  };
  std::vector<Stretch> stretches;
  const auto add = [&](const ModulePart& part, const TorchModule* module) {
    if (module != nullptr && !part.path.empty() && module->first_use != SIZE_MAX)
      stretches.push_back({module->first_use, part});
  };
  PlacedModules(modules, device, Tied::kLeftOut).VisitParts(modules.root(), whole, add);
  std::stable_sort(stretches.begin(), stretches.end(),
                   [](const Stretch& a, const Stretch& b) { return a.first_use < b.first_use; });
  std::vector<std::string> points;
  std::set<std::string> left;
  std::string now;
  for (const auto& [first_use, part] : stretches) {
    if (part.device == now) continue;
    if (left.contains(part.device)) {
      Throw(Code::kInvalidArgument,
            "the placement comes back to {} at '{}', which no pipeline does; keep the model's blocks whole "
            "(no-split), or place them in the order in which they work",
            part.device, part.path);
    }
    if (!now.empty()) {
      points.push_back(part.path);
      left.insert(now);
    }
    now = part.device;
  }
  return points;
}

std::vector<std::string> FsdpWraps(const ModuleTree& modules, const DeviceOfNode& device) {
  std::vector<std::string> wraps;
  AddWraps(modules, PlacedModules(modules, device, Tied::kLeftOut), modules.root(), &wraps);
  return wraps;
}

std::map<std::string, std::string> NodesOfParts(const Graph& graph, const std::vector<ModulePart>& parts) {
  constexpr std::string_view kBack = "gradients/";
  std::map<std::string, std::string, std::less<>> device_of;  // by scope
  for (const ModulePart& part : parts) {
    std::string scope = part.path;
    std::replace(scope.begin(), scope.end(), '.', '/');
    device_of.emplace(std::move(scope), part.device);
  }
  std::map<std::string, std::string> devices;
  for (const Node& node : graph.nodes()) {
    std::string_view scope = node.name;
    if (scope.starts_with(kBack)) scope.remove_prefix(kBack.size());
    auto found = device_of.find(scope);
    while (found == device_of.end() && !scope.empty()) {
      const size_t slash = scope.rfind('/');
      scope = scope.substr(0, slash == std::string_view::npos ? 0 : slash);
      found = device_of.find(scope);
    }
    if (found != device_of.end()) devices.emplace(node.name, found->second);
  }
  return devices;
}

std::map<std::string, std::string> WithNodesOfHosts(const Graph& graph,
                                                    std::map<std::string, std::string> devices) {
  const KernelTable& kernels = KernelTable::Global();
  for (auto& [name, device] : devices) {
    const NodeId id = graph.FindNode(name);
    if (!id.exists()) continue;
    const Node& node = graph.node(id);
    const std::string spelt = NameOf(device);
    if (kernels.Find(node, TypeOf(spelt)) == nullptr && kernels.Find(node, "CPU") != nullptr)
      device = HostBeside(spelt);
  }
  return devices;
}

std::vector<std::string> ModuleFormats() { return {"device-map", "split-points", "fsdp"}; }

std::string ModulePlacementJson(std::string_view format, const ModuleTree& modules, const PlacedGraph& placed,
                                const Machine& machine, const std::set<std::string>& whole) {
  const Graph& graph = placed.workload->graph();
  const DeviceOfNode device = [&](const std::string& node) {
    const NodeId id = graph.FindNode(node);
    return id.exists() ? machine.device(placed.placement.device[id]).name : std::string();
  };
  nlohmann::ordered_json made;
  if (format == "device-map") {
    made = DeviceMap(PartsOnOneDevice(modules, device, whole));
  } else if (format == "split-points") {
    made = SplitPoints(modules, device, whole);
  } else {
    LANESCOPE_CHECK(format == "fsdp");
    made = FsdpWraps(modules, device);
  }
  return made.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace lanescope::study
