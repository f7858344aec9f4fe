// SPDX-License-Identifier: Apache-2.0
// SparseToDense: values at coordinates of a tensor that is `default_value` elsewhere.
#include "exec/kernels/scatter_plan.h"
#include "exec/kernels/sparse_kernels.h"

namespace lanescope::exec {
namespace {

std::string ListOf(std::span<const int64_t> row) {
  std::string text = "[";
  for (const int64_t number : row) text += (text.size() > 1 ? "," : "") + std::to_string(number);
  return text + "]";
}

class SparseToDenseKernel final : public Kernel {
 public:
  explicit SparseToDenseKernel(const Node& node) : validate_(node.BoolAttr("validate_indices", true)) {}

  void Compute(KernelContext& context) override {
    const CoordinateRows rows = PlanSparseToDense(context);
    const TensorRef& out = context.output();
    const std::vector<int64_t> places = PlacesOf(rows, ReadInts(context.input(0)), out.shape);
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
  std::vector<int64_t> PlacesOf(const CoordinateRows& rows, const std::vector<int64_t>& numbers,
                                const Shape& shape) const {
    std::vector<int64_t> places(static_cast<size_t>(rows.rows));
    for (int64_t i = 0; i < rows.rows; ++i) {
      const std::span<const int64_t> row(numbers.data() + i * rows.depth, static_cast<size_t>(rows.depth));
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
