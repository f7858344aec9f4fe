// SPDX-License-Identifier: Apache-2.0
// Matrix products and convolutions; the bodies are in linear.h and convolution.h.
#include <algorithm>

#include "exec/cuda/kernels/access.h"
#include "exec/cuda/kernels/convolution.h"
#include "exec/cuda/kernels/linear.h"
#include "exec/kernels/convolution_plan.h"
#include "exec/kernels/matmul_shape.h"
#include "exec/kernels/triangular_plan.h"

namespace lanescope::exec::cuda {
namespace {

// MatMul and BatchMatMul: leading dimensions are batches, which broadcast.
class MatMulKernel final : public Kernel {
 public:
  explicit MatMulKernel(const Node& node) : rule_(node) {}

  void Compute(KernelContext& context) override {
    DispatchReal("MatMul", context.input(0).dtype, [&]<typename T>(T) { Run<T>(context); });
  }

 private:
  template <typename T>
  void Run(KernelContext& context) const {
    const TensorRef& a = context.input(0);
    const TensorRef& b = context.input(1);
    const auto [m, k, n, batch, shape] = rule_.Check(a.shape, b.shape);
    context.SetOutputShape(0, shape);
    if (shape.NumElements() == 0) return;
    Launch& launch = LaunchOf(context);
    T* c = context.output().as<T>();
    MatrixBatch<T> left{a.as<T>(), std::max<int64_t>(1, a.shape[a.shape.rank() - 1]), 0, rule_.turn_a()};
    MatrixBatch<T> right{b.as<T>(), std::max<int64_t>(1, b.shape[b.shape.rank() - 1]), 0, rule_.turn_b()};
    const int64_t count = batch.NumElements();
    // An operand advances with every product, or is one matrix for all: then one call does.
    const int64_t own_a = MatMulShape::BatchOf(a.shape).NumElements();
    const int64_t own_b = MatMulShape::BatchOf(b.shape).NumElements();
    if ((own_a == count || own_a == 1) && (own_b == count || own_b == 1)) {
      left.step = own_a == 1 ? 0 : m * k;
      right.step = own_b == 1 ? 0 : k * n;
      return RunProduct<T>(launch, count, m, n, k, left, right, c, false);
    }
    for (int64_t index = 0; index < count; ++index) {
      left.data = a.as<T>() + MatMulShape::MatrixOffset(a.shape, batch, index);
      right.data = b.as<T>() + MatMulShape::MatrixOffset(b.shape, batch, index);
      RunProduct<T>(launch, 1, m, n, k, left, right, c + index * m * n, false);
    }
  }

  MatMulShape rule_;
};

ConvSpec SpecOf(const ConvPlan& plan) {
  const ImageWindows& windows = plan.windows;
  return {windows.batch, windows.channels, plan.filters, AxisOf(windows.rows), AxisOf(windows.columns)};
}

void Convolve(KernelContext& context, const ConvPlan& plan) {
  const TensorRef& images = context.input(0);
  DispatchReal("Conv2D", images.dtype, [&]<typename T>(T) {
    RunConvolution<T>(LaunchOf(context), SpecOf(plan), images.as<T>(), context.input(1).as<T>(),
                      context.output().as<T>());
  });
}

void ConvolveInputGrad(KernelContext& context, const ConvPlan& plan) {
  const TensorRef& gradient = context.input(2);
  DispatchReal("Conv2DBackpropInput", gradient.dtype, [&]<typename T>(T) {
    RunConvolutionInputGrad<T>(LaunchOf(context), SpecOf(plan), context.input(1).as<T>(), gradient.as<T>(),
                               context.output().as<T>());
  });
}

void ConvolveFilterGrad(KernelContext& context, const ConvPlan& plan) {
  const TensorRef& images = context.input(0);
  DispatchReal("Conv2DBackpropFilter", images.dtype, [&]<typename T>(T) {
    RunConvolutionFilterGrad<T>(LaunchOf(context), SpecOf(plan), images.as<T>(), context.input(2).as<T>(),
                                context.output().as<T>());
  });
}

void SolveTriangular(KernelContext& context, const TriangularPlan& plan) {
  const TensorRef &a = context.input(0), &b = context.input(1);
  if (context.output().NumElements() == 0) return;
  DispatchReal("MatrixTriangularSolve", a.dtype, [&]<typename T>(T) {
    TriangularSystems systems{plan.matrices, plan.rows, plan.columns, 0, 0, plan.lower, plan.turned};
    const int64_t a_size = plan.rows * plan.rows, b_size = plan.rows * plan.columns;
    const int64_t own_a = a.NumElements() / a_size, own_b = b.NumElements() / b_size;
    T* x = context.output().as<T>();
    // As in products: matrices that advance with the results, or one for all, are one launch.
    if ((own_a == plan.matrices || own_a == 1) && (own_b == plan.matrices || own_b == 1)) {
      systems.a_step = own_a == 1 ? 0 : a_size;
      systems.b_step = own_b == 1 ? 0 : b_size;
      return RunTriangularSolve<T>(LaunchOf(context), systems, a.as<T>(), b.as<T>(), x);
    }
    systems.matrices = 1;
    for (int64_t i = 0; i < plan.matrices; ++i) {
      RunTriangularSolve<T>(LaunchOf(context), systems,
                            a.as<T>() + MatMulShape::MatrixOffset(a.shape, plan.batch, i),
                            b.as<T>() + MatMulShape::MatrixOffset(b.shape, plan.batch, i), x + i * b_size);
    }
  });
}

}  // namespace

void RegisterLinearOps(KernelRegistry& registry) {
  for (const char* op : {"MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"}) {
    registry.Register(op, MakeKernel<MatMulKernel>);
  }
  RegisterOp<TriangularSolveOp, SolveTriangular>(registry, "MatrixTriangularSolve");
  RegisterConvolutionOps<Convolve, ConvolveInputGrad, ConvolveFilterGrad>(registry, "Conv2D");
}

}  // namespace lanescope::exec::cuda
