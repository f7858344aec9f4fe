// Reductions, ArgMax, running sums, TopK.
#include "exec/cuda/kernels/access.h"
#include "exec/cuda/kernels/reduce.h"

namespace lanescope::exec::cuda {
namespace {

using Gone = std::array<bool, Shape::kMaxRank>;

// The axes are in host memory.
Gone AxesOf(const TensorRef& axes, int rank) {
  Gone gone{};
  for (const int64_t axis : ReadInts(axes)) {
    if (axis < -rank || axis >= rank) {
      Throw(Code::kInvalidArgument, "Invalid reduction dimension ({} for input with {} dimension(s))", axis,
            rank);
    }
    bool& at = gone[static_cast<size_t>(axis < 0 ? axis + rank : axis)];
    if (at) {
      Throw(Code::kInvalidArgument, "Invalid reduction arguments: Axes contains duplicate dimension: {}",
            axis);
    }
    at = true;
  }
  return gone;
}

class ReductionKernel final : public Kernel {
 public:
  explicit ReductionKernel(const Node& node) : keep_dims_(node.BoolAttr("keep_dims", false)) {
    logical_ = node.op == "Any" || node.op == "All";
    mean_ = node.op == "Mean";
    if (node.op == "Prod") spec_.op = ReduceOp::kProd;
    if (node.op == "Max" || node.op == "Any") spec_.op = ReduceOp::kMax;
    if (node.op == "Min" || node.op == "All") spec_.op = ReduceOp::kMin;
    if (node.op == "EuclideanNorm") spec_.op = ReduceOp::kSumSquares;
    if (node.op == "EuclideanNorm") spec_.finish = Finish::kSquareRoot;
    if (!logical_) LoopTypeOf(node.op, node.TypeAttr("T"));
    if (spec_.finish == Finish::kSquareRoot && ElementSize(node.TypeAttr("T")) < 4) {
      ThrowUnsupportedType(node.op, node.TypeAttr("T"));
    }
  }

  void Compute(KernelContext& context) override {
    const TensorRef& x = context.input(0);
    const Gone gone = AxesOf(context.input(1), x.shape.rank());
    Shape shape;
    int64_t count = 1;
    for (int d = 0; d < x.shape.rank(); ++d) {
      if (!gone[static_cast<size_t>(d)]) {
        shape.Append(x.shape[d]);
        continue;
      }
      count *= x.shape[d];
      if (keep_dims_) shape.Append(1);
    }
    context.SetOutputShape(0, shape);
    ReduceSpec spec = spec_;
    if (mean_) {
      spec.finish = Finish::kDivide;
      spec.divisor = count;
    }
    RunReduce(LaunchOf(context), spec, x.dtype, x.shape, gone, x.data, context.output().data);
  }

 private:
  ReduceSpec spec_;
  bool keep_dims_;
  bool logical_ = false;
  bool mean_ = false;
};

// sum(x^2) / 2
class L2LossKernel final : public Kernel {
 public:
  explicit L2LossKernel(const Node& node) { LoopTypeOf(node.op, node.TypeAttr("T")); }
  void Compute(KernelContext& context) override {
    const TensorRef& x = context.input(0);
    context.SetOutputShape(0, Shape{});
    Gone all;
    all.fill(true);
    const ReduceSpec spec{ReduceOp::kSumSquares, Finish::kDivide, 2};
    RunReduce(LaunchOf(context), spec, x.dtype, x.shape, all, x.data, context.output().data);
  }
};

class ArgKernel final : public Kernel {
 public:
  explicit ArgKernel(const Node& node) : largest_(node.op == "ArgMax") {
    LoopTypeOf(node.op, node.TypeAttr("T"));
  }
  void Compute(KernelContext& context) override {
    const TensorRef& x = context.input(0);
    const int rank = x.shape.rank();
    const int axis = NormalizeAxis(ReadInt(context.input(1), "dimension"), rank);
    Shape shape = x.shape;
    shape.Erase(axis);
    if (x.shape[axis] == 0 && shape.NumElements() > 0) {
      Throw(Code::kInvalidArgument, "Reduction axis {} is empty in shape {}", axis, x.shape.ToString());
    }
    context.SetOutputShape(0, shape);
    RunArg(LaunchOf(context), largest_, x.dtype, SizeOfDims(x.shape, 0, axis), x.shape[axis],
           SizeOfDims(x.shape, axis + 1, rank), x.data, static_cast<int>(ElementSize(context.output().dtype)),
           context.output().data);
  }

