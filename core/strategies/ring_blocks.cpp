// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/ring_blocks.h"

#include <algorithm>

namespace lanescope {
namespace {

// A score that a mask has brought so low counts for nothing beside any other.
constexpr double kHidden = -1e9;

}  // namespace

RingBlocks::RingBlocks(const Graph& graph, const GraphInfo& info, const Attention& attention, size_t devices,
                       RingOrder order, ValueBounds* bounds)
    : devices_(devices), order_(order) {
  const Shape& scores = info.of({attention.scores, 0}).shape;
  const auto count = static_cast<int64_t>(devices);
  all_rows_ = scores.dim(scores.rank() - 2);
  all_columns_ = scores.dim(scores.rank() - 1);
  rows_ = all_rows_ / count;
  columns_ = all_columns_ / count;
  const size_t pieces = devices * PiecesOf(order);
  hidden_.assign(pieces, std::vector<char>(pieces, 0));
  for (size_t row = 0; row < pieces; ++row) {
    for (size_t column = 0; column < pieces; ++column)
      hidden_[row][column] = IsHidden(graph, info, attention, row, column, bounds) ? 1 : 0;
  }
}

bool RingBlocks::IsHidden(const Graph& graph, const GraphInfo& info, const Attention& attention, size_t row,
                          size_t column, ValueBounds* bounds) const {
  const auto pieces = static_cast<int64_t>(devices_ * PiecesOf(order_));
  const int64_t tall = all_rows_ / pieces, wide = all_columns_ / pieces;
  const auto of = [&](Endpoint tensor) {
    const Shape& shape = info.of(tensor).shape;
    if (!shape.known_rank() || !shape.IsExact()) return Bounds();
    Box box;
    for (const Dim dim : shape.dims()) box.push_back({0, dim - 1});
    const auto cut = [&](int back, int64_t all, size_t piece, int64_t size) {
      if (shape.rank() < back || shape.dim(shape.rank() - back) != all) return;
      const int64_t first = static_cast<int64_t>(piece) * size;
      box[box.size() - static_cast<size_t>(back)] = {first, first + size - 1};
    };
    cut(2, all_rows_, row, tall);
    cut(1, all_columns_, column, wide);
    return bounds->Of(tensor, box);
  };
  const auto is_score = [&](Endpoint tensor) { return attention.tensors.contains(tensor.node); };
  return std::ranges::any_of(attention.before, [&](NodeId id) {
    const Node& node = graph.node(id);
    if (node.op == "AddV2" || node.op == "Add") {
      return std::ranges::any_of(node.inputs,
                                 [&](Endpoint in) { return !is_score(in) && of(in).greatest <= kHidden; });
    }
    if (node.op != "SelectV2" || is_score(node.inputs[0])) return false;
    const Bounds where = of(node.inputs[0]);
    if (where.greatest <= 0) return !is_score(node.inputs[2]) && of(node.inputs[2]).greatest <= kHidden;
    return where.least > 0 && !is_score(node.inputs[1]) && of(node.inputs[1]).greatest <= kHidden;
  });
}

std::optional<BlockPart> RingBlocks::Seen(size_t device, size_t block) const {
  const size_t pieces = PiecesOf(order_);
  if (device == block) return BlockPart{0, rows_, 0, columns_};
  size_t top = pieces, bottom = 0, left = pieces, right = 0;
  for (size_t row = 0; row < pieces; ++row) {
    for (size_t column = 0; column < pieces; ++column) {
      if (hidden_[PieceOf(device, row)][PieceOf(block, column)] != 0) continue;
      top = std::min(top, row);
      bottom = std::max(bottom, row + 1);
      left = std::min(left, column);
      right = std::max(right, column + 1);
    }
  }
  if (top >= bottom) return std::nullopt;
  const auto count = static_cast<int64_t>(pieces);
  const int64_t tall = rows_ / count, wide = columns_ / count;
  const auto at = [](size_t number, int64_t size) { return static_cast<int64_t>(number) * size; };
  return BlockPart{at(top, tall), at(bottom - top, tall), at(left, wide), at(right - left, wide)};
}

int64_t RingBlocks::MostScores() const {
  int64_t most = 0;
  for (size_t device = 0; device < devices_; ++device) {
    int64_t own = 0;
    for (size_t block = 0; block < devices_; ++block) {
      if (const auto part = Seen(device, block)) own += part->rows * part->columns;
    }
    most = std::max(most, own);
  }
  return most;
}

bool RingBlocks::IsNeededFrom(size_t step, size_t block) const {
  for (size_t s = step; s < devices_; ++s) {
    if (Seen((block + s) % devices_, block)) return true;
  }
  return false;
}

std::vector<std::pair<int64_t, int64_t>> RingBlocks::PlacesOf(size_t block, const BlockPart& part) const {
  const auto pieces = static_cast<int64_t>(PiecesOf(order_));
  const int64_t wide = columns_ / pieces;
  std::vector<std::pair<int64_t, int64_t>> places;
  for (int64_t number = part.column / wide; number * wide < part.column + part.columns; ++number)
    places.emplace_back(static_cast<int64_t>(PieceOf(block, static_cast<size_t>(number))) * wide, wide);
  return places;
}

}  // namespace lanescope
