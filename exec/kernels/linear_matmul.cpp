// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "exec/kernels/linear.h"
#include "exec/kernels/matmul_shape.h"
#include "exec/kernels/product.h"
#include "exec/kernels/scratch.h"
#include "exec/kernels/small_floats.h"
#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {
namespace {

// MatMul and BatchMatMul: leading dimensions are batches, which broadcast.
class MatMulKernel final : public Kernel {
 public:
  explicit MatMulKernel(const Node& node) : rule_(node) {}

  void Compute(KernelContext& context) override {
    if (IsSmallFloat(context.input(0).dtype)) return RunSmall(context);
    DispatchNumber("MatMul", context.input(0).dtype, [&]<typename T>(T) { Run<T>(context); });
  }

 private:
  // In float, from memory of its own, and rounded once.
  void RunSmall(KernelContext& context) const {
    struct Left;
    struct Right;
    struct Product;
    const DataType dtype = context.input(0).dtype;
    const auto widened = [&](const TensorRef& small, float* floats) {
      context.team().ParallelFor(small.NumElements(), kConverted, [&](int64_t begin, int64_t end) {
        SmallToFloat(dtype, end - begin, small.as<const uint16_t>() + begin, floats + begin);
      });
      return floats;
    };
    const TensorRef& a = context.input(0);
    const TensorRef& b = context.input(1);
    const MatMulShape::Product product = rule_.Check(a.shape, b.shape);
    context.SetOutputShape(0, product.result);
    const int64_t size = context.output().NumElements();
    float* c = ThreadScratch<Product, float>(size);
    Run<float>(context, product, widened(a, ThreadScratch<Left, float>(a.NumElements())),
               widened(b, ThreadScratch<Right, float>(b.NumElements())), c);
    context.team().ParallelFor(size, kConverted, [&](int64_t begin, int64_t end) {
      FloatToSmall(dtype, end - begin, c + begin, context.output().as<uint16_t>() + begin);
    });
  }

  template <typename T>
  void Run(KernelContext& context) const {
    const MatMulShape::Product product = rule_.Check(context.input(0).shape, context.input(1).shape);
    context.SetOutputShape(0, product.result);
    Run<T>(context, product, context.input(0).as<const T>(), context.input(1).as<const T>(),
           context.output().as<T>());
  }

  template <typename T>
  void Run(KernelContext& context, const MatMulShape::Product& product, const T* left_data,
           const T* right_data, T* c) const {
    const Shape& a = context.input(0).shape;
    const Shape& b = context.input(1).shape;
    const int64_t m = product.m, k = product.k, n = product.n;
    const Shape& batch = product.batch;
    const auto multiply = [&](WorkerTeam* team, int64_t index) {
      const MatrixView<T> left{left_data + MatMulShape::MatrixOffset(a, batch, index), a[a.rank() - 1],
                               rule_.turn_a()};
      const MatrixView<T> right{right_data + MatMulShape::MatrixOffset(b, batch, index), b[b.rank() - 1],
                                rule_.turn_b()};
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

  static constexpr int64_t kConverted = 1 << 13;
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