 private:
  bool largest_;
};

class ScanKernel final : public Kernel {
 public:
  explicit ScanKernel(const Node& node)
      : spec_{node.op == "Cumprod", node.BoolAttr("exclusive", false), node.BoolAttr("reverse", false)} {}
  void Compute(KernelContext& context) override {
    const TensorRef& x = context.input(0);
    const int axis = NormalizeAxis(ReadInt(context.input(1), "axis"), x.shape.rank());
    context.SetOutputShape(0, x.shape);
    RunScan(LaunchOf(context), spec_, LoopTypeOf("Cumsum", x.dtype), SizeOfDims(x.shape, 0, axis),
            x.shape[axis], SizeOfDims(x.shape, axis + 1, x.shape.rank()), x.data, context.output().data);
  }

 private:
  ScanSpec spec_;
};

class TopKKernel final : public Kernel {
 public:
  explicit TopKKernel(const Node& node) : k_(node.IntAttr("k", -1)) {}
  void Compute(KernelContext& context) override {
    const TensorRef& x = context.input(0);
    const int64_t k = context.num_inputs() == 2 ? ReadInt(context.input(1), "k") : k_;
    const int rank = x.shape.rank();
    if (k < 0) Throw(Code::kInvalidArgument, "Need k >= 0, got {}", k);
    if (rank < 1 || x.shape[rank - 1] < k) {
      Throw(Code::kInvalidArgument, "input must have at least k = {} columns, but its shape is {}", k,
            x.shape.ToString());
    }
    Shape shape = x.shape;
    shape.set_dim(rank - 1, k);
    ShapeOutput(context, 0, shape);
    ShapeOutput(context, 1, shape);
    if (shape.NumElements() == 0) return;
    const int64_t columns = x.shape[rank - 1];
    RunTopK(LaunchOf(context), LoopTypeOf("TopK", x.dtype), x.NumElements() / columns, columns, k, x.data,
            context.output(0).data, context.output(1).as<int32_t>());
  }

 private:
  int64_t k_;
};

void InTopK(KernelContext& context) {
  const TensorRef& predictions = context.input(0);
  const TensorRef& targets = context.input(1);
  if (predictions.shape.rank() != 2 || targets.shape.rank() != 1 ||
      targets.shape[0] != predictions.shape[0]) {
    Throw(Code::kInvalidArgument, "predictions {} must be a matrix with a row for each of the targets {}",
          predictions.shape.ToString(), targets.shape.ToString());
  }
  RequireScalar("k", context.input(2));
  ShapeOutput(context, 0, targets.shape);
  const int bytes = ReaderOf("InTopKV2", targets).bytes;
  RunInTopK(LaunchOf(context), targets.shape[0], predictions.shape[1], bytes, predictions.as<float>(),
            targets.data, context.input(2).data, context.output().as<bool>());
}

}  // namespace

void RegisterReductionOps(KernelRegistry& registry) {
  for (const char* op : {"Sum", "Mean", "Prod", "Max", "Min", "EuclideanNorm", "Any", "All"}) {
    registry.Register(op, MakeKernel<ReductionKernel>);
  }
  registry.Register("L2Loss", MakeKernel<L2LossKernel>);
  registry.Register("ArgMax", MakeKernel<ArgKernel>);
  registry.Register("ArgMin", MakeKernel<ArgKernel>);
  registry.Register("Cumsum", MakeKernel<ScanKernel>);
  registry.Register("Cumprod", MakeKernel<ScanKernel>);
  registry.Register("TopK", MakeKernel<TopKKernel>);
  registry.Register("TopKV2", MakeKernel<TopKKernel>);
  registry.Register("InTopKV2", MakeFunctionKernel<InTopK>);
}

}  // namespace lanescope::exec::cuda
