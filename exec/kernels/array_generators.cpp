// SPDX-License-Identifier: Apache-2.0
// Tensors made from a few numbers, on host memory: Fill, Range, LinSpace, OneHot, diagonals.
#include <algorithm>

#include "exec/kernels/array_kernels.h"
#include "exec/kernels/generator_plan.h"

namespace lanescope::exec {
namespace {

void ComputeZerosLike(KernelContext& context) {
  ShapeOutput(context, 0, context.input(0).shape);
  ZeroElements(context.input(0).dtype, context.output().data, context.output().NumElements(), context.team());
}

void ComputeOnesLike(KernelContext& context) {
  ShapeOutput(context, 0, context.input(0).shape);
  const TensorRef& out = context.output();
  WithOne(out.dtype,
          [&](auto one) { FillElements(out.dtype, out.data, &one, out.NumElements(), context.team()); });
}

void ComputeLinSpace(KernelContext& context) {
  RequireScalar("num", context.input(2));
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

int64_t IndexAt(const TensorRef& indices, int64_t i) {
  if (indices.dtype == DataType::kUint8) return indices.as<uint8_t>()[i];
  if (indices.dtype == DataType::kInt32) return indices.as<int32_t>()[i];
  if (indices.dtype == DataType::kInt64) return indices.as<int64_t>()[i];
  ThrowUnsupportedType("OneHot", indices.dtype);
}

struct HostGenerators {
  static void Fill(KernelContext& context, const TensorRef& value) {
    FillElements(value.dtype, context.output().data, value.data, context.output().NumElements(),
                 context.team());
  }

  static void Range(KernelContext& context) {
    DispatchNumber("Range", context.input(0).dtype, [&]<typename T>(T) {
      const RangePlan<T> range = PlanRange<T>(context);
      T* out = context.output().as<T>();
      // A running sum, as TensorFlow's: the rounding of a float range is part of its result.
      T value = range.start;
      for (int64_t i = 0; i < range.size; ++i) {
        out[i] = value;
        if (i + 1 < range.size) value += range.delta;
      }
    });
  }

  // An index outside [0, depth) is no error: its elements are all off.
  static void OneHot(KernelContext& context, const OneHotPlan& plan) {
    const TensorRef& indices = context.input(0);
    const TensorRef& out = context.output();
    FillElements(out.dtype, out.data, context.input(3).data, out.NumElements(), context.team());
    DispatchBySize(out.dtype, [&](auto tag) {
      using T = decltype(tag);
      const T on = *context.input(2).as<T>();
      const int64_t count = indices.NumElements();
      for (int64_t i = 0; i < count; ++i) {
        const int64_t hot = IndexAt(indices, i);
        if (hot < 0 || hot >= plan.depth) continue;
        out.as<T>()[(i / plan.suffix * plan.depth + hot) * plan.suffix + i % plan.suffix] = on;
      }
    });
  }

  static void Diag(KernelContext& context, int64_t n) {
    const TensorRef& x = context.input(0);
    ZeroElements(x.dtype, context.output().data, n * n, context.team());
    DispatchBySize(x.dtype, [&](auto tag) {
      using T = decltype(tag);
      for (int64_t i = 0; i < n; ++i) context.output().as<T>()[i * n + i] = x.as<T>()[i];
    });
  }

  static void DiagPart(KernelContext& context, int64_t n) {
    const TensorRef& x = context.input(0);
    DispatchBySize(x.dtype, [&](auto tag) {
      using T = decltype(tag);
      for (int64_t i = 0; i < n; ++i) context.output().as<T>()[i] = x.as<T>()[i * n + i];
    });
  }

  static void Band(KernelContext& context, const MatrixBand& band) {
    const TensorRef& x = context.input(0);
    if (x.NumElements() == 0) return;
    DispatchBySize(x.dtype, [&](auto tag) {
      using T = decltype(tag);
      const T* from = x.as<T>();
      T* to = context.output().as<T>();
      const int64_t rows = x.NumElements() / band.columns;
      const int64_t grain = std::max<int64_t>(1, (int64_t{1} << 14) / band.columns);
      context.team().ParallelFor(rows, grain, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
          const int64_t row = r % band.rows;
          const int64_t first = std::clamp<int64_t>(row - band.lower, 0, band.columns);
          const int64_t last = std::clamp<int64_t>(row + band.upper + 1, first, band.columns);
          T* out = to + r * band.columns;
          std::fill(out, out + first, T{});
          std::copy(from + r * band.columns + first, from + r * band.columns + last, out + first);
          std::fill(out + last, out + band.columns, T{});
        }
      });
    });
  }
};

}  // namespace

void RegisterGeneratorKernels(KernelRegistry& registry) {
  RegisterGeneratorOps<HostGenerators>(registry);
  registry.Register("ZerosLike", MakeFunctionKernel<ComputeZerosLike>);
  registry.Register("OnesLike", MakeFunctionKernel<ComputeOnesLike>);
  registry.Register("LinSpace", MakeFunctionKernel<ComputeLinSpace>);
}

}  // namespace lanescope::exec
