// SparseToDense: values at coordinates of a tensor that is `default_value` elsewhere.
#include "exec/kernels/sparse_kernels.h"
#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {
namespace {

// Row i of the indices: the coordinates of value i.
struct CoordinateRows {
  std::vector<int64_t> numbers;
  int64_t count = 1;
  int64_t depth = 1;
  std::span<const int64_t> operator[](int64_t i) const {
    return {numbers.data() + i * depth, static_cast<size_t>(depth)};
  }
};

CoordinateRows ReadRows(const TensorRef& indices) {
  const int rank = indices.shape.rank();
  if (rank > 2) {
    Throw(Code::kInvalidArgument, "sparse_indices should be a scalar, vector, or matrix, got shape {}",
          indices.shape.ToString());
  }
  CoordinateRows rows{ReadInts(indices)};
  if (rank > 0) rows.count = indices.shape[0];
  if (rank > 1) rows.depth = indices.shape[1];
  return rows;
}

void CheckShapes(const KernelContext& context, const CoordinateRows& rows) {
  const Shape& sizes = context.input(1).shape;
  const Shape& values = context.input(2).shape;
  if (sizes.rank() != 1) {
    Throw(Code::kInvalidArgument, "output_shape must be rank 1, got shape {}", sizes.ToString());
  }
  if (sizes[0] != rows.depth) {
    Throw(Code::kInvalidArgument, "output_shape has incorrect number of elements: {} should be: {}", sizes[0],
          rows.depth);
  }
  if (values.rank() != 0 && !(values == Shape{rows.count})) {
    Throw(Code::kInvalidArgument, "sparse_values has incorrect shape {}, should be [] or [{}]",
          values.ToString(), rows.count);
  }
  if (context.input(3).shape.rank() != 0) {
    Throw(Code::kInvalidArgument, "default_value should be a scalar.");
  }
}

std::string ListOf(std::span<const int64_t> row) {
  std::string text = "[";
  for (const int64_t number : row) text += (text.size() > 1 ? "," : "") + std::to_string(number);
  return text + "]";
}

class SparseToDenseKernel final : public Kernel {
 public:
  explicit SparseToDenseKernel(const Node& node) : validate_(node.BoolAttr("validate_indices", true)) {}

  void Compute(KernelContext& context) override {
    const CoordinateRows rows = ReadRows(context.input(0));
    CheckShapes(context, rows);
    const Shape shape = ReadShape(context.input(1));
    const std::vector<int64_t> places = PlacesOf(rows, shape);
    ShapeOutput(context, 0, shape);
    const TensorRef& out = context.output();
    FillElements(out.dtype, out.data, context.input(3).data, out.NumElements(), context.team());
    const TensorRef& values = context.input(2);
    DispatchBySize(out.dtype, [&](auto tag) {
      using T = decltype(tag);
      const int64_t step = values.shape.rank() == 0 ? 0 : 1;
      for (size_t i = 0; i < places.size(); ++i) {
        out.as<T>()[places[i]] = values.as<T>()[static_cast<int64_t>(i) * step];
      }
    });
  }

 private:
  // The element that each row names. Rows that are checked lie in the order of the elements, each once.
  std::vector<int64_t> PlacesOf(const CoordinateRows& rows, const Shape& shape) const {
    std::vector<int64_t> places(static_cast<size_t>(rows.count));
    for (int64_t i = 0; i < rows.count; ++i) {
      const std::span<const int64_t> row = rows[i];
      int64_t place = 0;
      for (int d = 0; d < shape.rank(); ++d) {
        const int64_t at = row[static_cast<size_t>(d)];
        if (at < 0 || at >= shape[d]) ThrowOutside(row, i, shape);
        place = place * shape[d] + at;
      }
      places[static_cast<size_t>(i)] = place;
      if (!validate_ || i == 0) continue;
      const int64_t previous = places[static_cast<size_t>(i) - 1];
      if (place == previous) Throw(Code::kInvalidArgument, "indices[{}] = {} is repeated", i, ListOf(row));
      if (place < previous) {
        Throw(Code::kInvalidArgument,
              "indices[{}] = {} is out of order. Many sparse ops require sorted indices.", i, ListOf(row));
      }
    }
    return places;
  }

  [[noreturn]] void ThrowOutside(std::span<const int64_t> row, int64_t i, const Shape& shape) const {
    if (!validate_) {
      Throw(Code::kInvalidArgument, "Indices are not valid (out of bounds).  Shape: {}", shape.ToString());
    }
    Throw(Code::kInvalidArgument, "indices[{}] = {} is out of bounds: need 0 <= index < {}", i, ListOf(row),
          shape.ToString());
  }

  bool validate_;
};

}  // namespace

void RegisterSparseToDenseKernels(KernelRegistry& registry) {
  registry.Register("SparseToDense", MakeKernel<SparseToDenseKernel>);
}

}  // namespace lanescope::exec
