// SPDX-License-Identifier: Apache-2.0
// Attention over tokens in parts, whose keys and values go round the devices. Internal to core.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/strategies/attention_region.h"
#include "core/strategies/layout_conversions.h"
#include "core/strategies/ring_blocks.h"
#include "core/strategies/value_bounds.h"

namespace lanescope {

// A step that is being written, as a ring sees it.
struct RingStep {
  const Graph& graph;  // of the model
  const GraphInfo& info;
  const LayoutPlan& plan;
  Graph* written;
  StepNodes* nodes;
  // A tensor of the model in a layout, by device; written if it was not.
  std::function<Shards(const Layout&, Endpoint)> in;
  std::function<LayoutConversions&(NodeId)> conversions;  // of the node's group
};

// One attention: device r computes its queries with block after block of keys and values, its own first, then
// that of the device before it, which came from the one before that (Liu et al., "Ring Attention with
// Blockwise Transformers", 2023). Results of blocks are joined by the greatest score of a row and the sum of
// its exponentials as they come (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018).
// Going backward, keys and values go round once more, and their gradients with them.
class RingAttention {
 public:
  // All must outlive it.
  RingAttention(const RingStep& step, const Attention& attention, size_t devices, RingOrder order);

  // By device, each as LayoutOf says. The forward pass is written first.
  std::map<NodeId, Shards> WriteForward();
  std::map<NodeId, Shards> WriteBackward();
  // How an end of the attention lies.
  static Layout LayoutOf(const GraphInfo& info, const Attention& attention, NodeId end);

 private:
  // A tensor that goes round, and how keys or values are made of it: from before heads are repeated.
  struct Traveller {
    Endpoint source, arrived;
    std::vector<NodeId> views;  // from source to what arrives, in order
  };
  // A block of keys on a device that sees it.
  struct Block {
    size_t of = 0, device = 0, step = 0;
    BlockPart part;
    Endpoint exponentials, greatest;
    std::map<NodeId, Endpoint> made;
  };

  Traveller TravellerOf(Endpoint arrived) const;
  // By step and device; nothing where no device behind it needs it.
  std::vector<Shards> GoRound(const std::string& what, const Shards& own);
  Endpoint Arrived(const Traveller& traveller, Endpoint source, const std::string& what, const Block& block);
  // The sum of what devices have computed of each block, on the device of the block.
  Shards GoHome(const std::string& what, const std::map<std::pair<size_t, size_t>, Endpoint>& of_blocks,
                const std::string& scope);

  void WriteScores(Block* block, Endpoint keys);
  void Join(const Block& block, Endpoint values);
  Endpoint Finish(size_t r);
  // Behind all blocks: all rows of a device.
  Block RowsOfDevice(size_t r) const;
  void WriteRegion(const std::vector<NodeId>& region, bool behind_row_sums, Block* block);
  Endpoint InputOf(NodeId reader, size_t input, const Block& block);
  Endpoint Operand(NodeId reader, size_t input, const Block& block);
  Endpoint Probabilities(Endpoint of, const Block& block);
  Endpoint ShareOfRow(const Block& block);
  Endpoint QueriesOf(size_t input, const Block& block);
  Endpoint ColumnsOf(Endpoint of, Endpoint arrived, const Block& block);
  Endpoint AllColumns(NodeId end, Endpoint gradient, const Block& block);
  std::map<NodeId, char> BehindRowSums() const;
  void FindRowSums(const std::map<NodeId, char>& behind);

  NodeBuilder New(std::string_view op, std::string_view name, const Block& block);
  NodeBuilder New(std::string_view op, const std::string& name, size_t device);
  Endpoint Clone(NodeId id, std::vector<Endpoint> inputs, const Block& block);
  Endpoint Shaped(std::string_view name, Endpoint tensor, const Shape& from, const Shape& to,
                  const Block& block);
  Endpoint Cast(std::string_view name, Endpoint tensor, DataType from, DataType to, const Block& block);
  Endpoint Along(std::string_view name, Endpoint tensor, Shape shape, int axis, int64_t begin, int64_t size,
                 const Block& block);
  Endpoint Padded(std::string_view name, Endpoint tensor, int rank, int axis, int64_t before, int64_t behind,
                  std::optional<float> value, const Block& block);
  Endpoint RowsOf(std::string_view name, Endpoint tensor, const Shape& shape, const Block& block);
  Endpoint AllRows(std::string_view name, Endpoint tensor, int rank, float value, const Block& block);
  static Shape WithLast(Shape shape, int64_t rows, int64_t columns);
  Shape ShapeIn(Endpoint of, const Block& block, bool columns = true) const;
  const Shape& ShapeOf(Endpoint of) const { return step_.info.of(of).shape; }
  std::string Scope() const { return "ring-attention/" + step_.graph.node(a_.scores).name + "/"; }

  const RingStep& step_;
  const Attention& a_;
  const size_t count_;
  ValueBounds bounds_;
  const RingBlocks blocks_;
  LayoutConversions& conversions_;
  const DataType type_, wide_;  // of the softmax; in which results are joined
  std::vector<Block> seen_;     // by step, then device
  // By device, of each row: the greatest score, the sum of exponentials; and of them the result.
  Shards greatest_, sums_, joined_, row_sums_;
  int number_ = 0;
};

}  // namespace lanescope
