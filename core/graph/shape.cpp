// SPDX-License-Identifier: Apache-2.0
#include "core/graph/shape.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/error.h"

namespace lanescope {
namespace {

int64_t CheckedProduct(int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product) || product > kMostElements) {
    Throw(Code::kInvalidArgument, "the product of dimensions {} and {} overflows 2^62", a, b);
  }
  return product;
}

Dim CheckedDim(Dim dim) {
  if (dim > kMostElements || dim < BoundedDim(kMostElements)) {
    Throw(Code::kInvalidArgument, "dimension {} is larger than 2^62", dim);
  }
  return dim;
}

std::string DimToString(Dim dim) {
  if (IsExact(dim)) return std::to_string(dim);
  return HasBound(dim) ? fmt::format("<={}", BoundOf(dim)) : "?";
}

[[noreturn]] void ThrowContradiction(const Shape& a, const Shape& b) {
  Throw(Code::kInvalidArgument, "shapes {} and {} contradict each other", a.ToString(), b.ToString());
}

Dim MergeDims(Dim a, Dim b, const Shape& shape_a, const Shape& shape_b) {
  if (a == kUnknownDim) return b;
  if (b == kUnknownDim) return a;
  if (IsExact(a) && IsExact(b)) {
    if (a != b) ThrowContradiction(shape_a, shape_b);
    return a;
  }
  if (!IsExact(a) && !IsExact(b)) return BoundedDim(std::min(BoundOf(a), BoundOf(b)));
  const Dim exact = IsExact(a) ? a : b;
  const Dim bounded = IsExact(a) ? b : a;
  if (exact > BoundOf(bounded)) ThrowContradiction(shape_a, shape_b);
  return exact;
}

// An exact size other than 1 decides the result, since the other side can only be 1 or equal. Two sizes that
// are not exact may each turn out to be 1, so only the larger bound holds.
Dim BroadcastDims(Dim a, Dim b, const Shape& shape_a, const Shape& shape_b) {
  if (a == 1) return b;
  if (b == 1) return a;
  if (IsExact(a) && IsExact(b) && a != b) {
    Throw(Code::kInvalidArgument, "shapes {} and {} cannot be broadcast together", shape_a.ToString(),
          shape_b.ToString());
  }
  if (IsExact(a)) return a;
  if (IsExact(b)) return b;
  if (!HasBound(a) || !HasBound(b)) return kUnknownDim;
  return BoundedDim(std::max(BoundOf(a), BoundOf(b)));
}

}  // namespace

Dim AddDims(Dim a, Dim b) {
  if (!HasBound(a) || !HasBound(b)) return kUnknownDim;
  int64_t sum = 0;
  if (__builtin_add_overflow(BoundOf(a), BoundOf(b), &sum) || sum > kMostElements) {
    Throw(Code::kInvalidArgument, "the sum of dimensions {} and {} overflows 2^62", BoundOf(a), BoundOf(b));
  }
  return IsExact(a) && IsExact(b) ? sum : BoundedDim(sum);
}

Dim MulDims(Dim a, Dim b) {
  if (a == 0 || b == 0) return 0;
  if (!HasBound(a) || !HasBound(b)) return kUnknownDim;
  const int64_t product = CheckedProduct(BoundOf(a), BoundOf(b));
  return IsExact(a) && IsExact(b) ? product : BoundedDim(product);
}

Shape::Shape(std::span<const Dim> dims) {
  for (Dim dim : dims) Append(dim);
}

void Shape::Append(Dim dim) { Insert(rank_, dim); }

void Shape::Insert(int i, Dim dim) {
  LANESCOPE_CHECK(known_rank() && i >= 0 && i <= rank_);
  if (rank_ == kMaxRank) {
    Throw(Code::kUnimplemented, "a shape of more than {} dimensions; reshape the tensor to fewer", kMaxRank);
  }
  CheckedDim(dim);
  std::copy_backward(dims_.begin() + i, dims_.begin() + rank_, dims_.begin() + rank_ + 1);
  dims_[static_cast<size_t>(i)] = dim;
  ++rank_;
}

void Shape::Erase(int i) {
  LANESCOPE_CHECK(i >= 0 && i < rank_);
  std::copy(dims_.begin() + i + 1, dims_.begin() + rank_, dims_.begin() + i);
  --rank_;
}

bool Shape::IsExact() const {
  return known_rank() && std::ranges::all_of(dims(), [](Dim dim) { return lanescope::IsExact(dim); });
}

bool Shape::HasBound() const {
  return known_rank() && std::ranges::all_of(dims(), [](Dim dim) { return lanescope::HasBound(dim); });
}

int64_t Shape::NumElements() const {
  if (!HasBound()) return -1;
  // An empty tensor stays empty however large its other dimensions are.
  if (std::ranges::any_of(dims(), [](Dim dim) { return BoundOf(dim) == 0; })) return 0;
  int64_t elements = 1;
  for (Dim dim : dims()) elements = CheckedProduct(elements, BoundOf(dim));
  return elements;
}

Shape Shape::Bound() const {
  Shape bound = *this;
  for (int i = 0; i < rank_; ++i) bound.set_dim(i, BoundOf(dim(i)));
  return bound;
}

std::string Shape::ToString() const {
  if (!known_rank()) return "<unknown>";
  std::string text = "[";
  for (int i = 0; i < rank_; ++i) {
    if (i > 0) text += ',';
    text += DimToString(dim(i));
  }
  return text + ']';
}

bool operator==(const Shape& a, const Shape& b) {
  return a.rank_ == b.rank_ && std::ranges::equal(a.dims(), b.dims());
}

Shape MergeShapes(const Shape& a, const Shape& b) {
  if (!a.known_rank()) return b;
  if (!b.known_rank()) return a;
  if (a.rank() != b.rank()) ThrowContradiction(a, b);
  Shape merged = a;
  for (int i = 0; i < a.rank(); ++i) merged.set_dim(i, MergeDims(a[i], b[i], a, b));
  return merged;
}

Shape BroadcastShapes(const Shape& a, const Shape& b) {
  if (!a.known_rank() || !b.known_rank()) return Shape::Unknown();
  const Shape& longer = a.rank() >= b.rank() ? a : b;
  const Shape& shorter = a.rank() >= b.rank() ? b : a;
  const int offset = longer.rank() - shorter.rank();
  Shape result = longer;
  for (int i = 0; i < shorter.rank(); ++i) {
    result.set_dim(offset + i, BroadcastDims(longer[offset + i], shorter[i], a, b));
  }
  return result;
}

}  // namespace lanescope
