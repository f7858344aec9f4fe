// SPDX-License-Identifier: Apache-2.0
// A function of a graph's library as a graph of its own, and a graph as a function of a library.
#pragma once

#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace lanescope {

struct FunctionBody {
  Graph graph;                         // with the library of the graph that it is from
  std::vector<NodeId> arguments = {};  // Placeholders
  std::vector<Endpoint> outputs = {};
  std::vector<NodeId> effects = {};  // nodes that have to run
};

// The function that an attribute of the node names, its calls inlined. Throws InvalidArgument for an
// attribute or a function that is not there.
FunctionBody ReadFunction(const Graph& graph, const Node& node, const std::string& attr);
// The name of that function, empty where the attribute names none.
std::string FunctionNameOf(const Node& node, const std::string& attr);

// An attribute that names several functions (Case) as attributes that name one each, and back. Empty where it
// names none.
std::vector<AttrValue> FunctionsIn(const Node& node, const std::string& attr);
AttrValue FunctionList(const std::vector<AttrValue>& functions);

// Adds a function to the graph's library, called `name` or, where that is taken, with a number behind;
// functions of the body's library that the graph has not come along. Returns what an attribute that names it
// holds. Throws Unimplemented for a node of an op whose outputs nobody knows.
AttrValue AddFunction(const FunctionBody& body, const std::string& name, Graph* graph);
// Adds the functions of another graph's library whose names are free.
void AddFunctions(const Graph& from, Graph* graph);

}  // namespace lanescope
