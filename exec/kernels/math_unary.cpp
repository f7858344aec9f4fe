#include <utility>

#include "exec/kernels/element_wise.h"

namespace lanescope::exec {
namespace {

constexpr std::pair<std::string_view, UnaryOp> kUnaryOps[] = {
    {"Abs", UnaryOp::kAbs},          {"Neg", UnaryOp::kNeg},
    {"Sign", UnaryOp::kSign},        {"Square", UnaryOp::kSquare},
    {"Sqrt", UnaryOp::kSqrt},        {"Rsqrt", UnaryOp::kRsqrt},
    {"Inv", UnaryOp::kReciprocal},   {"Reciprocal", UnaryOp::kReciprocal},
    {"Exp", UnaryOp::kExp},          {"Expm1", UnaryOp::kExpm1},
    {"Log", UnaryOp::kLog},          {"Log1p", UnaryOp::kLog1p},
    {"Tanh", UnaryOp::kTanh},        {"Sigmoid", UnaryOp::kSigmoid},
    {"Erf", UnaryOp::kErf},          {"Erfc", UnaryOp::kErfc},
    {"Floor", UnaryOp::kFloor},      {"Ceil", UnaryOp::kCeil},
    {"Round", UnaryOp::kRound},      {"Rint", UnaryOp::kRound},
    {"Sin", UnaryOp::kSin},          {"Cos", UnaryOp::kCos},
    {"Tan", UnaryOp::kTan},          {"Asin", UnaryOp::kAsin},
    {"Acos", UnaryOp::kAcos},        {"Atan", UnaryOp::kAtan},
    {"Sinh", UnaryOp::kSinh},        {"Cosh", UnaryOp::kCosh},
    {"Asinh", UnaryOp::kAsinh},      {"Acosh", UnaryOp::kAcosh},
    {"Atanh", UnaryOp::kAtanh},      {"Lgamma", UnaryOp::kLgamma},
    {"Invert", UnaryOp::kInvert},    {"Relu", UnaryOp::kRelu},
    {"Relu6", UnaryOp::kRelu6},      {"Elu", UnaryOp::kElu},
    {"Selu", UnaryOp::kSelu},        {"Softplus", UnaryOp::kSoftplus},
    {"Softsign", UnaryOp::kSoftsign}};

constexpr std::pair<std::string_view, TestOp> kTestOps[] = {
    {"IsNan", TestOp::kIsNan}, {"IsInf", TestOp::kIsInf}, {"IsFinite", TestOp::kIsFinite}};

class UnaryKernel final : public Kernel {
 public:
  explicit UnaryKernel(UnaryLoop loop) : loop_(loop) {}
  void Compute(KernelContext& context) override { RunUnary(context, loop_); }

 private:
  UnaryLoop loop_;
};

UnaryLoop FindLoop(const Node& node, LoopType type) {
  for (const auto& [name, op] : kUnaryOps) {
    if (name == node.op) return HostLoops().unary[static_cast<size_t>(op)][static_cast<size_t>(type)];
  }
  for (const auto& [name, op] : kTestOps) {
    if (name == node.op) return HostLoops().test[static_cast<size_t>(op)][static_cast<size_t>(type)];
  }
  return nullptr;
}

std::unique_ptr<Kernel> MakeUnary(const Node& node) {
  const DataType dtype = node.TypeAttr("T");
  const UnaryLoop loop = FindLoop(node, LoopTypeOf(node.op, dtype));
  if (loop == nullptr) ThrowNoLoop(node, dtype);
  return std::make_unique<UnaryKernel>(loop);
}

std::unique_ptr<Kernel> MakeLogicalNot(const Node&) {
  return std::make_unique<UnaryKernel>(HostLoops().logical_not);
}

}  // namespace

void RegisterUnaryKernels(KernelRegistry& registry) {
  for (const auto& [name, op] : kUnaryOps) registry.Register(std::string(name), MakeUnary);
  for (const auto& [name, op] : kTestOps) registry.Register(std::string(name), MakeUnary);
  registry.Register("LogicalNot", MakeLogicalNot);
}

}  // namespace lanescope::exec
