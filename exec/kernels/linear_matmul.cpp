#include <algorithm>

#include "exec/kernels/linear.h"
#include "exec/kernels/matmul_shape.h"
#include "exec/kernels/product.h"
#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {
namespace {

// MatMul and BatchMatMul: leading dimensions are batches, which broadcast.
class MatMulKernel final : public Kernel {
 public:
  explicit MatMulKernel(const Node& node) : rule_(node) {}

  void Compute(KernelContext& context) override {
    DispatchNumber("MatMul", context.input(0).dtype, [&]<typename T>(T) { Run<T>(context); });
  }

 private:
  template <typename T>
  void Run(KernelContext& context) const {
    const TensorRef& a = context.input(0);
    const TensorRef& b = context.input(1);
    const MatMulShape::Product product = rule_.Check(a.shape, b.shape);
    const int64_t m = product.m, k = product.k, n = product.n;
    const Shape& batch = product.batch;
    context.SetOutputShape(0, product.result);
    T* c = context.output().as<T>();
    const auto multiply = [&](WorkerTeam* team, int64_t index) {
      const MatrixView<T> left{a.as<T>() + MatMulShape::MatrixOffset(a.shape, batch, index),
                               a.shape[a.shape.rank() - 1], rule_.turn_a()};
      const MatrixView<T> right{b.as<T>() + MatMulShape::MatrixOffset(b.shape, batch, index),
                                b.shape[b.shape.rank() - 1], rule_.turn_b()};
      Multiply<T>(team, m, n, k, left, right, c + index * m * n);
    };
    // Large products share the team one after the other; small ones are dealt out whole.
    const int64_t count = batch.NumElements();
    const int64_t flops = std::max<int64_t>(1, 2 * m * n * k);
    if (count == 1 || flops > kLargeFlops) {
      for (int64_t index = 0; index < count; ++index) multiply(&context.team(), index);
      return;
    }
    context.team().ParallelFor(count, std::max<int64_t>(1, 1'000'000 / flops),
                               [&](int64_t begin, int64_t end) {
                                 for (int64_t index = begin; index < end; ++index) multiply(nullptr, index);
                               });
  }

  static constexpr int64_t kLargeFlops = 50'000'000;

  MatMulShape rule_;
};

}  // namespace

void RegisterMatMulKernels(KernelRegistry& registry) {
  for (const char* op : {"MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"}) {
    registry.Register(op, MakeKernel<MatMulKernel>);
  }
}

}  // namespace lanescope::exec
