// SPDX-License-Identifier: Apache-2.0
// Einsum on host memory.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "exec/kernels/broadcast.h"
#include "exec/kernels/depthwise.h"
#include "exec/kernels/einsum_plan.h"
#include "exec/kernels/product.h"
#include "exec/kernels/strided_copy.h"

namespace lanescope::exec {
namespace {

void Turn(const EinsumPlan& plan, DataType dtype, const std::string& from, const std::string& to,
          const void* source, void* destination, WorkerTeam& team) {
  StridedCopy copy;
  plan.ForEachDim(from, to, [&](int64_t extent, int64_t stride_to, int64_t stride_from) {
    copy.AddDim(extent, stride_to, stride_from);
  });
  copy.Run(dtype, destination, source, team);
}

// The result from what was made: elsewhere than on its diagonals it is zero.
void TurnResult(KernelContext& context, const EinsumPlan& plan, const std::string& from, const void* made) {
  const TensorRef& output = context.output();
  if (plan.has_diagonal()) {
    const auto bytes = output.NumElements() * static_cast<int64_t>(ElementSize(output.dtype));
    std::memset(output.data, 0, static_cast<size_t>(bytes));
  }
  Turn(plan, output.dtype, from, plan.output(), made, output.data, context.team());
}

// Each of `rows` stretches of `length` elements added up.
template <typename T>
void SumRows(int64_t rows, int64_t length, const T* from, T* to, WorkerTeam& team) {
  const int64_t grain = std::max<int64_t>(1, kElementGrain / std::max<int64_t>(1, length));
  team.ParallelFor(rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      to[i] = std::accumulate(from + i * length, from + (i + 1) * length, T{0});
  });
}

// An operand in the order of `to`, without the letters that it alone has: in `memory`, or where it is.
template <typename T>
const T* Turned(KernelContext& context, const EinsumPlan& plan, int input, const std::string& to,
                const std::string& alone, std::vector<T>& memory) {
  const TensorRef& tensor = context.input(input);
  const T* source = tensor.as<T>();
  std::vector<T> turned;
  if (plan.operand(input) != to + alone) {
    turned.resize(static_cast<size_t>(plan.CountOf(to) * plan.CountOf(alone)));
    Turn(plan, tensor.dtype, plan.operand(input), to + alone, source, turned.data(), context.team());
    source = turned.data();
  }
  if (!alone.empty()) {
    const int64_t rows = plan.CountOf(to);
    memory.resize(static_cast<size_t>(rows));
    SumRows(rows, plan.CountOf(alone), source, memory.data(), context.team());
    return memory.data();
  }
  if (source == tensor.as<T>()) return source;
  memory = std::move(turned);
  return memory.data();
}

template <typename T>
void Multiplied(KernelContext& context, const EinsumPlan& plan) {
  WorkerTeam& team = context.team();
  std::vector<T> a_memory, b_memory, c_memory;
  const T* a = Turned(context, plan, 0, plan.left, plan.left_alone, a_memory);
  const T* b = Turned(context, plan, 1, plan.right, plan.right_alone, b_memory);
  const std::string& wanted = plan.output();
  T* c = context.output().as<T>();
  if (plan.made != wanted) {
    c_memory.resize(static_cast<size_t>(plan.CountOf(plan.made)));
    c = c_memory.data();
  }
  const int64_t m = plan.m, n = plan.n, k = plan.k;
  for (int64_t i = 0; i < plan.batches; ++i) {
    Multiply<T>(&team, m, n, k, {a + i * m * k, k, false}, {b + i * k * n, n, false}, c + i * m * n);
  }
  if (plan.made != wanted) TurnResult(context, plan, plan.made, c);
}

void RunEinsum(KernelContext& context, const EinsumPlan& plan) {
  const TensorRef& output = context.output();
  if (output.NumElements() == 0) return;
  const TensorRef& first = context.input(0);
  if (context.num_inputs() == 1 && plan.left_alone.empty()) {
    TurnResult(context, plan, plan.operand(0), first.data);
    return;
  }
  DispatchReal("Einsum", first.dtype, [&]<typename T>(T) {
    if (context.num_inputs() > 1) return Multiplied<T>(context, plan);
    std::vector<T> sums;
    const T* made = Turned(context, plan, 0, plan.left, plan.left_alone, sums);
    TurnResult(context, plan, plan.made, made);
  });
}

}  // namespace

void RegisterEinsumKernels(KernelRegistry& registry) { RegisterOp<EinsumOp, RunEinsum>(registry, "Einsum"); }

}  // namespace lanescope::exec
