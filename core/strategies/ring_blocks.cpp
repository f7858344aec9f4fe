// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/ring_blocks.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace lanescope {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();
// The exponential of a score that a mask has brought so low is 0 beside that of any that it has left alone.
constexpr double kLow = -1e9, kLeftAlone = -1e6;

bool IsView(const std::string& op) {
  static const std::set<std::string_view> kViews = {"Reshape",    "Identity", "Cast",       "StopGradient",
                                                    "ExpandDims", "Squeeze",  "BroadcastTo"};
  return kViews.contains(op);
}

// The scores of some rows and columns, as masks leave them.
class MaskedScores {
 public:
  MaskedScores(const Graph& graph, const GraphInfo& info, const Attention& attention, ValueBounds* bounds)
      : graph_(graph), info_(info), attention_(attention), bounds_(bounds) {
    const Shape& scores = info.of({attention.scores, 0}).shape;
    all_rows_ = scores.dim(scores.rank() - 2);
    all_columns_ = scores.dim(scores.rank() - 1);
  }

  // Whether all that the softmax reads of them is at most `most` for sure, whatever the products are.
  bool AreAtMost(double most, const Places& rows, const Places& columns) const {
    return Follow(
        rows, columns, false, [&](const Bounds& mask) { return mask.greatest <= most; },
        [&](const Node& node) { return IsView(node.op); });
  }
  // Whether no mask has brought any of them low. Other ops make numbers of common size of them.
  bool AreLeftAlone(const Places& rows, const Places& columns) const {
    return Follow(
        rows, columns, true, [](const Bounds& mask) { return mask.least >= kLeftAlone; },
        [](const Node&) { return true; });
  }

 private:
  // Whether it holds of what the softmax reads: of a product it is `of_products`, of a mask `of_mask`, and
  // ops that `keep` it hand it on.
  template <typename OfMask, typename Keeps>
  bool Follow(const Places& rows, const Places& columns, bool of_products, const OfMask& of_mask,
              const Keeps& keep) const {
    std::map<NodeId, bool> holds{{attention_.scores, of_products}};
    const auto of = [&](Endpoint in) {
      const auto found = holds.find(in.node);
      return found != holds.end() ? found->second : of_mask(BoundsOf(in, rows, columns));
    };
    const auto is_score = [&](Endpoint in) { return holds.contains(in.node); };
    for (const NodeId id : attention_.before) {
      const Node& node = graph_.node(id);
      bool& here = holds[id];
      here = false;
      if (node.op == "AddV2" || node.op == "Add") {
        const bool a = of(node.inputs[0]), b = of(node.inputs[1]);
        // A mask that is low makes a low sum; what is left alone has to be so in both.
        here = of_products ? a && b : AddsMask(node, is_score) && (a || b);
      } else if (node.op == "SelectV2") {
        const Bounds where = BoundsOf(node.inputs[0], rows, columns);
        const bool first = where.greatest <= 0 || of(node.inputs[1]),
                   second = where.least > 0 || of(node.inputs[2]);
        here = first && second;
      } else if (keep(node)) {
        here = std::ranges::any_of(node.inputs, [&](Endpoint in) { return is_score(in) && of(in); });
      }
    }
    return of(graph_.node(attention_.softmax).inputs[0]);
  }

  // Scores and something else: two scores may make up for each other.
  template <typename IsScore>
  static bool AddsMask(const Node& node, const IsScore& is_score) {
    return is_score(node.inputs[0]) != is_score(node.inputs[1]);
  }

  Bounds BoundsOf(Endpoint tensor, const Places& rows, const Places& columns) const {
    const Shape& shape = info_.of(tensor).shape;
    if (!shape.known_rank() || !shape.IsExact()) return {};
    Box box;
    for (const Dim dim : shape.dims()) box.push_back({0, dim - 1});
    const size_t rank = box.size();
    if (rank >= 2 && shape.dim(shape.rank() - 2) == all_rows_) box[rank - 2] = rows;
    if (rank >= 1 && shape.dim(shape.rank() - 1) == all_columns_) box[rank - 1] = columns;
    return bounds_->Of(tensor, box);
  }

  const Graph& graph_;
  const GraphInfo& info_;
  const Attention& attention_;
  ValueBounds* bounds_;
  int64_t all_rows_ = 0, all_columns_ = 0;
};

}  // namespace

// A mask of -inf hides whatever there is; one of a large number only from rows that see something. These are
// taken to be rows that see their own token for sure.
RingBlocks::RingBlocks(const Graph& graph, const GraphInfo& info, const Attention& attention, size_t devices,
                       RingOrder order, ValueBounds* bounds)
    : devices_(devices), order_(order) {
  const Shape& scores = info.of({attention.scores, 0}).shape;
  const int64_t all_rows = scores.dim(scores.rank() - 2), all_columns = scores.dim(scores.rank() - 1);
  rows_ = all_rows / static_cast<int64_t>(devices);
  columns_ = all_columns / static_cast<int64_t>(devices);
  const MaskedScores masked(graph, info, attention, bounds);
  const size_t pieces = devices * PiecesOf(order);
  hidden_.assign(pieces, std::vector<char>(pieces, 0));
  const auto piece = [&](int64_t all, size_t number) {
    const int64_t size = all / static_cast<int64_t>(pieces), first = static_cast<int64_t>(number) * size;
    return Places{first, first + size - 1};
  };
  for (size_t row = 0; row < pieces; ++row) {
    const Places rows = piece(all_rows, row);
    std::optional<bool> see_themselves;
    const auto sees_itself = [&] {
      if (!see_themselves) {
        see_themselves = all_rows == all_columns;
        for (int64_t i = rows.first; i <= rows.last && *see_themselves; ++i)
          see_themselves = masked.AreLeftAlone({i, i}, {i, i});
      }
      return *see_themselves;
    };
    for (size_t column = 0; column < pieces; ++column) {
      const Places columns = piece(all_columns, column);
      hidden_[row][column] =
          masked.AreAtMost(kNever, rows, columns) || (masked.AreAtMost(kLow, rows, columns) && sees_itself());
    }
  }
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
