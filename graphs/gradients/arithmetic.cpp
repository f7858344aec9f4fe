// SPDX-License-Identifier: Apache-2.0
#include "graphs/gradients/arithmetic.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "graphs/constants.h"

namespace lanescope::graphs {
namespace {

Input Vector(const std::vector<int64_t>& values, DataType type) {
  return NumbersAs(Input(values).value(), type);
}

std::vector<int64_t> IntsOf(const Tensor& tensor) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < tensor.NumElements(); ++i) values.push_back(tensor.IntAt(i));
  return values;
}

// A number as an int32 constant, cast where it has to be of another type.
Endpoint Named(Scope& s, const Input& input, DataType type, std::string_view name) {
  if (input.endpoint() != nullptr) return *input.endpoint();
  return Cast(s, s.Constant(NumbersAs(input.value(), DataType::kInt32), name), type);
}

struct BroadcastAxes {
  std::vector<int64_t> x, y;
};

// Empty where it depends on dimensions that are not exact.
std::optional<BroadcastAxes> StaticAxes(const lanescope::Shape& x, const lanescope::Shape& y) {
  if (!x.known_rank() || !y.known_rank()) return std::nullopt;
  BroadcastAxes axes;
  const int rank = std::max(x.rank(), y.rank());
  const auto dim = [rank](const lanescope::Shape& shape, int axis) {
    const int own = axis - (rank - shape.rank());
    return own < 0 ? Dim{1} : shape[own];
  };
  for (int axis = 0; axis < rank; ++axis) {
    const Dim a = dim(x, axis), b = dim(y, axis);
    if (a == 1 && b != 1) {
      axes.x.push_back(axis);
    } else if (b == 1 && a != 1) {
      axes.y.push_back(axis);
    } else if (!IsExact(a) || !IsExact(b)) {
      return std::nullopt;
    }
  }
  return axes;
}

}  // namespace

Endpoint ScalarOf(Scope& s, double value, DataType type, std::string_view name) {
  return s.Constant(NumbersAs(Tensor::Scalar(value), type), name);
}

Endpoint ShapeTensor(Scope& s, Endpoint x, DataType type) {
  const lanescope::Shape& shape = s.ShapeOf(x);
  if (shape.IsExact()) return s.Constant(DimsTensor(shape, type), "Shape");
  return op::Shape(s, x, {.out_type = type});
}

Endpoint SizeTensor(Scope& s, Endpoint x) {
  const lanescope::Shape& shape = s.ShapeOf(x);
  if (shape.IsExact()) return s.Constant(Tensor::Scalar(static_cast<int32_t>(shape.NumElements())), "Size");
  return op::Size(s, x);
}

Endpoint RankTensor(Scope& s, Endpoint x) {
  const lanescope::Shape& shape = s.ShapeOf(x);
  if (shape.known_rank()) return s.Constant(Tensor::Scalar(static_cast<int32_t>(shape.rank())), "Rank");
  return op::Rank(s, x);
}

Endpoint ZerosLike(Scope& s, Endpoint x) {
  const lanescope::Shape& shape = s.ShapeOf(x);
  if (!shape.IsExact()) return op::ZerosLike(s, x, {.name = "zeros_like"});
  return FilledTensor(s, 0, shape, s.TypeOf(x), "zeros_like");
}

Endpoint OnesLike(Scope& s, Endpoint x, DataType type) {
  const auto names = s.Name("ones_like");
  const std::string full = s.CurrentNames();
  const lanescope::Shape& known = s.ShapeOf(x);
  const Endpoint shape = known.IsExact()
                             ? s.Constant(DimsTensor(known, DataType::kInt32), "Shape/shape_as_tensor")
                             : ShapeTensor(s, x);
  const Endpoint one = type == DataType::kBool ? s.Constant(Tensor::Scalar(true)) : ScalarOf(s, 1, type);
  return op::Fill(s, shape, one, {.name = full});
}

Endpoint OnesLike(Scope& s, Endpoint x) { return OnesLike(s, x, s.TypeOf(x)); }

Endpoint OnesOf(Scope& s, Endpoint shape, DataType type, std::string_view name) {
  const auto names = s.Name(name);
  const std::string full = s.CurrentNames();
  return op::Fill(s, shape, ScalarOf(s, 1, type), {.name = full});
}

Endpoint RangeUpTo(Scope& s, const Input& start, Endpoint limit, const Input& step) {
  const auto names = s.Name("range");
  const std::string full = s.CurrentNames();
  const Endpoint first = Named(s, start, s.TypeOf(limit), "start");
  return op::Range(s, first, limit, Named(s, step, s.TypeOf(limit), "delta"), {.name = full});
}

Endpoint Cast(Scope& s, Endpoint x, DataType type) { return s.TypeOf(x) == type ? x : op::Cast(s, x, type); }

