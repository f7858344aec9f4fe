// SPDX-License-Identifier: Apache-2.0
// Into how many pieces the columns of a product are taken apart by its readers.

#include <numeric>
#include <utility>
#include <vector>

#include "core/strategies/layout_lookups.h"
#include "core/strategies/layout_plan.h"
#include "core/strategies/variables_in_parts.h"

namespace lanescope {

// Pieces that the columns are split into later, such as queries, keys and values, are segments.
int64_t LayoutPlan::SegmentsBehind(NodeId product) const {
  constexpr size_t kMost = 32;
  std::vector<std::pair<NodeId, Layout>> open{{product, InParts(info_.of({product, 0}).shape.rank() - 1)}};
  for (size_t next = 0; next < open.size() && open.size() < kMost; ++next) {
    const auto [id, layout] = open[next];
    const Shape& shape = info_.of({id, 0}).shape;
    for (const NodeUse& use : fanout_[id]) {
      if (use.input < 0 || nodes_[use.node] == 0) continue;
      const Node& reader = graph_.node(use.node);
      const Shape& to = info_.of({use.node, 0}).shape;
      if (reader.op == "Split" || reader.op == "SplitV") {
        const auto axis = AxisOf(info_.of(reader.inputs[reader.op == "SplitV" ? 2 : 0]), shape.rank());
        if (axis != layout.axis || !shape.IsExact()) continue;
        int64_t size = 0;
        for (const TensorInfo& piece : info_.outputs(use.node)) size = std::gcd(size, piece.shape.dim(*axis));
        if (size > 0) return shape.dim(*axis) / size;
      } else if (reader.op == "Reshape") {
        if (!shape.IsExact() || !to.known_rank() || !to.IsExact()) continue;
        if (const auto behind = Reshaped(shape, layout, to, Pieces())) {
          open.emplace_back(use.node, *behind);
        } else if (layout.axis < to.rank() &&
                   Reshaped(shape, InParts(layout.axis, to.dim(layout.axis)), to, Pieces())) {
          return to.dim(layout.axis);
        }
      } else if (reader.op == "BiasAdd" || (IsElementwise(reader) && to == shape)) {
        open.emplace_back(use.node, layout);
      }
    }
  }
  return 1;
}

}  // namespace lanescope
