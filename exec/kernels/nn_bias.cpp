// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "exec/kernels/element_wise.h"
#include "exec/kernels/nn.h"
#include "exec/kernels/reduce.h"

namespace lanescope::exec {

void HostLayers::AddBias(KernelContext& context, const BiasPlan& plan) {
  const TensorRef& x = context.input(0);
  const TensorRef& bias = context.input(1);
  const TensorRef& y = context.output();
  const BinaryLoop add =
      HostLoops().binary[static_cast<size_t>(BinaryOp::kAdd)][static_cast<size_t>(plan.type)];
  const std::array<Shape, 2> shapes = {x.shape, plan.bias};
  const BroadcastPlan broadcast = BroadcastPlan::Make(x.shape, shapes);
  const auto size = static_cast<int64_t>(ElementSize(y.dtype));
  context.team().ParallelFor(broadcast.elements(), kElementGrain, [&](int64_t begin, int64_t end) {
    broadcast.ForEachPiece(begin, end, [&](const BroadcastPlan::Piece& piece) {
      add(piece.rows, piece.n, OperandOf(x, piece, 0), OperandOf(bias, piece, 1),
          y.as<char>() + piece.begin * size);
    });
  });
}

void HostLayers::SumBias(KernelContext& context, const BiasPlan& plan) {
  const TensorRef& dy = context.input(0);
  ReducedDims reduced;
  reduced.fill(true);
  reduced[static_cast<size_t>(plan.channel)] = false;
  ReduceTensor(context.team(), ReduceOp::kSum, plan.type, static_cast<int64_t>(ElementSize(dy.dtype)),
               dy.shape, reduced, dy.data, context.output().data);
}

}  // namespace lanescope::exec
