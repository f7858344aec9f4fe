// SPDX-License-Identifier: Apache-2.0
// Placements as what PyTorch's own libraries take: Accelerate's device maps, the split points of
// torch.distributed.pipelining, and lists of the modules that FSDP wraps.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "study/workload/module_tree.h"
#include "study/workload/placing.h"

namespace lanescope::study {

// By the name of a node that of its device in any spelling, or nothing for a node that the placement lacks.
using DeviceOfNode = std::function<std::string(const std::string& node)>;

// A module, or a parameter whose module lies on several devices.
struct ModulePart {
  std::string path;
  std::string device;  // "GPU:1", with its task in front where it has one
};

// All parameters, tied ones under each of their names, by modules as large as they can be. `whole`: classes
// of modules that stay whole and go where most of their bytes lie. All functions throw InvalidArgument for a
// parameter that the placement lacks.
std::vector<ModulePart> PartsOnOneDevice(const ModuleTree& modules, const DeviceOfNode& device,
                                         const std::set<std::string>& whole);

// The modules before which a pipeline is cut, in the order in which they work. Throws InvalidArgument where a
// placement comes back to a device that it has left: a pipeline does not.
std::vector<std::string> SplitPoints(const ModuleTree& modules, const DeviceOfNode& device,
                                     const std::set<std::string>& whole);

// Blocks that repeat, the outermost of each kind; those that lie on several devices give way to their parts.
std::vector<std::string> FsdpWraps(const ModuleTree& modules, const DeviceOfNode& device);

// The other way: by node of the graph the device of the smallest part that it is of, by the scope of its
// name, which is its module's path, going forward and going back. Nodes of none are left out.
std::map<std::string, std::string> NodesOfParts(const Graph& graph, const std::vector<ModulePart>& parts);

// By node its device: nodes that have a kernel on hosts and none on their device go to the host beside that.
std::map<std::string, std::string> WithNodesOfHosts(const Graph& graph,
                                                    std::map<std::string, std::string> devices);

// "device-map", "split-points", "fsdp".
std::vector<std::string> ModuleFormats();
// JSON in one of these formats. A device map calls GPU:1 of one process 1, and the host "cpu".
std::string ModulePlacementJson(std::string_view format, const ModuleTree& modules, const PlacedGraph& placed,
                                const Machine& machine, const std::set<std::string>& whole);

}  // namespace lanescope::study
