// SPDX-License-Identifier: Apache-2.0
// The gradient of a function that a node calls: written behind the function's nodes, then cut off from them.
// Internal to graphs/gradients.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/expand/function_body.h"
#include "graphs/gradients/registry.h"

namespace lanescope::graphs {

using TensorKey = std::pair<NodeId, int>;
inline TensorKey KeyOf(Endpoint e) { return {e.node, e.output}; }
// By a tensor of one graph, the one that stands for it in another.
using TensorMap = std::map<TensorKey, Endpoint>;

// With all its attributes.
Node MakeNode(std::string op, std::string name, std::vector<Endpoint> inputs, AttrMap attrs = {});
Node MakePlaceholder(std::string name, DataType type, const lanescope::Shape& shape = Shape::Unknown());

// One call, whose gradient is being written. Not thread-safe.
class FunctionGradient {
 public:
  // The function in `attr` of `node`, which is g's with other attributes maybe; `arguments`: what is known of
  // them. `types`: by output, the element type of its gradient; kInvalid where it has none. Functions that
  // its gradient calls go to g's scope. Throws what Gradients throws.
  FunctionGradient(const OpGradient& g, const Node& node, const std::string& attr,
                   const std::vector<TensorInfo>& arguments, const std::vector<DataType>& types);

  // The function's nodes and those of its gradient.
  Scope& s() { return *s_; }
  const std::vector<NodeId>& arguments() const { return arguments_; }
  Endpoint argument(size_t i) const { return {arguments_[i], 0}; }
  const std::vector<Endpoint>& outputs() const { return outputs_; }
  // The Placeholder of an output's gradient; no node where it has none.
  Endpoint given(size_t output) const { return given_[output]; }
  // By argument.
  Gradient& gradient(size_t argument) { return gradients_[argument]; }
  // Zeros as large as the argument, or as the variable behind it.
  Endpoint Zeros(size_t argument, DataType type);

  // The tensor that an Identity passes on.
  Endpoint Source(Endpoint e) const;
  // The number of the argument or the output that a tensor is; -1: of none.
  int ArgumentAt(Endpoint e) const;
  int OutputAt(Endpoint e) const;

  // Ends the gradient: these are its results. What it takes of the function, each once; constants, which it
  // has as its own, are none of it. To be called once.
  std::vector<Endpoint> Finish(const std::vector<Endpoint>& results);
  // The function, whose nodes may have got others: with these arguments and outputs more.
  FunctionBody Function(const std::vector<NodeId>& more_arguments, const std::vector<Endpoint>& more_outputs,
                        const std::vector<NodeId>& more_nodes) const;
  // Copies the gradient to `to`, where `known` stand for what it takes, and the results are its outputs.
  void WriteGradient(TensorMap known, FunctionBody* to) const;

 private:
  bool IsForward(NodeId id) const { return id.index() < forward_.size() && forward_[id]; }
  void FindForward();

  std::unique_ptr<Scope> s_;
  size_t num_forward_;  // nodes of the function as it was read
  std::vector<NodeId> arguments_;
  std::vector<Endpoint> outputs_;
  std::vector<NodeId> effects_;
  std::vector<Endpoint> given_;
  std::vector<Gradient> gradients_;
  std::vector<Endpoint> results_;
  size_t num_nodes_ = 0;            // of function and gradient
  IdVector<NodeId, bool> forward_;  // of these: which belong to the function
  std::vector<Endpoint> taken_;
};

// Whether gradients flow through values of the type, and for lists, through their elements.
bool IsTrainable(const Scope& s, Endpoint e);
// As rows: all of them.
IndexedSlices AllRows(Scope& s, Endpoint dense);
// Whether a node of the function has a state.
bool HasState(const Graph& graph);
// An argument of which this is known.
void NoteArgument(const TensorInfo& info, Node* placeholder);

}  // namespace lanescope::graphs
