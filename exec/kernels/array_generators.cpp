// Tensors made from a few numbers: Fill, Range, LinSpace, OneHot, diagonals.
#include <cmath>
#include <type_traits>

#include "exec/kernels/array_kernels.h"
#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {
namespace {

void ComputeFill(KernelContext& context) {
  const TensorRef& value = context.input(1);
  if (value.NumElements() != 1) {
    Throw(Code::kInvalidArgument, "value must be a scalar, not of shape {}", value.shape.ToString());
  }
  ShapeOutput(context, 0, ReadShape(context.input(0)));
  FillElements(value.dtype, context.output().data, value.data, context.output().NumElements(),
               context.team());
}

void ComputeZerosLike(KernelContext& context) {
  ShapeOutput(context, 0, context.input(0).shape);
  ZeroElements(context.input(0).dtype, context.output().data, context.output().NumElements(), context.team());
}

void ComputeOnesLike(KernelContext& context) {
  const DataType dtype = context.input(0).dtype;
  ShapeOutput(context, 0, context.input(0).shape);
  const int64_t count = context.output().NumElements();
  if (dtype == DataType::kBool) {
    const bool one = true;
    FillElements(dtype, context.output().data, &one, count, context.team());
    return;
  }
  DispatchNumber("OnesLike", dtype, [&](auto tag) {
    const decltype(tag) one = 1;
    FillElements(dtype, context.output().data, &one, count, context.team());
  });
}

template <typename T>
T ScalarOf(const TensorRef& tensor, const char* name) {
  if (tensor.NumElements() != 1) {
    Throw(Code::kInvalidArgument, "{} must be a scalar, not shape {}", name, tensor.shape.ToString());
  }
  return *tensor.as<T>();
}

template <typename T>
int64_t RangeSize(T start, T limit, T delta) {
  if (delta == 0) Throw(Code::kInvalidArgument, "Requires delta != 0: {}", delta);
  if (delta > 0 ? start > limit : start < limit) {
    Throw(Code::kInvalidArgument, "Requires start {} limit when delta {} 0: {}/{}",
          delta > 0 ? "<=" : ">=", delta > 0 ? ">" : "<", start, limit);
  }
  if constexpr (std::is_integral_v<T>) {
    const auto distance = delta > 0 ? static_cast<uint64_t>(limit) - static_cast<uint64_t>(start)
                                    : static_cast<uint64_t>(start) - static_cast<uint64_t>(limit);
    const auto step = delta > 0 ? static_cast<uint64_t>(delta) : uint64_t{0} - static_cast<uint64_t>(delta);
    const uint64_t size = distance / step + (distance % step != 0 ? 1 : 0);
    if (size > uint64_t{1} << 40) {
      Throw(Code::kInvalidArgument, "Requires ((limit - start) / delta) to be at most 2^40");
    }
    return static_cast<int64_t>(size);
  } else {
    const double size = std::ceil(
        std::abs((static_cast<double>(limit) - static_cast<double>(start)) / static_cast<double>(delta)));
    if (!(size <= static_cast<double>(int64_t{1} << 40))) {
      Throw(Code::kInvalidArgument, "Requires ((limit - start) / delta) to be at most 2^40");
    }
    return static_cast<int64_t>(size);
  }
}

void ComputeRange(KernelContext& context) {
  DispatchNumber("Range", context.input(0).dtype, [&](auto tag) {
    using T = decltype(tag);
    const T start = ScalarOf<T>(context.input(0), "start");
    const T delta = ScalarOf<T>(context.input(2), "delta");
    const int64_t size = RangeSize<T>(start, ScalarOf<T>(context.input(1), "limit"), delta);
    ShapeOutput(context, 0, Shape{size});
    T* out = context.output().as<T>();
    // A running sum, as TensorFlow's: the rounding of a float range is part of its result.
    T value = start;
    for (int64_t i = 0; i < size; ++i) {
      out[i] = value;
      if (i + 1 < size) value += delta;
    }
  });
}

void ComputeLinSpace(KernelContext& context) {
  const int64_t count = ReadInt(context.input(2), "num");
  if (count <= 0) Throw(Code::kInvalidArgument, "Requires num > 0: {}", count);
  DispatchReal("LinSpace", context.input(0).dtype, [&](auto tag) {
    using T = decltype(tag);
    const T start = ScalarOf<T>(context.input(0), "start");
    const T stop = ScalarOf<T>(context.input(1), "stop");
    ShapeOutput(context, 0, Shape{count});
    T* out = context.output().as<T>();
    out[0] = start;
    if (count == 1) return;
    const T step = (stop - start) / static_cast<T>(count - 1);
    for (int64_t i = 1; i < count - 1; ++i) out[i] = start + step * static_cast<T>(i);
    out[count - 1] = stop;
  });
}

class OneHotKernel : public Kernel {
 public:
  explicit OneHotKernel(const Node& node) : axis_(node.IntAttr("axis", -1)) {}

