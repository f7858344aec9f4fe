// SPDX-License-Identifier: Apache-2.0
#include "exec/kernels/element_wise.h"

#include <array>

#include "exec/kernels/element_wise_plan.h"

namespace lanescope::exec {

void ThrowNoLoop(const Node& node, DataType dtype) {
  Throw(Code::kUnimplemented, "node {}: {} has no kernel for {} on this device", node.name, node.op,
        DataTypeName(dtype));
}

void RunUnary(KernelContext& context, UnaryLoop loop) {
  const TensorRef& x = context.input(0);
  context.SetOutputShape(0, x.shape);
  const TensorRef& y = context.output();
  const auto in_size = static_cast<int64_t>(ElementSize(x.dtype));
  const auto out_size = static_cast<int64_t>(ElementSize(y.dtype));
  context.team().ParallelFor(x.NumElements(), kElementGrain, [&](int64_t begin, int64_t end) {
    loop(end - begin, x.as<char>() + begin * in_size, y.as<char>() + begin * out_size);
  });
}

void RunBinary(KernelContext& context, BinaryLoop loop) {
  const TensorRef& a = context.input(0);
  const TensorRef& b = context.input(1);
  const Shape shape = PlanPair(context);
  const TensorRef& y = context.output();
  const auto out_size = static_cast<int64_t>(ElementSize(y.dtype));
  const int64_t elements = shape.NumElements(), in_a = a.NumElements(), in_b = b.NumElements();
  // One run, which a plan would find, too: planning it takes as long as a thousand elements.
  if ((in_a == elements || in_a == 1) && (in_b == elements || in_b == 1)) {
    const int64_t step_a = in_a == elements ? 1 : 0, step_b = in_b == elements ? 1 : 0;
    const auto in_size = static_cast<int64_t>(ElementSize(a.dtype));
    return context.team().ParallelFor(elements, kElementGrain, [&](int64_t begin, int64_t end) {
      loop(1, end - begin, {a.as<char>() + begin * step_a * in_size, 0, step_a},
           {b.as<char>() + begin * step_b * in_size, 0, step_b}, y.as<char>() + begin * out_size);
    });
  }
  const std::array<Shape, 2> shapes = {a.shape, b.shape};
  const BroadcastPlan plan = BroadcastPlan::Make(shape, shapes);
  context.team().ParallelFor(plan.elements(), kElementGrain, [&](int64_t begin, int64_t end) {
    plan.ForEachPiece(begin, end, [&](const BroadcastPlan::Piece& piece) {
      loop(piece.rows, piece.n, OperandOf(a, piece, 0), OperandOf(b, piece, 1),
           y.as<char>() + piece.begin * out_size);
    });
  });
}

}  // namespace lanescope::exec
