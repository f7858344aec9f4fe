#include "exec/kernels/matrix_band.h"

#include <algorithm>

#include "exec/kernels/array_kernels.h"
#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {

MatrixBand ReadMatrixBand(const KernelContext& context) {
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
  return band;
}

namespace {

void ComputeMatrixBandPart(KernelContext& context) {
  const TensorRef& x = context.input(0);
  const MatrixBand band = ReadMatrixBand(context);
  ShapeOutput(context, 0, x.shape);
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

}  // namespace

void RegisterMatrixBandKernels(KernelRegistry& registry) {
  registry.Register("MatrixBandPart", MakeFunctionKernel<ComputeMatrixBandPart>);
}

}  // namespace lanescope::exec
