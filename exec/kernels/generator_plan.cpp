// SPDX-License-Identifier: Apache-2.0
#include "exec/kernels/generator_plan.h"

#include <cmath>
#include <type_traits>

namespace lanescope::exec {
namespace {

template <typename T>
int64_t RangeSize(T start, T limit, T delta) {
  if (delta == 0) Throw(Code::kInvalidArgument, "Requires delta != 0: {}", delta);
  if (delta > 0 ? start > limit : start < limit) {
    Throw(Code::kInvalidArgument, "Requires start {} limit when delta {} 0: {}/{}",
          delta > 0 ? "<=" : ">=", delta > 0 ? ">" : "<", start, limit);
  }
  double size = 0;
  if constexpr (std::is_integral_v<T>) {
    const auto distance = delta > 0 ? static_cast<uint64_t>(limit) - static_cast<uint64_t>(start)
                                    : static_cast<uint64_t>(start) - static_cast<uint64_t>(limit);
    const auto step = delta > 0 ? static_cast<uint64_t>(delta) : uint64_t{0} - static_cast<uint64_t>(delta);
    size = static_cast<double>(distance / step + (distance % step != 0 ? 1 : 0));
  } else {
    size = std::ceil(
        std::abs((static_cast<double>(limit) - static_cast<double>(start)) / static_cast<double>(delta)));
  }
  if (!(size <= static_cast<double>(int64_t{1} << 40))) {
    Throw(Code::kInvalidArgument, "Requires ((limit - start) / delta) to be at most 2^40");
  }
  return static_cast<int64_t>(size);
}

}  // namespace

const TensorRef& PlanFill(KernelContext& context) {
  const TensorRef& value = context.input(1);
  RequireScalar("value", value);
  ShapeOutput(context, 0, ReadShape(context.input(0)));
  return value;
}

template <typename T>
RangePlan<T> PlanRange(KernelContext& context) {
  const T start = ScalarOf<T>(context.input(0), "start");
  const T limit = ScalarOf<T>(context.input(1), "limit");
  const T delta = ScalarOf<T>(context.input(2), "delta");
  const int64_t size = RangeSize<T>(start, limit, delta);
  ShapeOutput(context, 0, Shape{size});
  return {start, delta, size};
}
template RangePlan<float> PlanRange<float>(KernelContext&);
template RangePlan<double> PlanRange<double>(KernelContext&);
template RangePlan<int32_t> PlanRange<int32_t>(KernelContext&);
template RangePlan<int64_t> PlanRange<int64_t>(KernelContext&);

OneHotPlan OneHotOp::Plan(KernelContext& context) const {
  Shape shape = context.input(0).shape;
  const int rank = shape.rank();
  const int64_t depth = ReadInt(context.input(1), "depth");
  if (depth < 0) Throw(Code::kInvalidArgument, "depth must be non-negative, got: {}", depth);
  if (axis_ < -1 || axis_ > rank) {
    Throw(Code::kInvalidArgument, "Expected axis to be -1 or between [0, {}).  But received: {}", rank + 1,
          axis_);
  }
  const int axis = axis_ == -1 ? rank : static_cast<int>(axis_);
  const OneHotPlan plan{SizeOfDims(shape, 0, axis), depth, SizeOfDims(shape, axis, rank)};
  shape.Insert(axis, depth);
  ShapeOutput(context, 0, shape);
  return plan;
}

int64_t PlanDiag(KernelContext& context) {
  const Shape& x = context.input(0).shape;
  Shape shape = x;
  for (int d = 0; d < x.rank(); ++d) shape.Append(x[d]);
  ShapeOutput(context, 0, shape);
  return x.NumElements();
}

int64_t PlanDiagPart(KernelContext& context) {
  const Shape& x = context.input(0).shape;
  const int half = x.rank() / 2;
  if (half == 0 || x.rank() != 2 * half) {
    Throw(Code::kInvalidArgument, "The rank of the tensor should be even and positive, got shape {}",
          x.ToString());
  }
  Shape shape;
  for (int d = 0; d < half; ++d) {
    if (x[d] != x[half + d]) {
      Throw(Code::kInvalidArgument, "Invalid shape {}: dimensions {} and {} do not match.", x.ToString(), d,
            half + d);
    }
    shape.Append(x[d]);
  }
  ShapeOutput(context, 0, shape);
  return shape.NumElements();
}

MatrixBand PlanMatrixBand(KernelContext& context) {
  const Shape& shape = context.input(0).shape;
  const int rank = shape.rank();
  if (rank < 2) {
    Throw(Code::kInvalidArgument, "input must be at least 2-dim, received shape: {}", shape.ToString());
  }
  MatrixBand band{shape[rank - 2], shape[rank - 1], 0, 0};
  const auto read = [&](int input, std::string_view name, std::string_view of, int64_t most) {
    const TensorRef& number = context.input(input);
    if (number.shape.rank() != 0) {
      Throw(Code::kInvalidArgument, "{} must be scalar, got shape {}", name, number.shape.ToString());
    }
    const int64_t value = ReadInt(number, name);
    if (value > most) {
      Throw(Code::kInvalidArgument, "{} must be negative or less or equal to number of {} ({}) got: {}", name,
            of, most, value);
    }
    return value < 0 ? most : value;
  };
  band.lower = read(1, "num_lower", "rows", band.rows);
  band.upper = read(2, "num_upper", "columns", band.columns);
  ShapeOutput(context, 0, shape);
  return band;
}

}  // namespace lanescope::exec
