// SPDX-License-Identifier: Apache-2.0
// Nodes of a fused launch that run together, and lines of text that compute them: for all writers of kernel
// bodies. Private to exec/cuda/fused_text.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/schedule/fusion.h"
#include "exec/cuda/fused_text.h"

namespace lanescope::exec::cuda {

// Names in the text: v<i> is the result of node i, most<i> and sum<i> belong to the rows of softmax i, a<n>
// is what was loaded.
class MemberText {
 protected:
  using Names = std::set<std::string>;  // that the current scope of the text knows

  MemberText(const Graph& graph, const Schedule& schedule, const Command& command,
             std::span<const size_t> members, int passes_of_softmax);
  virtual ~MemberText() = default;

  const Node& node(size_t i) const { return graph_.node(nodes_[i].node); }
  FusionRole RoleOf(size_t i) const { return FusionRoleOf(node(i)); }
  const Value& Input(int input) const;
  const Shape& ShapeOfInput(int input) const;
  DataType TypeOfInput(int input) const;
  int GradientOf(size_t i) const;
  // The element that an update steps, or the result of any other node.
  const Shape& ShapeOfResult(size_t i) const;
  int64_t ElementsOf(size_t i) const { return ShapeOfResult(i).NumElements(); }
  // Whether its result has an element for each row, where others have one for each of `elements_`.
  virtual bool OneARow(size_t i) const { return ElementsOf(i) < elements_; }

  // How many passes over the rows come before a node's result is known.
  void FindLevels();
  // Members whose results of every element are needed for these, all of which are known before the pass.
  std::set<size_t> NeededFor(std::set<size_t> needed) const;
  // Reductions, and the sums of softmax, that a pass is for.
  bool IsFolded(size_t i, int pass) const;

  void Line(const std::string& text);
  void Open(const std::string& text);
  void Close();

  // Text of the address of an operand, and of a pointer to it.
  std::string Address(FusedPointer::Of of, int operand);
  std::string Pointer(FusedPointer::Of of, int operand, DataType dtype);
  // The name of an operand of a node, at the index of the elements that are being computed.
  std::string Operand(size_t reader, size_t k, const std::string& index, Names* known);
  // Where the element `index` of `output` finds its own of an input that is broadcast to it.
  virtual std::string IndexIn(const Shape& input, const Shape& output, const std::string& index) const;
  // The value of node i, or another number of its row, where elements are computed.
  virtual std::string ValueOf(size_t i) const;
  virtual std::string RowNumber(const std::string& name) const { return name; }

  // The result of an element-wise node, or what a softmax makes of its row's sum.
  std::string ResultText(size_t i, const std::string& index, Names* known);
  void Compute(size_t i, const std::string& index, Names* known);
  void Store(size_t i, const std::string& index);

  const Graph& graph_;
  const Schedule& schedule_;
  const Command& command_;
  const std::span<const FusedNode> nodes_;
  const std::span<const size_t> members_;
  std::string body_;
  std::vector<FusedPointer> pointers_;  // in the order of the addresses
  int64_t elements_ = 0;
  // By node: passes before its result is known, before it is computed.
  std::map<size_t, int> level_, read_at_;
  int passes_ = 0;
  int indent_ = 2;

 private:
  const int passes_of_softmax_;
  std::map<std::pair<FusedPointer::Of, int>, size_t> address_;
  std::map<std::string, size_t> loads_;  // by text: its number
};

}  // namespace lanescope::exec::cuda
