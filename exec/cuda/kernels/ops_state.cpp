// SPDX-License-Identifier: Apache-2.0
// Variables: what replaces them, and updates of their rows.
#include "exec/cuda/kernels/access.h"
#include "exec/cuda/kernels/element_wise.h"
#include "exec/cuda/kernels/movement.h"
#include "exec/cuda/kernels/sparse.h"
#include "exec/kernels/scatter_plan.h"
#include "exec/kernels/variable_plan.h"

namespace lanescope::exec::cuda {
namespace {

void AssignValue(KernelContext& context, const Assignment& plan) {
  CopyBytes(LaunchOf(context), plan.variable.tensor.data, plan.value.data, BytesOf(plan.value));
  plan.variable.initialized = true;
}

void CombineValue(KernelContext& context, const CombinedAssignment& plan) {
  const Shape& shape = plan.variable.shape;
  RunBinary(LaunchOf(context), plan.subtract ? BinaryOp::kSub : BinaryOp::kAdd,
            LoopTypeOf("AssignAdd", plan.variable.dtype), MakeBroadcastMap<2>(shape, {shape, shape}),
            plan.variable.data, plan.value.data, plan.variable.data);
}

void ScatterRows(KernelContext& context, const RowScatter& plan) {
  const RowUpdates updates{plan.how, plan.variable.shape[0], plan.indices.NumElements(), plan.inner,
                           plan.step};
  RunRowUpdates(LaunchOf(context), updates, LoopTypeOf("a scatter", plan.variable.dtype),
                ReaderOf("a scatter", plan.indices), plan.updates.data, plan.variable.data);
}

}  // namespace

void RegisterStateOps(KernelRegistry& registry) {
  RegisterAssignOps<AssignValue, CombineValue>(registry);
  RegisterRowScatterOps<ScatterRows>(registry);
  // These touch no element in device memory.
  for (const char* op : {"IsVariableInitialized", "VarIsInitializedOp", "DestroyResourceOp"}) {
    registry.Register(op, MakeHostKernel);
  }
}

}  // namespace lanescope::exec::cuda