  // indices [prefix..., suffix...] give [prefix..., depth, suffix...]. An index outside [0, depth) is no
  // error: its elements are all off.
  void Compute(KernelContext& context) override {
    const TensorRef& indices = context.input(0);
    const int64_t depth = ReadInt(context.input(1), "depth");
    if (depth < 0) Throw(Code::kInvalidArgument, "depth must be non-negative, got: {}", depth);
    const int rank = indices.shape.rank();
    if (axis_ != -1 && (axis_ < 0 || axis_ > rank)) {
      Throw(Code::kInvalidArgument, "Expected axis to be -1 or between [0, {}). But received: {}", rank + 1,
            axis_);
    }
    const int axis = axis_ == -1 ? rank : static_cast<int>(axis_);
    Shape shape = indices.shape;
    shape.Insert(axis, depth);
    ShapeOutput(context, 0, shape);
    const TensorRef& out = context.output();
    FillElements(out.dtype, out.data, context.input(3).data, shape.NumElements(), context.team());
    const int64_t suffix = SizeOfDims(indices.shape, axis, rank);
    DispatchBySize(out.dtype, [&](auto tag) {
      using T = decltype(tag);
      const T on = *context.input(2).as<T>();
      const int64_t count = indices.NumElements();
      for (int64_t i = 0; i < count; ++i) {
        const int64_t hot = IndexAt(indices, i);
        if (hot < 0 || hot >= depth) continue;
        out.as<T>()[(i / suffix * depth + hot) * suffix + i % suffix] = on;
      }
    });
  }

 private:
  static int64_t IndexAt(const TensorRef& indices, int64_t i) {
    if (indices.dtype == DataType::kUint8) return indices.as<uint8_t>()[i];
    if (indices.dtype == DataType::kInt32) return indices.as<int32_t>()[i];
    if (indices.dtype == DataType::kInt64) return indices.as<int64_t>()[i];
    ThrowUnsupportedType("OneHot", indices.dtype);
  }

  int64_t axis_;
};

void ComputeDiag(KernelContext& context) {
  const TensorRef& x = context.input(0);
  Shape shape = x.shape;
  for (int d = 0; d < x.shape.rank(); ++d) shape.Append(x.shape[d]);
  ShapeOutput(context, 0, shape);
  const int64_t n = x.NumElements();
  ZeroElements(x.dtype, context.output().data, n * n, context.team());
  DispatchBySize(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    for (int64_t i = 0; i < n; ++i) context.output().as<T>()[i * n + i] = x.as<T>()[i];
  });
}

void ComputeDiagPart(KernelContext& context) {
  const TensorRef& x = context.input(0);
  const int half = x.shape.rank() / 2;
  Shape shape;
  for (int d = 0; d < half; ++d) {
    if (x.shape.rank() != 2 * half || x.shape[d] != x.shape[half + d]) {
      Throw(Code::kInvalidArgument, "Invalid shape {}: dimensions {} and {} do not match.",
            x.shape.ToString(), d, half + d);
    }
    shape.Append(x.shape[d]);
  }
  ShapeOutput(context, 0, shape);
  const int64_t n = shape.NumElements();
  DispatchBySize(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    for (int64_t i = 0; i < n; ++i) context.output().as<T>()[i] = x.as<T>()[i * n + i];
  });
}

}  // namespace

void RegisterGeneratorKernels(KernelRegistry& registry) {
  registry.Register("Fill", MakeFunctionKernel<ComputeFill>);
  registry.Register("ZerosLike", MakeFunctionKernel<ComputeZerosLike>);
  registry.Register("OnesLike", MakeFunctionKernel<ComputeOnesLike>);
  registry.Register("Range", MakeFunctionKernel<ComputeRange>);
  registry.Register("LinSpace", MakeFunctionKernel<ComputeLinSpace>);
  registry.Register("OneHot", MakeKernel<OneHotKernel>);
  registry.Register("Diag", MakeFunctionKernel<ComputeDiag>);
  registry.Register("DiagPart", MakeFunctionKernel<ComputeDiagPart>);
}

}  // namespace lanescope::exec
