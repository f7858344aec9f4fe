// SPDX-License-Identifier: Apache-2.0
// The largest elements of each row, on host memory: TopK, InTopK.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "exec/kernels/array_kernels.h"
#include "exec/kernels/reduction_plan.h"

namespace lanescope::exec {
namespace {

template <typename T>
void SelectRow(const T* row, int64_t columns, int64_t k, T* values, int32_t* numbers) {
  std::vector<int32_t> order(static_cast<size_t>(columns));
  std::iota(order.begin(), order.end(), 0);
  std::partial_sort(order.begin(), order.begin() + k, order.end(),
                    [&](int32_t a, int32_t b) { return row[a] > row[b] || (!(row[b] > row[a]) && a < b); });
  for (int64_t i = 0; i < k; ++i) {
    numbers[i] = order[static_cast<size_t>(i)];
    values[i] = row[numbers[i]];
  }
}

void TakeTop(KernelContext& context, const TopKPlan& plan) {
  if (plan.k == 0) return;
  const TensorRef& x = context.input(0);
  DispatchNumber("TopK", x.dtype, [&]<typename T>(T) {
    context.team().ParallelFor(plan.rows, 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        SelectRow(x.as<T>() + row * plan.columns, plan.columns, plan.k,
                  context.output(0).as<T>() + row * plan.k, context.output(1).as<int32_t>() + row * plan.k);
      }
    });
  });
}

bool IsAmongTop(const float* row, int64_t classes, int64_t target, int64_t k) {
  if (target < 0 || target >= classes || !std::isfinite(row[target])) return false;
  int64_t more_probable = 0;
  for (int64_t i = 0; i < classes; ++i) {
    if (!std::isfinite(row[i])) return false;
    more_probable += row[i] > row[target];
  }
  return more_probable < k;
}

class InTopKKernel : public Kernel {
 public:
  explicit InTopKKernel(const Node& node) : k_(node.IntAttr("k", -1)) {}

  void Compute(KernelContext& context) override {
    const int64_t rows = PlanInTopK(context);
    const int64_t k = context.num_inputs() == 3 ? ReadInt(context.input(2), "k") : k_;
    const int64_t classes = context.input(0).shape[1];
    const float* predictions = context.input(0).as<float>();
    const std::vector<int64_t> targets = ReadInts(context.input(1));
    bool* out = context.output().as<bool>();
    for (int64_t row = 0; row < rows; ++row) {
      out[row] = IsAmongTop(predictions + row * classes, classes, targets[static_cast<size_t>(row)], k);
    }
  }

 private:
  int64_t k_;
};

}  // namespace

void RegisterTopKKernels(KernelRegistry& registry) {
  for (const char* op : {"TopK", "TopKV2"}) RegisterOp<TopKOp, TakeTop>(registry, op);
  for (const char* op : {"InTopK", "InTopKV2"}) registry.Register(op, MakeKernel<InTopKKernel>);
}

}  // namespace lanescope::exec
