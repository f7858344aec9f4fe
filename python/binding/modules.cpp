// SPDX-License-Identifier: Apache-2.0
#include "python/binding/modules.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/set.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <set>
#include <tuple>

#include "core/graph/graph_io.h"
#include "python/binding/calls.h"
#include "study/workload/module_placement.h"

namespace lanescope::python {
namespace {

using Devices = std::map<std::string, std::string>;  // by node
using Names = std::vector<std::string>;

study::DeviceOfNode Finder(const Devices& devices) {
  return [&devices](const std::string& node) {
    const auto at = devices.find(node);
    return at == devices.end() ? std::string() : at->second;
  };
}

std::vector<std::tuple<std::string, std::string>> Parts(const std::string& modules, const Devices& devices,
                                                        const std::set<std::string>& whole) {
  std::vector<std::tuple<std::string, std::string>> parts;
  for (study::ModulePart& part : PartsOnOneDevice(study::ModuleTree(modules), Finder(devices), whole))
    parts.emplace_back(std::move(part.path), std::move(part.device));
  return parts;
}

Names Splits(const std::string& modules, const Devices& devices, const std::set<std::string>& whole) {
  return study::SplitPoints(study::ModuleTree(modules), Finder(devices), whole);
}

Names Wraps(const std::string& modules, const Devices& devices) {
  return study::FsdpWraps(study::ModuleTree(modules), Finder(devices));
}

Devices WithHosts(const nb::bytes& graph_def, const Devices& devices) {
  const std::string bytes(graph_def.c_str(), graph_def.size());
  const Unlocked unlocked;
  return study::WithNodesOfHosts(ParseGraphBinary(bytes), devices);
}

}  // namespace

void AddModules(nb::module_& module) {
  module.def("module_parts", &Parts, nb::arg("modules"), nb::arg("devices"), nb::arg("whole"),
             "(module or parameter, device), by modules as large as they can be.");
  module.def("with_nodes_of_hosts", &WithHosts, nb::arg("graph_def"), nb::arg("devices"),
             "The devices by node, but the host's for what has kernels there alone.");
  module.def("split_points", &Splits, nb::arg("modules"), nb::arg("devices"), nb::arg("whole"));
  module.def("fsdp_wraps", &Wraps, nb::arg("modules"), nb::arg("devices"));
}

}  // namespace lanescope::python
