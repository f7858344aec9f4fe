// SPDX-License-Identifier: Apache-2.0
// Layers: bias, pooling, normalisation, softmax and cross entropy.
#include "exec/cuda/kernels/access.h"
#include "exec/cuda/kernels/element_wise.h"
#include "exec/cuda/kernels/nn.h"
#include "exec/cuda/kernels/reduce.h"
#include "exec/kernels/layer_plan.h"

namespace lanescope::exec::cuda {
namespace {

PoolMap PoolMapOf(const ImageWindows& windows) {
  return MakePoolMap(windows.batch, AxisOf(windows.rows), AxisOf(windows.columns), windows.channels);
}

template <bool kMax>
void Pool(KernelContext& context, const ImageWindows& windows) {
  const TensorRef& x = context.input(0);
  if (context.output().NumElements() == 0) return;
  DispatchReal("pooling", x.dtype, [&]<typename T>(T) {
    const auto run = kMax ? RunMaxPool<T> : RunAvgPool<T>;
    run(LaunchOf(context), PoolMapOf(windows), x.as<T>(), context.output().as<T>());
  });
}

struct CudaLayers {
  static void AddBias(KernelContext& context, const BiasPlan& plan) {
    const TensorRef& x = context.input(0);
    RunBinary(LaunchOf(context), BinaryOp::kAdd, plan.type,
              MakeBroadcastMap<2>(x.shape, {x.shape, plan.bias}), x.data, context.input(1).data,
              context.output().data);
  }

  static void SumBias(KernelContext& context, const BiasPlan& plan) {
    const TensorRef& dy = context.input(0);
    ReducedDims gone;
    gone.fill(true);
    gone[static_cast<size_t>(plan.channel)] = false;
    RunReduce(LaunchOf(context), ReduceSpec{}, dy.dtype, dy.shape, gone, dy.data, context.output().data);
  }

  static void MaxPool(KernelContext& context, const ImageWindows& windows) { Pool<true>(context, windows); }
  static void AvgPool(KernelContext& context, const ImageWindows& windows) { Pool<false>(context, windows); }

  static void MaxPoolGrad(KernelContext& context, const ImageWindows& windows) {
    const TensorRef& x = context.input(0);
    if (x.NumElements() == 0) return;
    DispatchReal("MaxPoolGrad", x.dtype, [&]<typename T>(T) {
      RunMaxPoolGrad<T>(LaunchOf(context), PoolMapOf(windows), x.as<T>(), context.input(1).as<T>(),
                        context.input(2).as<T>(), context.output().as<T>());
    });
  }

  static void MaxPoolGradGrad(KernelContext& context, const ImageWindows& windows) {
    const TensorRef& x = context.input(0);
    if (context.output().NumElements() == 0) return;
    DispatchReal("MaxPoolGradGrad", x.dtype, [&]<typename T>(T) {
      RunMaxPoolGradGrad<T>(LaunchOf(context), PoolMapOf(windows), x.as<T>(), context.input(1).as<T>(),
                            context.input(2).as<T>(), context.output().as<T>());
    });
  }

  static void AvgPoolGrad(KernelContext& context, const ImageWindows& windows) {
    const TensorRef& dy = context.input(1);
    if (context.output().NumElements() == 0) return;
    DispatchReal("AvgPoolGrad", dy.dtype, [&]<typename T>(T) {
      RunAvgPoolGrad<T>(LaunchOf(context), PoolMapOf(windows), dy.as<T>(), context.output().as<T>());
    });
  }

  static void Lrn(KernelContext& context, const LrnPlan& plan) {
    const TensorRef& first = context.input(0);
    if (first.dtype != DataType::kFloat) ThrowUnsupportedType("LRN", first.dtype);
    if (first.NumElements() == 0) return;
    const LrnSpec spec{plan.radius, plan.bias, plan.alpha, plan.beta};
    Launch& launch = LaunchOf(context);
    float* out = context.output().as<float>();
    if (!plan.gradient) return RunLrn(launch, spec, plan.pixels, plan.depth, first.as<float>(), out);
    RunLrnGrad(launch, spec, plan.pixels, plan.depth, context.input(1).as<float>(),
               context.input(2).as<float>(), first.as<float>(), out);
  }

  static void Softmax(KernelContext& context, const SoftmaxPlan& plan) {
    const TensorRef& x = context.input(0);
    if (x.NumElements() == 0) return;
    DispatchReal("Softmax", x.dtype, [&]<typename T>(T) {
      RunSoftmax<T>(LaunchOf(context), plan.log, plan.rows, plan.classes, x.as<T>(),
                    context.output().as<T>());
    });
  }

  static void CrossEntropy(KernelContext& context, const CrossEntropyPlan& plan) {
    const TensorRef& features = context.input(0);
    DispatchReal("SoftmaxCrossEntropyWithLogits", features.dtype, [&]<typename T>(T) {
      RunCrossEntropy<T>(LaunchOf(context), plan.rows, plan.classes, features.as<T>(), plan.features,
                         context.input(1).as<T>(), plan.labels, context.output(0).as<T>(),
                         context.output(1).as<T>());
    });
  }

  // A label out of range makes its row NaN, as in TensorFlow on a GPU: refusing it would make the host wait.
  static void SparseCrossEntropy(KernelContext& context, const CrossEntropyPlan& plan) {
    const TensorRef& features = context.input(0);
    const TensorRef& labels = context.input(1);
    const int bytes = ReaderOf("SparseSoftmaxCrossEntropyWithLogits", labels).bytes;
    DispatchReal("SparseSoftmaxCrossEntropyWithLogits", features.dtype, [&]<typename T>(T) {
      RunSparseCrossEntropy<T>(LaunchOf(context), plan.rows, plan.classes, features.as<T>(), labels.data,
                               bytes, context.output(0).as<T>(), context.output(1).as<T>());
    });
  }
};

}  // namespace

void RegisterNnOps(KernelRegistry& registry) { RegisterLayerOps<CudaLayers>(registry); }

}  // namespace lanescope::exec::cuda
