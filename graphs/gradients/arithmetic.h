// SPDX-License-Identifier: Apache-2.0
// Arithmetic as gradients write it, with the names that TensorFlow's operators give.
#pragma once

#include <string_view>
#include <vector>

#include "graphs/gradients.h"
#include "graphs/ops.h"

namespace lanescope::graphs {

inline Endpoint Mul(Scope& s, const Input& x, const Input& y) { return op::Mul(s, x, y, {.name = "mul"}); }
inline Endpoint Add(Scope& s, const Input& x, const Input& y) { return op::AddV2(s, x, y, {.name = "add"}); }
inline Endpoint Sub(Scope& s, const Input& x, const Input& y) { return op::Sub(s, x, y, {.name = "sub"}); }
// x / y of real numbers.
inline Endpoint Div(Scope& s, const Input& x, const Input& y) {
  return op::RealDiv(s, x, y, {.name = "truediv"});
}
inline Endpoint FloorMod(Scope& s, const Input& x, const Input& y) {
  return op::FloorMod(s, x, y, {.name = "mod"});
}
inline Endpoint FloorDiv(Scope& s, const Input& x, const Input& y) {
  return op::FloorDiv(s, x, y, {.name = "floordiv"});
}
inline Endpoint Neg(Scope& s, const Input& x) { return op::Neg(s, x); }

// A scalar of this element type.
Endpoint ScalarOf(Scope& s, double value, DataType type, std::string_view name = "Const");
// The shape as an int32 or int64 vector: a constant where it is exact while the graph is written.
Endpoint ShapeTensor(Scope& s, Endpoint x, DataType type = DataType::kInt32);
Endpoint SizeTensor(Scope& s, Endpoint x);
Endpoint RankTensor(Scope& s, Endpoint x);
// As `x`, of zeros or ones.
Endpoint ZerosLike(Scope& s, Endpoint x);
Endpoint OnesLike(Scope& s, Endpoint x);
Endpoint OnesLike(Scope& s, Endpoint x, DataType type);
Endpoint OnesOf(Scope& s, Endpoint shape, DataType type, std::string_view name = "ones");
// start, start + step, ... below limit.
Endpoint RangeUpTo(Scope& s, const Input& start, Endpoint limit, const Input& step);
Endpoint Cast(Scope& s, Endpoint x, DataType type);
// x[i], x[from:to] of a vector; to < 0 counts from behind, 0 is the end.
Endpoint Element(Scope& s, Endpoint x, int64_t i);
Endpoint Range(Scope& s, Endpoint x, int64_t from, int64_t to);
// Gives the shape of a reduction over `axes` that keeps the dimensions: with ones there. A value where
// all is known.
Input ReducedShape(Scope& s, Endpoint input_shape, Endpoint axes);
// Gradients of the two inputs of an op that broadcasts, summed over what was broadcast.
std::vector<Gradient> Unbroadcast(Scope& s, Endpoint x, Endpoint y, const Gradient& gx, const Gradient& gy);
// Every dimension, as a reduction wants them.
Endpoint AllAxes(Scope& s, Endpoint x);
// Sum over axes, kept as dimensions of 1 or not.
Endpoint SumOver(Scope& s, const Input& x, const Input& axes, bool keep_dims = false);

// Whether both have one shape, exact while the graph is written, and the gradient too.
bool AllShapesEqual(Scope& s, Endpoint x, Endpoint y, Endpoint grad);

}  // namespace lanescope::graphs
