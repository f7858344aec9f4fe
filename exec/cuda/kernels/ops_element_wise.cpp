// Element-wise ops: shapes and checks; the bodies are in element_wise.h.
#include <algorithm>
#include <iterator>
#include <utility>

#include "exec/cuda/kernels/access.h"
#include "exec/cuda/kernels/element_wise.h"
#include "exec/kernels/element_wise_ops.h"

namespace lanescope::exec::cuda {
namespace {

BroadcastMap<2> PairMap(const Shape& shape, const Shape& a, const Shape& b) {
  return MakeBroadcastMap<2>(shape, {a, b});
}

class UnaryKernel final : public Kernel {
 public:
  explicit UnaryKernel(const Node& node)
      : op_(FindOp(kUnaryOps, node.op)), type_(LoopTypeOf(node.op, node.TypeAttr("T"))) {
    if (HostLoops().unary[static_cast<size_t>(op_)][static_cast<size_t>(type_)] == nullptr) {
      ThrowUnsupportedType(node.op, node.TypeAttr("T"));
    }
  }
  void Compute(KernelContext& context) override {
    const TensorRef& x = context.input(0);
    context.SetOutputShape(0, x.shape);
    RunUnary(LaunchOf(context), op_, type_, x.NumElements(), x.data, context.output().data);
  }

 private:
  UnaryOp op_;
  LoopType type_;
};

class TestKernel final : public Kernel {
 public:
  explicit TestKernel(const Node& node)
      : op_(FindOp(kTestOps, node.op)), type_(LoopTypeOf(node.op, node.TypeAttr("T"))) {
    if (type_ != LoopType::kFloat && type_ != LoopType::kDouble)
      ThrowUnsupportedType(node.op, node.TypeAttr("T"));
  }
  void Compute(KernelContext& context) override {
    const TensorRef& x = context.input(0);
    context.SetOutputShape(0, x.shape);
    RunTest(LaunchOf(context), op_, type_, x.NumElements(), x.data, context.output().data);
  }

 private:
  TestOp op_;
  LoopType type_;
};

void LogicalNot(KernelContext& context) {
  const TensorRef& x = context.input(0);
  context.SetOutputShape(0, x.shape);
  RunLogicalNot(LaunchOf(context), x.NumElements(), x.data, context.output().data);
}

// Unlike on the host a zero divisor of integers is not refused: finding it would make the host wait. Its
// quotient is undefined, as in TensorFlow.
class BinaryKernel final : public Kernel {
 public:
  explicit BinaryKernel(const Node& node)
      : gradient_(std::any_of(std::begin(kGradientOps), std::end(kGradientOps),
                              [&](const auto& entry) { return entry.first == node.op; })),
        op_(gradient_ ? FindOp(kGradientOps, node.op) : FindOp(kBinaryOps, node.op)),
        type_(LoopTypeOf(node.op, node.TypeAttr("T"))) {
    if (HostLoops().binary[static_cast<size_t>(op_)][static_cast<size_t>(type_)] == nullptr) {
      ThrowUnsupportedType(node.op, node.TypeAttr("T"));
    }
  }
  void Compute(KernelContext& context) override {
    const TensorRef& a = context.input(0);
    const TensorRef& b = context.input(1);
    if (gradient_) RequireSameShape("both inputs", a.shape, b.shape);
    const Shape shape = a.shape == b.shape ? a.shape : BroadcastShapes(a.shape, b.shape);
    context.SetOutputShape(0, shape);
    RunBinary(LaunchOf(context), op_, type_, PairMap(shape, a.shape, b.shape), a.data, b.data,
              context.output().data);
  }

 private:
  bool gradient_;
  BinaryOp op_;
  LoopType type_;
};

class CompareKernel final : public Kernel {
 public:
  explicit CompareKernel(const Node& node) : op_(FindOp(kCompareOps, node.op)), dtype_(node.TypeAttr("T")) {
    const bool equality = op_ == CompareOp::kEqual || op_ == CompareOp::kNotEqual;
    bytes_ = equality && ElementSize(dtype_) == 1;
    mismatch_allowed_ = equality && !node.BoolAttr("incompatible_shape_error", true);
    if (!bytes_) type_ = LoopTypeOf(node.op, dtype_);
  }

