// SPDX-License-Identifier: Apache-2.0
// How a node of a model is written on each of the devices that share it. Internal to core.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/strategies/layout_conversions.h"
#include "core/strategies/layout_rules.h"

namespace lanescope {

// A node as it is on the devices.
struct SplitNode {
  const Node& node;                 // of the model
  std::vector<TensorInfo> inputs;   // of the model
  std::vector<TensorInfo> outputs;  // of the model
  const LayoutChoice& choice;
  std::vector<Node> on_device;  // its copies, with the inputs in the layouts of the choice
};

class SplitNodes {
 public:
  // All must outlive it.
  SplitNodes(Graph* graph, StepNodes* nodes, LayoutConversions* conversions, int64_t devices, SplitBy by,
             RingOrder order)
      : graph_(*graph),
        nodes_(*nodes),
        conversions_(*conversions),
        devices_(devices),
        by_(by),
        order_(order) {}

  // Adds the copies to the graph, and what else they need there to compute their parts. By output.
  std::vector<Shards> Write(SplitNode split);

 private:
  std::string ScopeOf(const SplitNode& split) const {
    return std::string(StrategyOf(by_)) + "/" + split.node.name + "/";
  }
  Shape OutputShape(const SplitNode& split) const;
  std::vector<Shards> Add(SplitNode* split);
  Endpoint NumbersLike(const std::string& name, const Shape& values, DataType type);
  Endpoint Integer(const std::string& name, int64_t value, DataType type);

  void GiveShape(SplitNode* split, size_t input, const char* type_attr);
  void BecomeReshape(SplitNode* split);
  void SplitSizes(SplitNode* split);
  void ShiftOneHot(SplitNode* split);
  void ShiftSegments(SplitNode* split);
  std::vector<Shards> ShapeOfAll(SplitNode* split);
  std::vector<Shards> MeanTerms(SplitNode* split);
  std::vector<Shards> FoundRows(SplitNode* split);
  std::vector<Shards> FoundElements(SplitNode* split);
  // The indices of a GatherNd as they count in a device's part, and which of them lie in it.
  std::pair<Endpoint, Endpoint> OwnPlaces(const SplitNode& split, size_t r);
  // Elements of a segment that follow each other from `first` on; they lie at `at` in the device's part.
  struct Run {
    int64_t first, size, at;
  };
  std::pair<Endpoint, Endpoint> PlacesInRun(const std::string& scope, const SplitNode& split, const Run& run,
                                            size_t r);
  std::vector<Shards> SoftmaxOfParts(SplitNode* split);
  // A device's share of the cost, and the shapes of its parts.
  void ShareCost(SplitNode* split);
  // Where an integer lies in [0, count).
  Endpoint IsWithin(const std::string& scope, Endpoint integers, int64_t count, DataType type, size_t r);
  // `tensor` where `within`, which lacks the last axes of it; else 0.
  Endpoint OrZero(const std::string& scope, Endpoint within, const Shape& within_shape, Endpoint tensor,
                  const TensorInfo& info, size_t r);

  Graph& graph_;
  StepNodes& nodes_;
  LayoutConversions& conversions_;
  const int64_t devices_;
  const SplitBy by_;
  const RingOrder order_;
};

}  // namespace lanescope
