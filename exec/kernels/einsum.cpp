// Einsum on host memory.
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

template <typename T>
void Multiplied(KernelContext& context, const EinsumPlan& plan) {
  WorkerTeam& team = context.team();
  const auto turned = [&](int input, const std::string& to, std::vector<T>& memory) {
    const TensorRef& tensor = context.input(input);
    const std::string& from = plan.equation->inputs[static_cast<size_t>(input)];
    if (from == to) return static_cast<const T*>(tensor.as<T>());
    memory.resize(static_cast<size_t>(tensor.NumElements()));
    Turn(plan, tensor.dtype, from, to, tensor.data, memory.data(), team);
    return static_cast<const T*>(memory.data());
  };
  std::vector<T> a_memory, b_memory, c_memory;
  const T* a = turned(0, plan.left, a_memory);
  const T* b = turned(1, plan.right, b_memory);
  const std::string& wanted = plan.equation->output;
  T* c = context.output().as<T>();
  if (plan.made != wanted) {
    c_memory.resize(static_cast<size_t>(context.output().NumElements()));
    c = c_memory.data();
  }
  const int64_t m = plan.m, n = plan.n, k = plan.k;
  for (int64_t i = 0; i < plan.batches; ++i) {
    Multiply<T>(&team, m, n, k, {a + i * m * k, k, false}, {b + i * k * n, n, false}, c + i * m * n);
  }
  if (plan.made != wanted)
    Turn(plan, context.output().dtype, plan.made, wanted, c, context.output().data, team);
}

void RunEinsum(KernelContext& context, const EinsumPlan& plan) {
  if (context.output().NumElements() == 0) return;
  const TensorRef& first = context.input(0);
  if (context.num_inputs() == 1) {
    Turn(plan, first.dtype, plan.equation->inputs[0], plan.equation->output, first.data,
         context.output().data, context.team());
    return;
  }
  DispatchReal("Einsum", first.dtype, [&]<typename T>(T) { Multiplied<T>(context, plan); });
}

}  // namespace

void RegisterEinsumKernels(KernelRegistry& registry) { RegisterOp<EinsumOp, RunEinsum>(registry, "Einsum"); }

}  // namespace lanescope::exec
