// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/layout.h"

namespace lanescope {

bool CanBeCut(const Shape& shape, int axis, int64_t segments, int64_t devices) {
  if (!shape.known_rank() || !shape.IsExact() || axis < 0 || axis >= shape.rank()) return false;
  return shape.dim(axis) > 0 && shape.dim(axis) % (segments * devices) == 0;
}

Shape ShapeOnDevice(Shape shape, const Layout& layout, int64_t devices) {
  if (layout.parts()) shape.set_dim(layout.axis, shape.dim(layout.axis) / devices);
  return shape;
}

int64_t RowsBeforeCut(const Shape& shape, const Layout& layout) {
  int64_t rows = layout.segments;
  for (int d = 0; d < layout.axis; ++d) rows *= shape.dim(d);
  return rows;
}

std::optional<Layout> Reshaped(const Shape& from, const Layout& parts, const Shape& to, int64_t devices) {
  if (!to.known_rank() || !to.IsExact()) return std::nullopt;
  const int64_t rows = RowsBeforeCut(from, parts);
  int64_t before = 1;
  for (int d = 0; d < to.rank() && before <= rows && before > 0; before *= to.dim(d), ++d) {
    if (rows % before == 0 && CanBeCut(to, d, rows / before, devices)) return InParts(d, rows / before);
  }
  return std::nullopt;
}

}  // namespace lanescope
