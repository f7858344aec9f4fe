// SPDX-License-Identifier: Apache-2.0
// Rows dealt out by number, and put together again: DynamicPartition, DynamicStitch.
#include "exec/kernels/partition_plan.h"
#include "exec/kernels/row_access.h"
#include "exec/kernels/sparse_kernels.h"

namespace lanescope::exec {
namespace {

void Stitch(KernelContext& context, const StitchPlan& plan) {
  const TensorRef& out = context.output();
  ZeroElements(out.dtype, out.data, out.NumElements(), context.team());
  const auto pairs = static_cast<int>(plan.targets.size());
  DispatchBySize(out.dtype, [&](auto tag) {
    using T = decltype(tag);
    for (int p = 0; p < pairs; ++p) {
      const T* source = context.input(pairs + p).as<T>();
      for (const int64_t row : plan.targets[static_cast<size_t>(p)]) {
        std::copy_n(source, plan.inner, out.as<T>() + row * plan.inner);
        source += plan.inner;
      }
    }
  });
}

class DynamicPartitionKernel : public Kernel {
 public:
  explicit DynamicPartitionKernel(const Node& node) : op_(node) {}

  void Compute(KernelContext& context) override {
    const TensorRef& data = context.input(0);
    const TensorRef& partitions = context.input(1);
    const int64_t inner = op_.RowSize(context);
    const int64_t parts = op_.parts();
    CheckIndices("partitions", partitions, parts);
    const std::vector<int64_t> part_of = ReadInts(partitions);
    std::vector<int64_t> sizes(static_cast<size_t>(parts), 0);
    for (const int64_t part : part_of) ++sizes[static_cast<size_t>(part)];
    for (int64_t part = 0; part < parts; ++part) {
      op_.ShapePart(context, static_cast<int>(part), sizes[static_cast<size_t>(part)]);
    }
    DispatchBySize(data.dtype, [&](auto tag) {
      using T = decltype(tag);
      std::vector<T*> next;
      for (int64_t part = 0; part < parts; ++part) {
        next.push_back(context.output(static_cast<int>(part)).template as<T>());
      }
      const T* source = data.as<T>();
      for (const int64_t part : part_of) {
        T*& out = next[static_cast<size_t>(part)];
        out = std::copy_n(source, inner, out);
        source += inner;
      }
    });
  }

 private:
  PartitionOp op_;
};

}  // namespace

void RegisterPartitionKernels(KernelRegistry& registry) {
  for (const char* op : {"DynamicStitch", "ParallelDynamicStitch"}) {
    RegisterOp<PlanDynamicStitch, Stitch>(registry, op);
  }
  registry.Register("DynamicPartition", MakeKernel<DynamicPartitionKernel>);
}

}  // namespace lanescope::exec
