#include "exec/kernels/nn.h"

#include <algorithm>
#include <vector>

#include "exec/kernels/element_wise.h"
#include "exec/kernels/tensor_access.h"
#include "exec/loops/loops.h"

namespace lanescope::exec {
namespace {

void RequireSameShape(const Shape& a, const Shape& b, std::string_view what) {
  if (a == b) return;
  Throw(Code::kInvalidArgument, "{} must have the same shape, but they have {} and {}", what, a.ToString(),
        b.ToString());
}

class LeakyReluKernel final : public Kernel {
 public:
  explicit LeakyReluKernel(const Node& node) : alpha_(node.FloatAttr("alpha", 0.2f)) {}

  void Compute(KernelContext& context) override {
    const TensorRef& x = context.input(0);
    context.SetOutputShape(0, x.shape);
    DispatchReal("LeakyRelu", x.dtype, [&]<typename T>(T) {
      context.team().ParallelFor(x.NumElements(), kElementGrain, [&](int64_t begin, int64_t end) {
        HostLoops().rows<T>().leaky_relu(end - begin, static_cast<T>(alpha_), x.as<T>() + begin,
                                         context.output().as<T>() + begin);
      });
    });
  }

 private:
  float alpha_;
};

class LeakyReluGradKernel final : public Kernel {
 public:
  explicit LeakyReluGradKernel(const Node& node) : alpha_(node.FloatAttr("alpha", 0.2f)) {}

  void Compute(KernelContext& context) override {
    const TensorRef& dy = context.input(0);
    const TensorRef& x = context.input(1);
    RequireSameShape(dy.shape, x.shape, "gradients and features");
    context.SetOutputShape(0, x.shape);
    DispatchReal("LeakyReluGrad", x.dtype, [&]<typename T>(T) {
      context.team().ParallelFor(x.NumElements(), kElementGrain, [&](int64_t begin, int64_t end) {
        HostLoops().rows<T>().leaky_relu_grad(end - begin, static_cast<T>(alpha_), dy.as<T>() + begin,
                                              x.as<T>() + begin, context.output().as<T>() + begin);
      });
    });
  }

 private:
  float alpha_;
};

// Local response normalisation over the channels of NHWC images, and its gradient.
class LrnKernel final : public Kernel {
 public:
  explicit LrnKernel(const Node& node)
      : gradient_(node.op == "LRNGrad"),
        radius_(node.IntAttr("depth_radius", 5)),
        bias_(node.FloatAttr("bias", 1.0f)),
        alpha_(node.FloatAttr("alpha", 1.0f)),
        beta_(node.FloatAttr("beta", 0.5f)) {
    if (radius_ < 0) Throw(Code::kInvalidArgument, "node {}: depth_radius must not be negative", node.name);
  }

  // Inputs: LRN (x); LRNGrad (dy, x, y).
  void Compute(KernelContext& context) override {
    const Shape& shape = context.input(0).shape;
    if (shape.rank() != 4)
      Throw(Code::kInvalidArgument, "in must be 4-dimensional, not {}", shape.ToString());
    for (int i = 1; gradient_ && i < 3; ++i)
      RequireSameShape(shape, context.input(i).shape, "inputs of LRNGrad");
    context.SetOutputShape(0, shape);
    if (shape.NumElements() == 0) return;
    DispatchReal("LRN", context.input(0).dtype, [&]<typename T>(T) { Run<T>(context, shape); });
  }

 private:
  template <typename T>
  void Run(KernelContext& context, const Shape& shape) const {
    const int64_t depth = shape[3];
    const int64_t radius = std::min(radius_, depth);  // beyond the channels there is nothing to add
    const auto bias = static_cast<T>(bias_);
    const auto alpha = static_cast<T>(alpha_);
    const auto beta = static_cast<T>(beta_);
    const RowLoops<T>& loops = HostLoops().rows<T>();
    const int64_t pixels = shape.NumElements() / depth;
    context.team().ParallelFor(
        pixels, std::max<int64_t>(1, kElementGrain / depth), [&](int64_t begin, int64_t end) {
          thread_local std::vector<T> scratch;
          scratch.resize(std::max(scratch.size(), static_cast<size_t>(3 * depth + 2 * radius)));
          const auto at = [&](const TensorRef& tensor) { return tensor.as<T>() + begin * depth; };
          T* out = at(context.output());
          if (gradient_) {
            loops.lrn_grad(end - begin, depth, radius, bias, alpha, beta, at(context.input(1)),
                           at(context.input(2)), at(context.input(0)), out, scratch.data());
          } else {
            loops.lrn(end - begin, depth, radius, bias, alpha, beta, at(context.input(0)), out,
                      scratch.data());
          }
        });
  }

  bool gradient_;
  int64_t radius_;
  float bias_;
  float alpha_;
  float beta_;
};

}  // namespace

void RegisterNnKernels(KernelRegistry& registry) {
  registry.Register("LeakyRelu", MakeKernel<LeakyReluKernel>);
  registry.Register("LeakyReluGrad", MakeKernel<LeakyReluGradKernel>);
  registry.Register("LRN", MakeKernel<LrnKernel>);
  registry.Register("LRNGrad", MakeKernel<LrnKernel>);
  RegisterBatchNormKernels(registry);
  RegisterBiasKernels(registry);
  RegisterPoolingKernels(registry);
  RegisterSoftmaxKernels(registry);
}

}  // namespace lanescope::exec
