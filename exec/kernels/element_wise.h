// SPDX-License-Identifier: Apache-2.0
// Element-wise kernels: from the loops' tables and the operands' shapes to blocks for the workers.
#pragma once

#include <array>
#include <string_view>

#include "exec/kernels/broadcast.h"
#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {

// Throws Unimplemented when a table has no loop for the type.
[[noreturn]] void ThrowNoLoop(const Node& node, DataType dtype);

// One of both: all that a kernel does once shapes are known, and nothing in its operands can make it fail.
struct ElementLoop {
  UnaryLoop unary = nullptr;
  BinaryLoop binary = nullptr;

  bool exists() const { return unary != nullptr || binary != nullptr; }
};
// Kernels that may have such a loop. Who knows the shapes calls it without planning a launch: launches of
// several nodes do, block after block.
class LoopKernel : public Kernel {
 public:
  virtual ElementLoop OnlyLoop() const = 0;
};

// output(0) = loop(input(0)), element by element.
void RunUnary(KernelContext& context, UnaryLoop loop);
// output(0) = loop(input(0), input(1)) with broadcasting.
void RunBinary(KernelContext& context, BinaryLoop loop);
// `tensor` from element `offset` on, as an operand of the piece.
inline Operand OperandOf(const TensorRef& tensor, const BroadcastPlan::Piece& piece, size_t k) {
  const auto bytes = static_cast<int64_t>(ElementSize(tensor.dtype));
  return {static_cast<const char*>(tensor.data) + piece.offset[k] * bytes, piece.row[k], piece.step[k]};
}

// Calls fn(output element, element of a, element of b) for every element of the broadcast shape; for types
// without loops.
template <typename Fn>
void ForEachPair(const Shape& shape, const Shape& a, const Shape& b, const Fn& fn) {
  const std::array<Shape, 2> shapes = {a, b};
  const BroadcastPlan plan = BroadcastPlan::Make(shape, shapes);
  plan.ForEachPiece(0, plan.elements(), [&](const BroadcastPlan::Piece& piece) {
    for (int64_t k = 0; k < piece.rows * piece.n; ++k) {
      const int64_t row = k / piece.n;
      const int64_t i = k % piece.n;
      fn(piece.begin + k, piece.offset[0] + row * piece.row[0] + i * piece.step[0],
         piece.offset[1] + row * piece.row[1] + i * piece.step[1]);
    }
  });
}

// Parts of RegisterMathKernels.
void RegisterUnaryKernels(KernelRegistry& registry);
void RegisterBinaryKernels(KernelRegistry& registry);
void RegisterCompareKernels(KernelRegistry& registry);
void RegisterSelectKernels(KernelRegistry& registry);
void RegisterCastKernels(KernelRegistry& registry);
void RegisterAddNKernels(KernelRegistry& registry);
void RegisterWireKernels(KernelRegistry& registry);

}  // namespace lanescope::exec
