// SPDX-License-Identifier: Apache-2.0
// How the gradient of an op is written: a function that adds nodes and returns one gradient an input.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "graphs/gradients.h"
#include "graphs/ops.h"

namespace lanescope::graphs {

// The op that is differentiated, and the gradients of its outputs. Lives for one call.
class OpGradient {
 public:
  OpGradient(Scope& scope, const Node& node, NodeId id, std::vector<Gradient> grads, std::vector<bool> zeros,
             std::string source)
      : s(scope),
        node_(node),
        id_(id),
        grads_(std::move(grads)),
        zeros_(std::move(zeros)),
        source_(std::move(source)) {}

  Scope& s;

  // The node before its gradient was added: the graph's own moves as it grows.
  const Node& node() const { return node_; }
  int num_inputs() const { return static_cast<int>(node_.inputs.size()); }
  Endpoint in(int i) const { return node_.inputs[static_cast<size_t>(i)]; }
  Endpoint out(int i = 0) const { return {id_, i}; }
  // The gradient of an output as it came, and as a tensor (rows are added up).
  const Gradient& raw_grad(int i = 0) const { return grads_[static_cast<size_t>(i)]; }
  Endpoint grad(int i = 0) const { return raw_grad(i).ToDense(s); }
  int num_grads() const { return static_cast<int>(grads_.size()); }
  // Whether the gradient is nothing but zeros, since the ys do not depend on the output.
  bool is_zero(int i) const { return zeros_[static_cast<size_t>(i)]; }

  // Tells this call of Gradients from others on the same graph.
  const std::string& source() const { return source_; }

  // The shape as far as it is known while the graph is written.
  const lanescope::Shape& shape(Endpoint e) const { return s.ShapeOf(e); }
  DataType type(Endpoint e) const { return s.TypeOf(e); }
  const Tensor* value(Endpoint e) const { return s.Info(e).value.get(); }

 private:
  const Node node_;
  const NodeId id_;
  const std::vector<Gradient> grads_;
  const std::vector<bool> zeros_;
  const std::string source_;
};

// One gradient an input, or as many as there are and none for the rest.
using GradientFunction = std::vector<Gradient> (*)(const OpGradient& g);

// Null for an op without an entry. An op with an entry of null has no gradient by nature: what goes in does
// not change what comes out by little.
const GradientFunction* FindGradient(std::string_view op);

// The table as its files fill it.
class GradientTable {
 public:
  virtual ~GradientTable() = default;
  virtual void Add(std::string_view op, GradientFunction function) = 0;
};

// One function a file of this folder.
void AddUnaryGradients(GradientTable& table);
void AddBinaryGradients(GradientTable& table);
void AddReductionGradients(GradientTable& table);
void AddLinearGradients(GradientTable& table);
void AddEinsumGradients(GradientTable& table);
void AddFactorGradients(GradientTable& table);  // of matrices' factors
void AddNetworkGradients(GradientTable& table);
void AddVolumeGradients(GradientTable& table);  // of volumes, resized images, reversed sequences
void AddArrayGradients(GradientTable& table);
void AddSliceGradients(GradientTable& table);
void AddGatherGradients(GradientTable& table);
void AddSegmentGradients(GradientTable& table);
void AddBranchGradients(GradientTable& table);
void AddLoopGradients(GradientTable& table);
void AddListGradients(GradientTable& table);  // of lists of tensors, and of optionals
void AddTensorArrayGradients(GradientTable& table);
void AddSecondGradients(GradientTable& table);  // of the ops that first gradients are made of
void AddSecondNetworkGradients(GradientTable& table);

}  // namespace lanescope::graphs
