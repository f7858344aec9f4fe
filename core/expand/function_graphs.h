// SPDX-License-Identifier: Apache-2.0
// Functions of a graph's library as graphs of their own. Internal to core/expand.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/output_types.h"

namespace lanescope {

// A graph whose nodes are to be copied into another one, as often as is asked for.
struct GraphBody {
  explicit GraphBody(Graph body);

  Graph graph;
  GraphOutputTypes types;
  std::vector<NodeId> order;           // topological
  std::vector<NodeId> arguments = {};  // nodes that stand for what a function is given
  std::vector<Endpoint> outputs = {};
  std::vector<NodeId> effects = {};  // nodes that have to run
  NodeId last = {};                  // of a function: the node that is nobody's
};

// The prefix of the names of nodes in a function's body.
inline constexpr std::string_view kFunctionPrefix = "f/";

// Without calls. Not thread-safe.
class FunctionGraphs {
 public:
  // `extra`: Graph::extra of the graph whose library it is.
  explicit FunctionGraphs(const std::string& extra);
  ~FunctionGraphs();

  // The function that an attribute of the node names, its nodes on the node's device where they ask for none;
  // made once. Throws InvalidArgument for an attribute or a function that is not there, and what inlining its
  // calls throws.
  const GraphBody& Of(const Node& node, const std::string& attr);
  // The bodies of a list of functions, at least one.
  std::vector<const GraphBody*> ListOf(const Node& node, const std::string& attr);

 private:
  struct Library;
  struct Call;
  const GraphBody& Made(const Node& node, const Call& call);
  std::unique_ptr<Library> library_;
  std::map<std::string, std::unique_ptr<GraphBody>> made_;
};

}  // namespace lanescope
