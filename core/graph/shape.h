// SPDX-License-Identifier: Apache-2.0
// The dimensions of a tensor. A dimension is exactly known (n), bounded from above (the result of Unique, a
// partial last batch) or unknown. A bound sizes memory; it never becomes a value.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>

namespace lanescope {

// A dimension packed in one integer: n >= 0 exact, -1 unknown, -(b + 2) at most b.
using Dim = int64_t;
inline constexpr Dim kUnknownDim = -1;
inline constexpr int64_t kMostElements = int64_t{1} << 62;  // of a dimension, and of a tensor
// A number that no dimension can reach is no bound.
inline Dim BoundedDim(int64_t bound) { return bound > kMostElements ? kUnknownDim : -(bound + 2); }
inline bool IsExact(Dim dim) { return dim >= 0; }
inline bool HasBound(Dim dim) { return dim != kUnknownDim; }
// The exact size or the bound; -1 if unknown.
inline int64_t BoundOf(Dim dim) { return dim >= -1 ? dim : -(dim + 2); }
// sum, product and maximum that carry exactness and bounds along; overflow throws InvalidArgument.
Dim AddDims(Dim a, Dim b);
Dim MulDims(Dim a, Dim b);

// Value type, at most kMaxRank dimensions (more throws Unimplemented). Thread-compatible.
class Shape {
 public:
  static constexpr int kMaxRank = 8;

  Shape() = default;  // a scalar
  Shape(std::initializer_list<Dim> dims) : Shape(std::span<const Dim>(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const Dim> dims);
  static Shape Unknown() {
    Shape shape;
    shape.rank_ = -1;
    return shape;
  }

  bool known_rank() const { return rank_ >= 0; }
  int rank() const { return rank_; }  // -1: unknown
  Dim dim(int i) const { return dims_[static_cast<size_t>(i)]; }
  Dim operator[](int i) const { return dim(i); }
  void set_dim(int i, Dim dim) { dims_[static_cast<size_t>(i)] = dim; }
  void Append(Dim dim);
  void Erase(int i);
  void Insert(int i, Dim dim);
  std::span<const Dim> dims() const& { return {dims_.data(), static_cast<size_t>(rank_ < 0 ? 0 : rank_)}; }
  std::span<const Dim> dims() const&& = delete;  // they are the shape's own

  // Every dimension exact.
  bool IsExact() const;
  // Every dimension exact or bounded.
  bool HasBound() const;
  // Number of elements, by the bounds; -1 if something is unknown. Throws InvalidArgument where the product
  // overflows 2^62.
  int64_t NumElements() const;
  // The shape with every bound taken as exact.
  Shape Bound() const;

  // "[32,800]", "[?,<=51200]", "<unknown>"
  std::string ToString() const;

  friend bool operator==(const Shape& a, const Shape& b);

 private:
  std::array<Dim, kMaxRank> dims_{};
  int rank_ = 0;
};

// The most specific shape compatible with both; throws InvalidArgument (naming both) when they contradict.
Shape MergeShapes(const Shape& a, const Shape& b);
// NumPy broadcasting with exactness and bounds; throws InvalidArgument when the shapes are incompatible.
Shape BroadcastShapes(const Shape& a, const Shape& b);

}  // namespace lanescope
