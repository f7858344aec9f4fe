// Layers: bias, pooling, normalisation, softmax and cross entropy.
#include <algorithm>

#include "exec/cuda/kernels/access.h"
#include "exec/cuda/kernels/element_wise.h"
#include "exec/cuda/kernels/nn.h"
#include "exec/cuda/kernels/reduce.h"
#include "exec/kernels/window.h"

namespace lanescope::exec::cuda {
namespace {

// The dimension of the channels.
class BiasKernel : public Kernel {
 public:
  explicit BiasKernel(const Node& node) : type_(LoopTypeOf(node.op, node.TypeAttr("T"))) {
    const std::string format = node.StringAttr("data_format", "NHWC");
    if (format != "NHWC" && format != "NCHW") {
      Throw(Code::kInvalidArgument, "node {}: data_format {} is neither NHWC nor NCHW", node.name, format);
    }
    channels_first_ = format == "NCHW" && node.op != "BiasAddV1";
  }

 protected:
  int ChannelOf(const Shape& shape) const {
    if (shape.rank() < 2)
      Throw(Code::kInvalidArgument, "Input tensor must be at least 2D: {}", shape.ToString());
    return channels_first_ ? 1 : shape.rank() - 1;
  }
  LoopType type_;

 private:
  bool channels_first_ = false;
};

class BiasAddKernel final : public BiasKernel {
 public:
  using BiasKernel::BiasKernel;
  void Compute(KernelContext& context) override {
    const TensorRef& x = context.input(0);
    const TensorRef& bias = context.input(1);
    const int channel = ChannelOf(x.shape);
    if (bias.shape.rank() != 1 || bias.shape[0] != x.shape[channel]) {
      Throw(Code::kInvalidArgument, "Must provide as many biases as channels: {} vs. {}",
            bias.shape.ToString(), x.shape.ToString());
    }
    context.SetOutputShape(0, x.shape);
    Shape spread = bias.shape;
    for (int i = channel + 1; i < x.shape.rank(); ++i) spread.Append(1);
    RunBinary(LaunchOf(context), BinaryOp::kAdd, type_, MakeBroadcastMap<2>(x.shape, {x.shape, spread}),
              x.data, bias.data, context.output().data);
  }
};

class BiasAddGradKernel final : public BiasKernel {
 public:
  using BiasKernel::BiasKernel;
  void Compute(KernelContext& context) override {
    const TensorRef& dy = context.input(0);
    const int channel = ChannelOf(dy.shape);
    std::array<bool, Shape::kMaxRank> gone;
    gone.fill(true);
    gone[static_cast<size_t>(channel)] = false;
    context.SetOutputShape(0, Shape{dy.shape[channel]});
    RunReduce(LaunchOf(context), ReduceSpec{}, dy.dtype, dy.shape, gone, dy.data, context.output().data);
  }
};

class PoolKernel : public Kernel {
 public:
  explicit PoolKernel(const Node& node) : attrs_(node), size_(SpatialAttr(node, "ksize")) {}

 protected:
  PoolMap MapOf(const Shape& images) const {
    if (images.rank() != 4) {
      Throw(Code::kInvalidArgument, "tensor_in must be 4-dimensional, not {}", images.ToString());
    }
    return MakePoolMap(images[0], AxisOf(1, images[1]), AxisOf(2, images[2]), images[3]);
  }
  static Shape OutputShape(const PoolMap& map, const Shape& images) {
    return Shape{images[0], map.rows.out, map.columns.out, images[3]};
  }

 private:
  WindowAxis AxisOf(int axis, int64_t in) const {
    const WindowDim dim = attrs_.Resolve(axis, in, size_[static_cast<size_t>(axis - 1)]);
    WindowAxis result;
    result.in = dim.in;
    result.out = dim.out;
    result.size = dim.size;
    result.stride = dim.stride;
    result.before = dim.before;
    return result;
  }