Endpoint Element(Scope& s, Endpoint x, int64_t i) {
  const auto names = s.Name("strided_slice");
  const std::string full = s.CurrentNames();
  const Endpoint begin = s.Constant(Vector({i}, DataType::kInt32).value(), "stack");
  const Endpoint end = s.Constant(Vector({i + 1}, DataType::kInt32).value(), "stack_1");
  const Endpoint strides = s.Constant(Vector({1}, DataType::kInt32).value(), "stack_2");
  return op::StridedSlice(s, x, begin, end, strides, {.name = full, .shrink_axis_mask = 1});
}

Endpoint Range(Scope& s, Endpoint x, int64_t from, int64_t to) {
  const auto names = s.Name("strided_slice");
  const std::string full = s.CurrentNames();
  const Endpoint begin = s.Constant(Vector({from}, DataType::kInt32).value(), "stack");
  const Endpoint end = s.Constant(Vector({to}, DataType::kInt32).value(), "stack_1");
  const Endpoint strides = s.Constant(Vector({1}, DataType::kInt32).value(), "stack_2");
  return op::StridedSlice(s, x, begin, end, strides,
                          {.name = full, .begin_mask = from == 0 ? 1 : 0, .end_mask = to == 0 ? 1 : 0});
}

Input ReducedShape(Scope& s, Endpoint input_shape, Endpoint axes) {
  const Tensor* shape_value = s.Info(input_shape).value.get();
  const Tensor* axes_value = s.Info(axes).value.get();
  if (shape_value != nullptr && axes_value != nullptr) {
    std::vector<int64_t> dims = IntsOf(*shape_value);
    const auto rank = static_cast<int64_t>(dims.size());
    for (const int64_t axis : IntsOf(*axes_value))
      dims[static_cast<size_t>(axis < 0 ? axis + rank : axis)] = 1;
    return Vector(dims, DataType::kInt32);
  }
  const Endpoint shape = Cast(s, input_shape, DataType::kInt32);
  const Endpoint axes32 = Cast(s, axes, DataType::kInt32);
  const Endpoint rank = SizeTensor(s, shape);
  const Endpoint positive = FloorMod(s, Add(s, axes32, rank), rank);
  const Endpoint axes_shape = ShapeTensor(s, positive);
  const Endpoint range = RangeUpTo(s, 0, rank, 1);
  const Endpoint ones = OnesOf(s, axes_shape, DataType::kInt32);
  return op::DynamicStitch(s, {range, positive}, {shape, ones});
}

Endpoint AllAxes(Scope& scope, Endpoint x) {
  const lanescope::Shape shape = scope.ShapeOf(x);
  if (!shape.known_rank()) return RangeUpTo(scope, 0, RankTensor(scope, x), 1);
  std::vector<int64_t> axes(static_cast<size_t>(shape.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  return scope.Constant(NumbersAs(Input(axes).value(), DataType::kInt32));
}

Endpoint SumOver(Scope& s, const Input& x, const Input& axes, bool keep_dims) {
  return op::Sum(s, x, axes, {.keep_dims = keep_dims});
}

std::vector<Gradient> Unbroadcast(Scope& s, Endpoint x, Endpoint y, const Gradient& gx, const Gradient& gy) {
  const Endpoint x_shape = ShapeTensor(s, x);
  const Endpoint y_shape = ShapeTensor(s, y);
  const auto axes = StaticAxes(s.ShapeOf(x), s.ShapeOf(y));
  std::optional<op::BroadcastGradientArgsOutputs> args;
  if (!axes) args = op::BroadcastGradientArgs(s, x_shape, y_shape);
  const auto reduce = [&](const Gradient& grad, Endpoint shape, bool of_x) -> Gradient {
    if (grad.empty()) return grad;
    const int rank = s.ShapeOf(x).rank(), other_rank = s.ShapeOf(y).rank();
    if (axes) {
      const bool has_axes = !(of_x ? axes->x : axes->y).empty();
      if (!has_axes && !(of_x ? rank < other_rank : other_rank < rank)) return grad;
    }
    const Input over =
        axes ? Vector(of_x ? axes->x : axes->y, DataType::kInt32) : Input(of_x ? args->r0 : args->r1);
    return op::Reshape(s, SumOver(s, grad.ToDense(s), over, true), shape);
  };
  const Gradient first = reduce(gx, x_shape, true);
  const Gradient second = reduce(gy, y_shape, false);
  return {first, second};
}

bool AllShapesEqual(Scope& s, Endpoint x, Endpoint y, Endpoint grad) {
  const lanescope::Shape& shape = s.ShapeOf(x);
  return shape.IsExact() && shape == s.ShapeOf(y) && shape == s.ShapeOf(grad);
}

}  // namespace lanescope::graphs
