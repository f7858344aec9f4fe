// SPDX-License-Identifier: Apache-2.0
// Borders around a tensor, on host memory.
#include "exec/kernels/array_kernels.h"
#include "exec/kernels/pad_plan.h"
#include "exec/kernels/strided_copy.h"

namespace lanescope::exec {
namespace {

// Writes the input into the middle of the output.
void CopyInterior(const TensorRef& x, const std::vector<PadPlan::Border>& borders, const TensorRef& out,
                  WorkerTeam& team) {
  const auto source = StridesOf(x.shape);
  const auto destination = StridesOf(out.shape);
  StridedCopy copy;
  int64_t offset = 0;
  for (int d = 0; d < x.shape.rank(); ++d) {
    const auto at = static_cast<size_t>(d);
    copy.AddDim(x.shape[d], destination[at], source[at]);
    offset += borders[at].before * destination[at];
  }
  if (x.NumElements() > 0) copy.Run(x.dtype, ElementAt(x.dtype, out.data, offset), x.data, team);
}

// Dimensions after d are complete already, dimensions before d are filled in their interior alone.
void MirrorDimension(const TensorRef& x, const std::vector<PadPlan::Border>& borders, int d,
                     const TensorRef& out, bool reflect, WorkerTeam& team) {
  const auto strides = StridesOf(out.shape);
  const int64_t stride = strides[static_cast<size_t>(d)];
  int64_t offset = 0;
  for (int outer = 0; outer < d; ++outer) {
    offset += borders[static_cast<size_t>(outer)].before * strides[static_cast<size_t>(outer)];
  }
  const auto copy_slab = [&](int64_t from, int64_t to) {
    StridedCopy copy;
    for (int outer = 0; outer < d; ++outer) {
      const int64_t step = strides[static_cast<size_t>(outer)];
      copy.AddDim(x.shape[outer], step, step);
    }
    copy.AddDim(stride, 1, 1);
    copy.Run(x.dtype, ElementAt(x.dtype, out.data, offset + to * stride),
             ElementAt(x.dtype, static_cast<const void*>(out.data), offset + from * stride), team);
  };
  const PadPlan::Border& border = borders[static_cast<size_t>(d)];
  const int64_t skip = reflect ? 1 : 0;
  const int64_t first = border.before;
  const int64_t last = border.before + x.shape[d] - 1;
  for (int64_t i = 0; i < border.before; ++i) copy_slab(first + skip + i, first - 1 - i);
  for (int64_t i = 0; i < border.after; ++i) copy_slab(last - skip - i, last + 1 + i);
}

void PadTensor(KernelContext& context, const PadPlan& plan) {
  const TensorRef& x = context.input(0);
  const TensorRef& out = context.output();
  WorkerTeam& team = context.team();
  if (plan.mode == PadMode::kConstant) {
    if (plan.fill != nullptr) {
      FillElements(x.dtype, out.data, plan.fill, out.NumElements(), team);
    } else {
      ZeroElements(x.dtype, out.data, out.NumElements(), team);
    }
    return CopyInterior(x, plan.borders, out, team);
  }
  // The interior first; then, dimension by dimension from the last, whole slabs that lie inside what is
  // filled already are copied to the border of that dimension.
  if (out.NumElements() == 0) return;
  CopyInterior(x, plan.borders, out, team);
  for (int d = x.shape.rank() - 1; d >= 0; --d) {
    MirrorDimension(x, plan.borders, d, out, plan.mode == PadMode::kReflect, team);
  }
}

void SumMirrored(KernelContext& context, const MirrorPadGradMap& map) {
  const TensorRef& grad = context.input(0);
  const TensorRef& out = context.output();
  DispatchNumber("MirrorPadGrad", grad.dtype, [&](auto tag) {
    using T = decltype(tag);
    constexpr int64_t kGrain = 1 << 12;
    context.team().ParallelFor(out.NumElements(), kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) out.as<T>()[i] = map.Sum(i, grad.as<const T>());
    });
  });
}

}  // namespace

void RegisterPadKernels(KernelRegistry& registry) { RegisterPadOps<PadTensor, SumMirrored>(registry); }

}  // namespace lanescope::exec