  void Compute(KernelContext& context) override {
    const TensorRef& a = context.input(0);
    const TensorRef& b = context.input(1);
    Launch& launch = LaunchOf(context);
    // Two tensors whose shapes do not fit are simply not equal, where the graph asks for that.
    if (mismatch_allowed_ && !CanBroadcast(a.shape, b.shape)) {
      context.SetOutputShape(0, Shape{});
      const BroadcastMap<2> one = PairMap(Shape{}, Shape{}, Shape{});
      // An element never differs from itself: "differs" writes false, "same" true.
      const ByteOp op = op_ == CompareOp::kEqual ? ByteOp::kDiffer : ByteOp::kSame;
      const void* any = context.output().data;
      RunBytes(launch, op, one, any, any, context.output().data);
      return;
    }
    const Shape shape = BroadcastShapes(a.shape, b.shape);
    context.SetOutputShape(0, shape);
    const BroadcastMap<2> map = PairMap(shape, a.shape, b.shape);
    if (bytes_) {
      const ByteOp op = op_ == CompareOp::kEqual ? ByteOp::kSame : ByteOp::kDiffer;
      RunBytes(launch, op, map, a.data, b.data, context.output().data);
    } else {
      RunCompare(launch, op_, type_, map, a.data, b.data, context.output().data);
    }
  }

 private:
  static bool CanBroadcast(const Shape& a, const Shape& b) {
    for (int back = 1; back <= std::min(a.rank(), b.rank()); ++back) {
      const int64_t left = a[a.rank() - back];
      const int64_t right = b[b.rank() - back];
      if (left != right && left != 1 && right != 1) return false;
    }
    return true;
  }

  CompareOp op_;
  DataType dtype_;
  LoopType type_ = LoopType::kFloat;
  bool bytes_ = false;
  bool mismatch_allowed_ = false;
};

template <ByteOp op>
void Logical(KernelContext& context) {
  const TensorRef& a = context.input(0);
  const TensorRef& b = context.input(1);
  const Shape shape = BroadcastShapes(a.shape, b.shape);
  context.SetOutputShape(0, shape);
  RunBytes(LaunchOf(context), op, PairMap(shape, a.shape, b.shape), a.data, b.data, context.output().data);
}

class ApproximateEqualKernel final : public Kernel {
 public:
  explicit ApproximateEqualKernel(const Node& node)
      : type_(LoopTypeOf(node.op, node.TypeAttr("T"))), tolerance_(node.FloatAttr("tolerance", 1e-5f)) {
    if (type_ != LoopType::kFloat && type_ != LoopType::kDouble)
      ThrowUnsupportedType(node.op, node.TypeAttr("T"));
  }
  void Compute(KernelContext& context) override {
    const TensorRef& a = context.input(0);
    RequireSameShape("x and y", a.shape, context.input(1).shape);
    context.SetOutputShape(0, a.shape);
    RunApproximateEqual(LaunchOf(context), type_, tolerance_, a.NumElements(), a.data, context.input(1).data,
                        context.output().data);
  }

 private:
  LoopType type_;
  float tolerance_;
};

class LeakyKernel final : public Kernel {
 public:
  explicit LeakyKernel(const Node& node)
      : gradient_(node.op == "LeakyReluGrad"),
        alpha_(node.FloatAttr("alpha", 0.2f)),
        type_(LoopTypeOf(node.op, node.TypeAttr("T"))) {
    if (type_ != LoopType::kFloat && type_ != LoopType::kDouble)
      ThrowUnsupportedType(node.op, node.TypeAttr("T"));
  }
  void Compute(KernelContext& context) override {
    const TensorRef& x = context.input(0);
    context.SetOutputShape(0, x.shape);
    void* y = context.output().data;
    if (!gradient_) return RunLeakyRelu(LaunchOf(context), type_, alpha_, x.NumElements(), x.data, y);
    RequireSameShape("gradients and features", x.shape, context.input(1).shape);
    RunLeakyReluGrad(LaunchOf(context), type_, alpha_, x.NumElements(), x.data, context.input(1).data, y);
  }

