// SPDX-License-Identifier: Apache-2.0
// Element-wise ops: shapes and checks; the bodies are in element_wise.h.
#include <algorithm>
#include <iterator>
#include <utility>

#include "exec/cuda/kernels/access.h"
#include "exec/cuda/kernels/element_wise.h"
#include "exec/kernels/element_wise.h"
#include "exec/kernels/element_wise_plan.h"

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
      ThrowNoLoop(node, node.TypeAttr("T"));
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
      : same_(node),
        gradient_(std::any_of(std::begin(kGradientOps), std::end(kGradientOps),
                              [&](const auto& entry) { return entry.first == node.op; })),
        op_(gradient_ ? FindOp(kGradientOps, node.op) : FindOp(kBinaryOps, node.op)),
        type_(LoopTypeOf(node.op, node.TypeAttr("T"))) {
    if (HostLoops().binary[static_cast<size_t>(op_)][static_cast<size_t>(type_)] == nullptr) {
      ThrowNoLoop(node, node.TypeAttr("T"));
    }
  }
  void Compute(KernelContext& context) override {
    const TensorRef& a = context.input(0);
    const TensorRef& b = context.input(1);
    const Shape shape = gradient_ ? same_.Plan(context) : PlanPair(context);
    RunBinary(LaunchOf(context), op_, type_, PairMap(shape, a.shape, b.shape), a.data, b.data,
              context.output().data);
  }

 private:
  SameShapesOp same_;
  bool gradient_;
  BinaryOp op_;
  LoopType type_;
};

class CompareKernel final : public Kernel {
 public:
  explicit CompareKernel(const Node& node) : rule_(node), op_(rule_.op()) {
    const DataType dtype = node.TypeAttr("T");
    bytes_ = (op_ == CompareOp::kEqual || op_ == CompareOp::kNotEqual) && ElementSize(dtype) == 1;
    if (!bytes_) type_ = LoopTypeOf(node.op, dtype);
  }

  void Compute(KernelContext& context) override {
    const TensorRef& a = context.input(0);
    const TensorRef& b = context.input(1);
    Launch& launch = LaunchOf(context);
    if (rule_.AreUnequal(context)) {
      context.SetOutputShape(0, Shape{});
      const BroadcastMap<2> one = PairMap(Shape{}, Shape{}, Shape{});
      // An element never differs from itself: "differs" writes false, "same" true.
      const ByteOp op = op_ == CompareOp::kEqual ? ByteOp::kDiffer : ByteOp::kSame;
      const void* any = context.output().data;
      RunBytes(launch, op, one, any, any, context.output().data);
      return;
    }
    const Shape shape = PlanPair(context);
    const BroadcastMap<2> map = PairMap(shape, a.shape, b.shape);
    if (bytes_) {
      const ByteOp op = op_ == CompareOp::kEqual ? ByteOp::kSame : ByteOp::kDiffer;
      RunBytes(launch, op, map, a.data, b.data, context.output().data);
    } else {
      RunCompare(launch, op_, type_, map, a.data, b.data, context.output().data);
    }
  }

 private:
  CompareOpRule rule_;
  CompareOp op_;
  LoopType type_ = LoopType::kFloat;
  bool bytes_ = false;
};

template <ByteOp op>
void Logical(KernelContext& context) {
  const TensorRef& a = context.input(0);
  const TensorRef& b = context.input(1);
  const Shape shape = PlanPair(context);
  RunBytes(LaunchOf(context), op, PairMap(shape, a.shape, b.shape), a.data, b.data, context.output().data);
}

void CompareNear(KernelContext& context, float tolerance) {
  const TensorRef& a = context.input(0);
  const LoopType type = LoopTypeOf("ApproximateEqual", a.dtype);
  if (type != LoopType::kFloat && type != LoopType::kDouble)
    ThrowUnsupportedType("ApproximateEqual", a.dtype);
  RunApproximateEqual(LaunchOf(context), type, tolerance, a.NumElements(), a.data, context.input(1).data,
                      context.output().data);
}

class LeakyKernel final : public Kernel {
 public:
  explicit LeakyKernel(const Node& node)
      : same_(node),
        gradient_(node.op == "LeakyReluGrad"),
        alpha_(node.FloatAttr("alpha", 0.2f)),
        type_(LoopTypeOf(node.op, node.TypeAttr("T"))) {
    if (type_ != LoopType::kFloat && type_ != LoopType::kDouble)
      ThrowUnsupportedType(node.op, node.TypeAttr("T"));
  }
  void Compute(KernelContext& context) override {
    const TensorRef& x = context.input(0);
    same_.Plan(context);
    void* y = context.output().data;
    if (!gradient_) return RunLeakyRelu(LaunchOf(context), type_, alpha_, x.NumElements(), x.data, y);
    RunLeakyReluGrad(LaunchOf(context), type_, alpha_, x.NumElements(), x.data, context.input(1).data, y);
  }

 private:
  SameShapesOp same_;
  bool gradient_;
  float alpha_;
  LoopType type_;
};

void SelectElements(KernelContext& context, const TriplePlan& plan) {
  const TensorRef& a = context.input(1);
  if (ElementBytes(a.dtype) > 8) ThrowUnsupportedType("Select", a.dtype);
  RunSelect(LaunchOf(context), ElementBytes(a.dtype), MakeBroadcastMap<3>(plan.shape, plan.operands),
            context.input(0).data, a.data, context.input(2).data, context.output().data);
}

void ClipElements(KernelContext& context, const TriplePlan& plan) {
  const TensorRef& t = context.input(0);
  RunClip(LaunchOf(context), LoopTypeOf("ClipByValue", t.dtype),
          MakeBroadcastMap<3>(plan.shape, plan.operands), t.data, context.input(1).data,
          context.input(2).data, context.output().data);
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

void AddAll(KernelContext& context, const Shape& shape) {
  std::vector<const void*> inputs;
  for (int i = 0; i < context.num_inputs(); ++i) inputs.push_back(context.input(i).data);
  RunAddN(LaunchOf(context), LoopTypeOf("AddN", context.input(0).dtype), shape.NumElements(), inputs.data(),
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
  RegisterOp<ApproximateEqualOp, CompareNear>(registry, "ApproximateEqual");
  registry.Register("LeakyRelu", MakeKernel<LeakyKernel>);
  registry.Register("LeakyReluGrad", MakeKernel<LeakyKernel>);
  RegisterOp<PlanSelect, SelectElements>(registry, "Select");
  RegisterOp<PlanSelectV2, SelectElements>(registry, "SelectV2");
  RegisterOp<PlanClip, ClipElements>(registry, "ClipByValue");
  registry.Register("Cast", MakeKernel<CastKernel>);
  for (const char* op : {"AddN", "AccumulateNV2"}) RegisterOp<SameShapesOp, AddAll>(registry, op);
}

}  // namespace lanescope::exec::cuda