  WindowAttrs attrs_;
  std::array<int64_t, 2> size_;
};

template <bool kMax>
class PoolForwardKernel final : public PoolKernel {
 public:
  using PoolKernel::PoolKernel;
  void Compute(KernelContext& context) override {
    const TensorRef& x = context.input(0);
    const PoolMap map = MapOf(x.shape);
    context.SetOutputShape(0, OutputShape(map, x.shape));
    if (context.output().NumElements() == 0) return;
    DispatchReal("pooling", x.dtype, [&]<typename T>(T) {
      const auto run = kMax ? RunMaxPool<T> : RunAvgPool<T>;
      run(LaunchOf(context), map, x.as<T>(), context.output().as<T>());
    });
  }
};

// Inputs: x, y, dy.
class MaxPoolGradKernel final : public PoolKernel {
 public:
  using PoolKernel::PoolKernel;
  void Compute(KernelContext& context) override {
    const TensorRef& x = context.input(0);
    const PoolMap map = MapOf(x.shape);
    const Shape pooled = OutputShape(map, x.shape);
    RequireSameShape("the pooled tensor and pooling's output", context.input(1).shape, pooled);
    RequireSameShape("the gradient and pooling's output", context.input(2).shape, pooled);
    context.SetOutputShape(0, x.shape);
    if (x.NumElements() == 0) return;
    DispatchReal("MaxPoolGrad", x.dtype, [&]<typename T>(T) {
      RunMaxPoolGrad<T>(LaunchOf(context), map, x.as<T>(), context.input(1).as<T>(), context.input(2).as<T>(),
                        context.output().as<T>());
    });
  }
};

// Inputs: the shape of x (in host memory), dy.
class AvgPoolGradKernel final : public PoolKernel {
 public:
  using PoolKernel::PoolKernel;
  void Compute(KernelContext& context) override {
    const Shape images = ReadShape(context.input(0));
    const TensorRef& dy = context.input(1);
    const PoolMap map = MapOf(images);
    RequireSameShape("the gradient and pooling's output", dy.shape, OutputShape(map, images));
    context.SetOutputShape(0, images);
    if (images.NumElements() == 0) return;
    DispatchReal("AvgPoolGrad", dy.dtype, [&]<typename T>(T) {
      RunAvgPoolGrad<T>(LaunchOf(context), map, dy.as<T>(), context.output().as<T>());
    });
  }
};

// Inputs: LRN (x); LRNGrad (dy, x, y).
class LrnKernel final : public Kernel {
 public:
  explicit LrnKernel(const Node& node)
      : gradient_(node.op == "LRNGrad"),
        spec_{node.IntAttr("depth_radius", 5), node.FloatAttr("bias", 1.0f), node.FloatAttr("alpha", 1.0f),
              node.FloatAttr("beta", 0.5f)} {
    if (spec_.radius < 0)
      Throw(Code::kInvalidArgument, "node {}: depth_radius must not be negative", node.name);
  }

  void Compute(KernelContext& context) override {
    const TensorRef& first = context.input(0);
    if (first.dtype != DataType::kFloat) ThrowUnsupportedType("LRN", first.dtype);
    if (first.shape.rank() != 4) {
      Throw(Code::kInvalidArgument, "in must be 4-dimensional, not {}", first.shape.ToString());
    }
    context.SetOutputShape(0, first.shape);
    if (first.NumElements() == 0) return;
    const int64_t depth = first.shape[3];
    const int64_t pixels = first.NumElements() / depth;
    LrnSpec spec = spec_;
    spec.radius = std::min(spec.radius, depth);  // beyond the channels there is nothing to add
    float* out = context.output().as<float>();
    if (!gradient_) return RunLrn(LaunchOf(context), spec, pixels, depth, first.as<float>(), out);
    for (int i = 1; i < 3; ++i) RequireSameShape("inputs of LRNGrad", first.shape, context.input(i).shape);
    RunLrnGrad(LaunchOf(context), spec, pixels, depth, context.input(1).as<float>(),
               context.input(2).as<float>(), first.as<float>(), out);
  }

