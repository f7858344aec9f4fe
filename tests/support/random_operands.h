// SPDX-License-Identifier: Apache-2.0
// Random tensors that the nodes of a random graph take: of every type and of shapes that broadcast, from
// feeds and from nodes before.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "core/graph/graph_builder.h"

namespace lanescope::test {

class RandomOperands {
 public:
  struct Options {
    int ops = 30;
    int64_t most_elements = 300;  // of a tensor
    bool wild = false;            // NaN, infinities, zeros of both signs and tiny numbers are fed
    bool checked = false;         // divisions of whole numbers, which may fail
    bool wide = false;            // doubles in place of floats and smaller ones, but for variables
  };

 protected:
  struct Known {
    Endpoint endpoint;
    DataType dtype;
    Shape shape;
  };

  RandomOperands(unsigned seed, const Options& options) : rng_(seed * 2654435761u + 1), options_(options) {
    ChooseShape();
  }

  size_t Random(size_t n) { return static_cast<size_t>(rng_() % n); }
  template <typename T, size_t n>
  T Choose(const T (&of)[n]) {
    return of[Random(n)];
  }

  void ChooseShape() {
    static constexpr int64_t kSizes[] = {1, 2, 3, 4, 7, 8, 16, 17, 31, 64, 129, 300, 1000, 5003};
    const int rank = 1 + static_cast<int>(Random(4));
    int64_t elements = 1;
    for (int d = 0; d < rank; ++d) {
      int64_t size = Choose(kSizes);
      while (elements * size > options_.most_elements) size = (size + 1) / 2 == size ? 1 : (size + 1) / 2;
      elements *= size;
      shape_.Append(size);
    }
    if (Random(25) == 0) shape_.set_dim(static_cast<int>(Random(static_cast<size_t>(rank))), 0);
  }

  // A shape that is broadcast to this one: itself, or with ones, or without its first dimensions.
  Shape Narrowed(const Shape& of) {
    if (Random(2) == 0) return of;
    Shape shape;
    const auto begin = static_cast<int>(Random(static_cast<size_t>(of.rank()) + 1));
    for (int d = begin; d < of.rank(); ++d) shape.Append(Random(2) == 0 ? 1 : of[d]);
    return shape;
  }

  static bool IsFloating(DataType dtype) {
    return dtype == DataType::kFloat || dtype == DataType::kDouble || dtype == DataType::kHalf ||
           dtype == DataType::kBfloat16;
  }
  DataType AnyType() {
    if (options_.wide) {
      static constexpr DataType kWide[] = {DataType::kDouble, DataType::kDouble, DataType::kInt32,
                                           DataType::kInt64, DataType::kBool};
      return Choose(kWide);
    }
    static constexpr DataType kTypes[] = {DataType::kFloat, DataType::kFloat,    DataType::kFloat,
                                          DataType::kHalf,  DataType::kBfloat16, DataType::kDouble,
                                          DataType::kInt32, DataType::kInt64,    DataType::kBool};
    return Choose(kTypes);
  }

  const Known& Keep(Endpoint endpoint, DataType dtype, const Shape& shape) {
    values_.push_back({endpoint, dtype, shape});
    return values_.back();
  }
  Known Any() {
    const size_t back = Random(3) == 0 ? Random(values_.size()) : Random(std::min<size_t>(values_.size(), 7));
    return values_[values_.size() - 1 - back];
  }
  // One of this type that is broadcast with `shape`, or has it; made by a cast or of a constant at need.
  Known Matching(DataType dtype, const Shape& shape, bool same) {
    for (int tries = 0; tries < 15; ++tries) {
      const Known known = Any();
      if (known.dtype == dtype && (same ? known.shape == shape : Broadcast(known.shape, shape).has_value()))
        return known;
    }
    return Made(dtype, same || Random(2) == 0 ? shape : Narrowed(shape));
  }
  Known Made(DataType dtype, const Shape& shape) {
    const std::string name = "made" + std::to_string(made_++);
    if (dtype == DataType::kFloat) return Feed(name, shape);
    return Cast(name + "/cast", Feed(name, shape), dtype);
  }
  Known Cast(const std::string& name, const Known& of, DataType to) {
    return Keep(builder_.Op("Cast", name).Input(of.endpoint).Attr("DstT", to).Build(), to, of.shape);
  }
  Known MatchingRank(DataType dtype, int rank) {
    for (int tries = 0; tries < 15; ++tries) {
      const Known known = Any();
      if (known.dtype == dtype && known.shape.rank() >= rank) return known;
    }
    return Made(dtype, shape_.rank() >= rank ? shape_ : Shape{2, 3, 4});
  }
  Known AnyFloating() {
    for (int tries = 0; tries < 15; ++tries) {
      const Known known = Any();
      if (IsFloating(known.dtype)) return known;
    }
    return values_[0];
  }

  static std::optional<Shape> Broadcast(const Shape& a, const Shape& b) {
    Shape shape;
    const int rank = std::max(a.rank(), b.rank());
    for (int d = 0; d < rank; ++d) {
      const int64_t of_a = d < rank - a.rank() ? 1 : a[d - rank + a.rank()];
      const int64_t of_b = d < rank - b.rank() ? 1 : b[d - rank + b.rank()];
      if (of_a != of_b && of_a != 1 && of_b != 1) return std::nullopt;
      shape.Append(of_a == 1 ? of_b : of_a);
    }
    return shape;
  }

  float Number() {
    static const float kWild[] = {NAN, INFINITY, -INFINITY, 0.0f, -0.0f, 1e-40f, 1e38f, -3e9f, 65504.0f};
    if (options_.wild && Random(6) == 0) return Choose(kWild);
    return static_cast<float>(static_cast<int>(Random(4001)) - 2000) / 500.0f;
  }
  Tensor Numbers(const Shape& shape) {
    Tensor tensor(DataType::kFloat, shape);
    for (int64_t i = 0; i < tensor.NumElements(); ++i) tensor.data<float>()[i] = Number();
    return tensor;
  }
  Known Feed(const std::string& name, const Shape& shape) {
    feeds_[name + ":0"] = Numbers(shape);
    return Keep(builder_.Placeholder(name, DataType::kFloat, shape), DataType::kFloat, shape);
  }
  void AddFeed(const std::string& name) {
    const Known fed = Feed(name, values_.empty() ? shape_ : Narrowed(shape_));
    const DataType dtype = AnyType();
    if (dtype != DataType::kFloat) Cast(name + "/cast", fed, dtype);
    if (options_.wide) Cast(name + "/wide", fed, DataType::kDouble);
  }

  std::mt19937 rng_;
  const Options options_;
  GraphBuilder builder_;
  Shape shape_;
  std::vector<Known> values_;
  int made_ = 0;
  std::map<std::string, Tensor> feeds_;
};

}  // namespace lanescope::test
