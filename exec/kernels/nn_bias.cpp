#include <array>

#include "exec/kernels/element_wise.h"
#include "exec/kernels/nn.h"
#include "exec/kernels/reduce.h"
#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {
namespace {

bool ChannelsFirst(const Node& node) {
  const std::string format = node.StringAttr("data_format", "NHWC");
  if (format != "NHWC" && format != "NCHW") {
    Throw(Code::kInvalidArgument, "node {}: data_format {} is neither NHWC nor NCHW", node.name, format);
  }
  return format == "NCHW";
}

class BiasAddKernel final : public Kernel {
 public:
  explicit BiasAddKernel(const Node& node)
      : channels_first_(node.op == "BiasAdd" && ChannelsFirst(node)),
        add_(HostLoops().binary[static_cast<size_t>(BinaryOp::kAdd)]
                               [static_cast<size_t>(LoopTypeOf(node.op, node.TypeAttr("T")))]) {}

  void Compute(KernelContext& context) override {
    const TensorRef& x = context.input(0);
    const TensorRef& bias = context.input(1);
    const int rank = x.shape.rank();
    if (rank < 2) Throw(Code::kInvalidArgument, "Input tensor must be at least 2D: {}", x.shape.ToString());
    const int channel = channels_first_ ? 1 : rank - 1;
    if (bias.shape.rank() != 1 || bias.shape[0] != x.shape[channel]) {
      Throw(Code::kInvalidArgument, "Must provide as many biases as channels: {} vs. {}",
            bias.shape.ToString(), x.shape.ToString());
    }
    context.SetOutputShape(0, x.shape);
    const TensorRef& y = context.output();
    Shape spread = bias.shape;
    for (int i = channel + 1; i < rank; ++i) spread.Append(1);
    const std::array<Shape, 2> shapes = {x.shape, spread};
    const BroadcastPlan plan = BroadcastPlan::Make(x.shape, shapes);
    const auto size = static_cast<int64_t>(ElementSize(y.dtype));
    context.team().ParallelFor(plan.elements(), kElementGrain, [&](int64_t begin, int64_t end) {
      plan.ForEachPiece(begin, end, [&](const BroadcastPlan::Piece& piece) {
        add_(piece.rows, piece.n, OperandOf(x, piece, 0), OperandOf(bias, piece, 1),
             y.as<char>() + piece.begin * size);
      });
    });
  }

 private:
  bool channels_first_;
  BinaryLoop add_;
};

class BiasAddGradKernel final : public Kernel {
 public:
  explicit BiasAddGradKernel(const Node& node)
      : channels_first_(ChannelsFirst(node)), type_(LoopTypeOf(node.op, node.TypeAttr("T"))) {}

  void Compute(KernelContext& context) override {
    const TensorRef& dy = context.input(0);
    const int rank = dy.shape.rank();
    if (rank < 2) Throw(Code::kInvalidArgument, "Input tensor must be at least 2D: {}", dy.shape.ToString());
    const int channel = channels_first_ ? 1 : rank - 1;
    ReducedDims reduced;
    reduced.fill(true);
    reduced[static_cast<size_t>(channel)] = false;
    context.SetOutputShape(0, Shape{dy.shape[channel]});
    ReduceTensor(context.team(), ReduceOp::kSum, type_, static_cast<int64_t>(ElementSize(dy.dtype)), dy.shape,
                 reduced, dy.data, context.output().data);
  }

 private:
  bool channels_first_;
  LoopType type_;
};

}  // namespace

void RegisterBiasKernels(KernelRegistry& registry) {
  registry.Register("BiasAdd", MakeKernel<BiasAddKernel>);
  registry.Register("BiasAddV1", MakeKernel<BiasAddKernel>);
  registry.Register("BiasAddGrad", MakeKernel<BiasAddGradKernel>);
}

}  // namespace lanescope::exec