 private:
  bool gradient_;
  LrnSpec spec_;
};

class SoftmaxKernel final : public Kernel {
 public:
  explicit SoftmaxKernel(const Node& node) : log_(node.op == "LogSoftmax") {}
  void Compute(KernelContext& context) override {
    const TensorRef& x = context.input(0);
    if (x.shape.rank() < 1) Throw(Code::kInvalidArgument, "logits must have >= 1 dimension, got a scalar");
    context.SetOutputShape(0, x.shape);
    if (x.NumElements() == 0) return;
    const int64_t classes = x.shape[x.shape.rank() - 1];
    DispatchReal("Softmax", x.dtype, [&]<typename T>(T) {
      RunSoftmax<T>(LaunchOf(context), log_, x.NumElements() / classes, classes, x.as<T>(),
                    context.output().as<T>());
    });
  }

 private:
  bool log_;
};

// How an operand that may lack rows or columns is read.
Repeated StepsOf(const Shape& own) {
  const int64_t columns = own.rank() >= 1 ? own[own.rank() - 1] : 1;
  const int64_t rows = own.rank() >= 2 ? own[0] : 1;
  return {rows == 1 ? 0 : columns, columns == 1 ? 0 : 1};
}

void CrossEntropy(KernelContext& context) {
  const TensorRef& features = context.input(0);
  const TensorRef& labels = context.input(1);
  const Shape shape = BroadcastShapes(features.shape, labels.shape);
  if (shape.rank() != 2) {
    Throw(Code::kInvalidArgument,
          "logits and labels must be either 2-dimensional, or broadcasted to be 2-dimensional");
  }
  context.SetOutputShape(0, Shape{shape[0]});
  context.SetOutputShape(1, shape);
  DispatchReal("SoftmaxCrossEntropyWithLogits", features.dtype, [&]<typename T>(T) {
    RunCrossEntropy<T>(LaunchOf(context), shape[0], shape[1], features.as<T>(), StepsOf(features.shape),
                       labels.as<T>(), StepsOf(labels.shape), context.output(0).as<T>(),
                       context.output(1).as<T>());
  });
}

// A label out of range makes its row NaN, as in TensorFlow on a GPU: refusing it would make the host wait.
void SparseCrossEntropy(KernelContext& context) {
  const TensorRef& features = context.input(0);
  const TensorRef& labels = context.input(1);
  if (features.shape.rank() != 2 || labels.shape.rank() != 1 || labels.shape[0] != features.shape[0] ||
      features.shape[1] == 0) {
    Throw(
        Code::kInvalidArgument,
        "logits must be a matrix with a column for each class and a row for each label, got logits shape {} "
        "and labels shape {}",
        features.shape.ToString(), labels.shape.ToString());
  }
  context.SetOutputShape(0, labels.shape);
  context.SetOutputShape(1, features.shape);
  const int bytes = ReaderOf("SparseSoftmaxCrossEntropyWithLogits", labels).bytes;
  DispatchReal("SparseSoftmaxCrossEntropyWithLogits", features.dtype, [&]<typename T>(T) {
    RunSparseCrossEntropy<T>(LaunchOf(context), features.shape[0], features.shape[1], features.as<T>(),
                             labels.data, bytes, context.output(0).as<T>(), context.output(1).as<T>());
  });
}

}  // namespace

void RegisterNnOps(KernelRegistry& registry) {
  registry.Register("BiasAdd", MakeKernel<BiasAddKernel>);
  registry.Register("BiasAddV1", MakeKernel<BiasAddKernel>);
  registry.Register("BiasAddGrad", MakeKernel<BiasAddGradKernel>);
  registry.Register("MaxPool", MakeKernel<PoolForwardKernel<true>>);
  registry.Register("AvgPool", MakeKernel<PoolForwardKernel<false>>);
  registry.Register("MaxPoolGrad", MakeKernel<MaxPoolGradKernel>);
  registry.Register("AvgPoolGrad", MakeKernel<AvgPoolGradKernel>);
  registry.Register("LRN", MakeKernel<LrnKernel>);
  registry.Register("LRNGrad", MakeKernel<LrnKernel>);
  registry.Register("Softmax", MakeKernel<SoftmaxKernel>);
  registry.Register("LogSoftmax", MakeKernel<SoftmaxKernel>);
  registry.Register("SoftmaxCrossEntropyWithLogits", MakeFunctionKernel<CrossEntropy>);
  registry.Register("SparseSoftmaxCrossEntropyWithLogits", MakeFunctionKernel<SparseCrossEntropy>);
}

}  // namespace lanescope::exec::cuda
