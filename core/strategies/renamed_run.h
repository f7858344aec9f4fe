// SPDX-License-Identifier: Apache-2.0
// A step's tensors and nodes under the names that they have in a graph which a strategy wrote. Internal to
// core.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "core/inputs/run_spec.h"

namespace lanescope {

// `tensor` gives the name of a fetched tensor of `graph`, `nodes` the names of what became of a target.
inline void RenameRun(const Graph& graph, const std::function<std::string(Endpoint)>& tensor,
                      const std::function<std::vector<std::string>(NodeId)>& nodes, RunSpec* spec) {
  const auto titles = spec->titles;
  const auto fetched = [&](const std::string& name) {
    const std::string now = tensor(graph.FindEndpoint(name));
    if (const auto title = titles.find(name); title != titles.end()) spec->titles[now] = title->second;
    return now;
  };
  for (std::string& name : spec->fetches) name = fetched(name);
  if (!spec->loss.empty()) spec->loss = fetched(spec->loss);
  for (std::vector<std::string>* names : {&spec->targets, &spec->init}) {
    std::vector<std::string> now;
    for (const std::string& name : *names) {
      for (std::string& each : nodes(graph.FindEndpoint(name).node)) now.push_back(std::move(each));
    }
    *names = std::move(now);
  }
}

}  // namespace lanescope
