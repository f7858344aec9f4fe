// The largest elements of each row: TopK, TopKV2, InTopK.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "exec/kernels/array_kernels.h"
#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {
namespace {

// Values and their numbers (int32), largest first; of equal ones the first comes first.
class TopKKernel : public Kernel {
 public:
  explicit TopKKernel(const Node& node) : k_(node.IntAttr("k", -1)) {}

  void Compute(KernelContext& context) override {
    const TensorRef& x = context.input(0);
    const int64_t k = context.num_inputs() == 2 ? ReadInt(context.input(1), "k") : k_;
    if (k < 0) Throw(Code::kInvalidArgument, "Need k >= 0, got {}", k);
    const int rank = x.shape.rank();
    if (rank < 1) Throw(Code::kInvalidArgument, "input must be >= 1-D, got shape {}", x.shape.ToString());
    const int64_t columns = x.shape[rank - 1];
    if (columns < k)
      Throw(Code::kInvalidArgument, "input must have at least k columns. Had {}, needed {}", columns, k);
    Shape shape = x.shape;
    shape.set_dim(rank - 1, k);
    ShapeOutput(context, 0, shape);
    ShapeOutput(context, 1, shape);
    if (k == 0) return;
    DispatchNumber("TopK", x.dtype, [&](auto tag) {
      using T = decltype(tag);
      context.team().ParallelFor(x.NumElements() / columns, 1, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          SelectRow(x.as<T>() + row * columns, columns, k, context.output(0).as<T>() + row * k,
                    context.output(1).as<int32_t>() + row * k);
        }
      });
    });
  }

 private:
  template <typename T>
  static void SelectRow(const T* row, int64_t columns, int64_t k, T* values, int32_t* numbers) {
    std::vector<int32_t> order(static_cast<size_t>(columns));
    std::iota(order.begin(), order.end(), 0);
    std::partial_sort(order.begin(), order.begin() + k, order.end(),
                      [&](int32_t a, int32_t b) { return row[a] > row[b] || (!(row[b] > row[a]) && a < b); });
    for (int64_t i = 0; i < k; ++i) {
      numbers[i] = order[static_cast<size_t>(i)];
      values[i] = row[numbers[i]];
    }
  }

  int64_t k_;
};

// Whether fewer than k classes are more probable than the target. False where that cannot be said: a target
// out of range, or a prediction that is not finite.
class InTopKKernel : public Kernel {
 public:
  explicit InTopKKernel(const Node& node) : k_(node.IntAttr("k", -1)) {}

  void Compute(KernelContext& context) override {
    const TensorRef& predictions = context.input(0);
    const TensorRef& targets = context.input(1);
    const int64_t k = context.num_inputs() == 3 ? ReadInt(context.input(2), "k") : k_;
    if (predictions.shape.rank() != 2) Throw(Code::kInvalidArgument, "predictions must be 2-dimensional");
    if (targets.shape.rank() != 1 || targets.shape[0] != predictions.shape[0]) {
      Throw(Code::kInvalidArgument, "First dimension of predictions {} must match length of targets {}",
            predictions.shape[0], targets.shape.ToString());
    }
    ShapeOutput(context, 0, targets.shape);
    const int64_t classes = predictions.shape[1];
    const std::vector<int64_t> wanted = ReadInts(targets);
    for (size_t row = 0; row < wanted.size(); ++row) {
      context.output().as<bool>()[row] =
          Holds(predictions.as<float>() + static_cast<int64_t>(row) * classes, classes, wanted[row], k);
    }
  }

 private:
  static bool Holds(const float* row, int64_t classes, int64_t target, int64_t k) {
    if (target < 0 || target >= classes || !std::isfinite(row[target])) return false;
    int64_t more_probable = 0;
    for (int64_t i = 0; i < classes; ++i) {
      if (!std::isfinite(row[i])) return false;
      more_probable += row[i] > row[target];
    }
    return more_probable < k;
  }

  int64_t k_;
};

}  // namespace

void RegisterTopKKernels(KernelRegistry& registry) {
  registry.Register("TopK", MakeKernel<TopKKernel>);
  registry.Register("TopKV2", MakeKernel<TopKKernel>);
  registry.Register("InTopK", MakeKernel<InTopKKernel>);
  registry.Register("InTopKV2", MakeKernel<InTopKKernel>);
}

}  // namespace lanescope::exec