 private:
  bool gradient_;
  float alpha_;
  LoopType type_;
};

// The condition broadcasts under `condition_shape`.
void RunSelectOp(KernelContext& context, const Shape& condition_shape, const Shape& shape) {
  const TensorRef& a = context.input(1);
  const TensorRef& b = context.input(2);
  context.SetOutputShape(0, shape);
  if (ElementBytes(a.dtype) > 8) ThrowUnsupportedType("Select", a.dtype);
  const auto map = MakeBroadcastMap<3>(shape, {condition_shape, a.shape, b.shape});
  RunSelect(LaunchOf(context), ElementBytes(a.dtype), map, context.input(0).data, a.data, b.data,
            context.output().data);
}

// Select: both values of one shape; the condition of that shape, a scalar, or a vector over the first
// dimension.
void Select(KernelContext& context) {
  const Shape& condition = context.input(0).shape;
  const Shape& shape = context.input(1).shape;
  RequireSameShape("'then' and 'else'", shape, context.input(2).shape);
  Shape as_rows = condition;
  const bool vector = condition.rank() == 1 && shape.rank() > 0 && condition[0] == shape[0];
  if (!(condition == shape) && condition.rank() != 0 && !vector) {
    Throw(Code::kInvalidArgument, "a condition of shape {} does not match values of shape {}",
          condition.ToString(), shape.ToString());
  }
  while (as_rows.rank() > 0 && as_rows.rank() < shape.rank()) as_rows.Append(1);
  RunSelectOp(context, as_rows, shape);
}

void SelectV2(KernelContext& context) {
  const Shape values = BroadcastShapes(context.input(1).shape, context.input(2).shape);
  RunSelectOp(context, context.input(0).shape, BroadcastShapes(context.input(0).shape, values));
}

void ClipByValue(KernelContext& context) {
  const TensorRef& t = context.input(0);
  std::array<Shape, 3> shapes = {t.shape, context.input(1).shape, context.input(2).shape};
  for (size_t k = 1; k < 3; ++k) {
    if (shapes[k].NumElements() == 1) shapes[k] = Shape{};
    if (shapes[k].rank() != 0) RequireSameShape("a limit of clip_by_value and its input", shapes[k], t.shape);
  }
  context.SetOutputShape(0, t.shape);
  RunClip(LaunchOf(context), LoopTypeOf("ClipByValue", t.dtype), MakeBroadcastMap<3>(t.shape, shapes), t.data,
          context.input(1).data, context.input(2).data, context.output().data);
}

class CastKernel final : public Kernel {
 public:
  explicit CastKernel(const Node& node)
      : from_(IndexOf(node.TypeAttr("SrcT"))), to_(IndexOf(node.TypeAttr("DstT"))) {}
  void Compute(KernelContext& context) override {
    const TensorRef& x = context.input(0);
    context.SetOutputShape(0, x.shape);
    RunCast(LaunchOf(context), from_, to_, x.NumElements(), x.data, context.output().data);
  }

 private:
  static size_t IndexOf(DataType dtype) {
    const auto* found = std::find(std::begin(kCastTypes), std::end(kCastTypes), dtype);
    if (found == std::end(kCastTypes)) ThrowUnsupportedType("Cast", dtype);
    return static_cast<size_t>(found - std::begin(kCastTypes));
  }
  size_t from_;
  size_t to_;
};

void AddN(KernelContext& context) {
  const TensorRef& first = context.input(0);
  std::vector<const void*> inputs;
  for (int i = 0; i < context.num_inputs(); ++i) {
    RequireSameShape("inputs to AddN", first.shape, context.input(i).shape);
    inputs.push_back(context.input(i).data);
  }
  context.SetOutputShape(0, first.shape);
  RunAddN(LaunchOf(context), LoopTypeOf("AddN", first.dtype), first.NumElements(), inputs.data(),
          context.num_inputs(), context.output().data);
}

}  // namespace

void RegisterElementWiseOps(KernelRegistry& registry) {
  for (const auto& [name, op] : kUnaryOps) registry.Register(std::string(name), MakeKernel<UnaryKernel>);
  for (const auto& [name, op] : kTestOps) registry.Register(std::string(name), MakeKernel<TestKernel>);
  for (const auto& [name, op] : kBinaryOps) registry.Register(std::string(name), MakeKernel<BinaryKernel>);
  for (const auto& [name, op] : kGradientOps) registry.Register(std::string(name), MakeKernel<BinaryKernel>);
  for (const auto& [name, op] : kCompareOps) registry.Register(std::string(name), MakeKernel<CompareKernel>);
  registry.Register("LogicalNot", MakeFunctionKernel<LogicalNot>);
  registry.Register("LogicalAnd", MakeFunctionKernel<Logical<ByteOp::kAnd>>);
  registry.Register("LogicalOr", MakeFunctionKernel<Logical<ByteOp::kOr>>);
  registry.Register("ApproximateEqual", MakeKernel<ApproximateEqualKernel>);
  registry.Register("LeakyRelu", MakeKernel<LeakyKernel>);
  registry.Register("LeakyReluGrad", MakeKernel<LeakyKernel>);
  registry.Register("Select", MakeFunctionKernel<Select>);
  registry.Register("SelectV2", MakeFunctionKernel<SelectV2>);
  registry.Register("ClipByValue", MakeFunctionKernel<ClipByValue>);
  registry.Register("Cast", MakeKernel<CastKernel>);
  registry.Register("AddN", MakeFunctionKernel<AddN>);
  registry.Register("AccumulateNV2", MakeFunctionKernel<AddN>);
}

}  // namespace lanescope::exec::cuda
