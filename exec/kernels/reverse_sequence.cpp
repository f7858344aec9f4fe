// SPDX-License-Identifier: Apache-2.0
// Rows of a batch reversed up to their lengths, on host memory.
#include <algorithm>
#include <array>

#include "core/graph/ops/images.h"
#include "exec/kernels/array_kernels.h"
#include "exec/kernels/element_wise.h"
#include "exec/kernels/op_kernel.h"

namespace lanescope::exec {
namespace {

struct ReversePlan {
  int sequence = 0, batch = 0;
  std::vector<int64_t> lengths;
};

class ReverseSequenceOp {
 public:
  explicit ReverseSequenceOp(const Node& node) : rule_(node) {}

  ReversePlan Plan(KernelContext& context) const {
    const TensorRef& input = context.input(0);
    const TensorRef& lengths = context.input(1);
    ShapeOutput(context, 0, rule_.ResultOf(input.shape, lengths.shape));
    ReversePlan plan{static_cast<int>(rule_.sequence()), static_cast<int>(rule_.batch()), ReadInts(lengths)};
    const int64_t longest = input.shape[plan.sequence];
    for (size_t i = 0; i < plan.lengths.size(); ++i) {
      if (plan.lengths[i] < 0) Throw(Code::kInvalidArgument, "seq_lens({}) < 0", i);
      if (plan.lengths[i] > longest)
        Throw(Code::kInvalidArgument, "seq_lens({}) > input.dims({})", i, plan.sequence);
    }
    return plan;
  }

 private:
  ops::SequenceRule rule_;
};

// Runs of elements behind the later of the two dimensions stay together.
void ReverseRows(KernelContext& context, const ReversePlan& plan) {
  const TensorRef& input = context.input(0);
  if (input.NumElements() == 0) return;
  const Shape& shape = input.shape;
  const int last = std::max(plan.sequence, plan.batch);
  const int64_t run = SizeOfDims(shape, last + 1, shape.rank());
  const auto strides = StridesOf(shape);
  const auto coordinate = [&](int64_t element, int dim) {
    return element / strides[static_cast<size_t>(dim)] % shape[dim];
  };
  const int64_t step = strides[static_cast<size_t>(plan.sequence)];
  DispatchBySize(input.dtype, [&]<typename T>(T) {
    const T* from = input.as<const T>();
    T* to = context.output().as<T>();
    context.team().ParallelFor(
        input.NumElements() / run, std::max<int64_t>(1, kElementGrain / run),
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t element = i * run;
            const int64_t at = coordinate(element, plan.sequence);
            const int64_t length = plan.lengths[static_cast<size_t>(coordinate(element, plan.batch))];
            const int64_t source = at < length ? element + (length - 1 - 2 * at) * step : element;
            std::copy_n(from + source, run, to + element);
          }
        });
  });
}

}  // namespace

void RegisterReverseSequenceKernels(KernelRegistry& registry) {
  RegisterOp<ReverseSequenceOp, ReverseRows>(registry, "ReverseSequence");
}

}  // namespace lanescope::exec
