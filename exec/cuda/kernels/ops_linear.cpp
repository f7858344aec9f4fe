// Matrix products and convolutions: shapes and checks; the bodies are in linear.h and convolution.h.
#include <algorithm>

#include "exec/cuda/kernels/access.h"
#include "exec/cuda/kernels/convolution.h"
#include "exec/cuda/kernels/linear.h"
#include "exec/kernels/matmul_shape.h"
#include "exec/kernels/window.h"

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

WindowAxis AxisOf(const WindowDim& dim) {
  WindowAxis axis;
  axis.in = dim.in;
  axis.out = dim.out;
  axis.size = dim.size;
  axis.stride = dim.stride;
  axis.dilation = dim.dilation;
  axis.before = dim.before;
  return axis;
}

ConvSpec SpecOf(const WindowAttrs& attrs, const Shape& images, const Shape& filter) {
  if (images.rank() != 4 || filter.rank() != 4) {
    Throw(Code::kInvalidArgument, "input and filter must be 4-dimensional, not {} and {}", images.ToString(),
          filter.ToString());
  }
  if (filter[2] != images[3]) {
    const bool grouped = filter[2] > 0 && images[3] % filter[2] == 0;
    Throw(grouped ? Code::kUnimplemented : Code::kInvalidArgument,
          "input depth {} and filter depth {} differ{}", images[3], filter[2],
          grouped ? "; grouped convolution has no CUDA kernel" : "");
  }
  ConvSpec spec;
  spec.batch = images[0];
  spec.channels = images[3];
  spec.filters = filter[3];
  spec.rows = AxisOf(attrs.Resolve(1, images[1], filter[0]));
  spec.columns = AxisOf(attrs.Resolve(2, images[2], filter[1]));
  return spec;
}

Shape OutputShape(const ConvSpec& spec) {
  return Shape{spec.batch, spec.rows.out, spec.columns.out, spec.filters};
}

class Conv2DKernel final : public Kernel {
 public:
  explicit Conv2DKernel(const Node& node) : attrs_(node) {}
  void Compute(KernelContext& context) override {
    const TensorRef& images = context.input(0);
    const TensorRef& filter = context.input(1);
    const ConvSpec spec = SpecOf(attrs_, images.shape, filter.shape);
    context.SetOutputShape(0, OutputShape(spec));
    DispatchReal("Conv2D", images.dtype, [&]<typename T>(T) {
      RunConvolution<T>(LaunchOf(context), spec, images.as<T>(), filter.as<T>(), context.output().as<T>());
    });
  }

 private:
  WindowAttrs attrs_;
};

// Shapes in host memory.
std::vector<int64_t> ReadSizes(const TensorRef& sizes) {
  std::vector<int64_t> values = ReadInts(sizes);
  if (std::any_of(values.begin(), values.end(), [](int64_t v) { return v < 0; })) {
    Throw(Code::kInvalidArgument, "the sizes of a convolution's gradient must not be negative");
  }
  return values;
}

class Conv2DInputGradKernel final : public Kernel {
 public:
  explicit Conv2DInputGradKernel(const Node& node) : attrs_(node) {}
  void Compute(KernelContext& context) override {
    const TensorRef& filter = context.input(1);
    const TensorRef& gradient = context.input(2);
    std::vector<int64_t> sizes = ReadSizes(context.input(0));
    if (filter.shape.rank() != 4 || gradient.shape.rank() != 4 || (sizes.size() != 4 && sizes.size() != 2)) {
      Throw(Code::kInvalidArgument,
            "filter and out_backprop must be 4-dimensional, and input_sizes 4 (or 2) values");
    }
    if (sizes.size() == 2) sizes = {gradient.shape[0], sizes[0], sizes[1], filter.shape[2]};
    const Shape images{sizes[0], sizes[1], sizes[2], sizes[3]};
    const ConvSpec spec = SpecOf(attrs_, images, filter.shape);
    RequireSameShape("out_backprop and the convolution's output", gradient.shape, OutputShape(spec));
    context.SetOutputShape(0, images);
    DispatchReal("Conv2DBackpropInput", gradient.dtype, [&]<typename T>(T) {
      RunConvolutionInputGrad<T>(LaunchOf(context), spec, filter.as<T>(), gradient.as<T>(),
                                 context.output().as<T>());
    });
  }

 private:
  WindowAttrs attrs_;
};

class Conv2DFilterGradKernel final : public Kernel {
 public:
  explicit Conv2DFilterGradKernel(const Node& node) : attrs_(node) {}
  void Compute(KernelContext& context) override {
    const TensorRef& images = context.input(0);
    const TensorRef& gradient = context.input(2);
    const std::vector<int64_t> sizes = ReadSizes(context.input(1));
    if (sizes.size() != 4) Throw(Code::kInvalidArgument, "filter_sizes must be 4 values");
    const Shape filter{sizes[0], sizes[1], sizes[2], sizes[3]};
    const ConvSpec spec = SpecOf(attrs_, images.shape, filter);
    RequireSameShape("out_backprop and the convolution's output", gradient.shape, OutputShape(spec));
    context.SetOutputShape(0, filter);
    DispatchReal("Conv2DBackpropFilter", images.dtype, [&]<typename T>(T) {
      RunConvolutionFilterGrad<T>(LaunchOf(context), spec, images.as<T>(), gradient.as<T>(),
                                  context.output().as<T>());
    });
  }

 private:
  WindowAttrs attrs_;
};

}  // namespace

void RegisterLinearOps(KernelRegistry& registry) {
  for (const char* op : {"MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"}) {
    registry.Register(op, MakeKernel<MatMulKernel>);
  }
  registry.Register("Conv2D", MakeKernel<Conv2DKernel>);
  registry.Register("Conv2DBackpropInput", MakeKernel<Conv2DInputGradKernel>);
  registry.Register("Conv2DBackpropFilter", MakeKernel<Conv2DFilterGradKernel>);
}

}  // namespace lanescope::exec::cuda
