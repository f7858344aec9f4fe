// SPDX-License-Identifier: Apache-2.0
// How a tensor lies on the devices that share a model. Internal to core.
#pragma once

#include <cstdint>
#include <optional>

#include "core/graph/shape.h"

namespace lanescope {

// Whole on every device, or in parts along an axis, or as terms whose sum it is.
struct Layout {
  enum class Kind : uint8_t { kWhole, kParts, kTerms };
  Kind kind = Kind::kWhole;
  int axis = 0;
  // The axis is so many equal segments, and device r has the r-th part of each: of queries, keys and values
  // that lie one behind the other, the heads r.
  int64_t segments = 1;

  bool whole() const { return kind == Kind::kWhole; }
  bool parts() const { return kind == Kind::kParts; }
  bool terms() const { return kind == Kind::kTerms; }
  friend bool operator==(const Layout&, const Layout&) = default;
  friend auto operator<=>(const Layout&, const Layout&) = default;
};
inline constexpr Layout kWhole{};
inline constexpr Layout kTerms{Layout::Kind::kTerms, 0, 1};
inline constexpr Layout InParts(int axis, int64_t segments = 1) {
  return {Layout::Kind::kParts, axis, segments};
}

// Whether the axis divides. Only exact shapes do.
bool CanBeCut(const Shape& shape, int axis, int64_t segments, int64_t devices);
// The shape on one device, of one that can be cut like this.
Shape ShapeOnDevice(Shape shape, const Layout& layout, int64_t devices);
// How many elements lie before the cut: as a matrix of devices, the tensor is [this, devices, the rest].
int64_t RowsBeforeCut(const Shape& shape, const Layout& layout);
// The parts of the same elements under another shape; none: the cut does not lie along an axis there.
std::optional<Layout> Reshaped(const Shape& from, const Layout& parts, const Shape& to, int64_t devices);

}  // namespace lanescope
