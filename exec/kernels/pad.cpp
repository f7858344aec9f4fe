// Borders around a tensor: a constant, or its own elements mirrored.
#include "exec/kernels/array_kernels.h"
#include "exec/kernels/mirror_pad_grad.h"
#include "exec/kernels/strided_copy.h"
#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {
namespace {

struct Border {
  int64_t before, after;
};

std::vector<Border> ReadBorders(const TensorRef& x, const TensorRef& paddings) {
  const auto rank = static_cast<size_t>(x.shape.rank());
  const std::vector<int64_t> values = ReadInts(paddings);
  if (values.size() != 2 * rank || (paddings.shape.rank() != 2 && rank != 0)) {
    Throw(Code::kInvalidArgument,
          "The first dimension of paddings must be the rank of inputs {}, but paddings are of shape {}",
          x.shape.ToString(), paddings.shape.ToString());
  }
  std::vector<Border> borders(rank);
  for (size_t d = 0; d < rank; ++d) {
    borders[d] = {values[2 * d], values[2 * d + 1]};
    if (borders[d].before < 0 || borders[d].after < 0) {
      Throw(Code::kInvalidArgument, "Paddings must be non-negative: {} {}", borders[d].before,
            borders[d].after);
    }
  }
  return borders;
}

Shape PaddedShape(const Shape& shape, const std::vector<Border>& borders) {
  Shape padded;
  for (int d = 0; d < shape.rank(); ++d) {
    const Border& border = borders[static_cast<size_t>(d)];
    padded.Append(AddDims(AddDims(border.before, shape[d]), border.after));
  }
  return padded;
}

// Writes the input into the middle of the output.
void CopyInterior(const TensorRef& x, const std::vector<Border>& borders, const TensorRef& out,
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

void ComputePad(KernelContext& context) {
  const TensorRef& x = context.input(0);
  const std::vector<Border> borders = ReadBorders(x, context.input(1));
  ShapeOutput(context, 0, PaddedShape(x.shape, borders));
  const TensorRef& out = context.output();
  if (context.num_inputs() == 3) {
    if (context.input(2).NumElements() != 1) {
      Throw(Code::kInvalidArgument, "constant_values must be a scalar. Found: {}",
            context.input(2).shape.ToString());
    }
    FillElements(x.dtype, out.data, context.input(2).data, out.NumElements(), context.team());
  } else {
    ZeroElements(x.dtype, out.data, out.NumElements(), context.team());
  }
  CopyInterior(x, borders, out, context.team());
}

class MirrorPadKernel : public Kernel {
 public:
  explicit MirrorPadKernel(const Node& node) : reflect_(node.StringAttr("mode") == "REFLECT") {}

  // The interior first; then, dimension by dimension from the last, whole slabs that lie inside what is
  // filled already are copied to the border of that dimension.
  void Compute(KernelContext& context) override {
    const TensorRef& x = context.input(0);
    const std::vector<Border> borders = ReadBorders(x, context.input(1));
    for (int d = 0; d < x.shape.rank(); ++d) {
      const Border& border = borders[static_cast<size_t>(d)];
      const int64_t limit = reflect_ ? std::max<int64_t>(0, x.shape[d] - 1) : x.shape[d];
      if (border.before > limit || border.after > limit) {
        Throw(Code::kInvalidArgument, "paddings must be {} the dimension size: {}, {} not {} {}",
              reflect_ ? "less than" : "no greater than", border.before, border.after,
              reflect_ ? "less than" : "no greater than", x.shape[d]);
      }
    }
    ShapeOutput(context, 0, PaddedShape(x.shape, borders));
    const TensorRef& out = context.output();
    if (out.NumElements() == 0) return;
    CopyInterior(x, borders, out, context.team());
    for (int d = x.shape.rank() - 1; d >= 0; --d) MirrorDimension(x, borders, d, out, context.team());
  }

 private:
  // Dimensions after d are complete already, dimensions before d are filled in their interior alone.
  void MirrorDimension(const TensorRef& x, const std::vector<Border>& borders, int d, const TensorRef& out,
                       WorkerTeam& team) const {
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
    const Border& border = borders[static_cast<size_t>(d)];
    const int64_t skip = reflect_ ? 1 : 0;
    const int64_t first = border.before;
    const int64_t last = border.before + x.shape[d] - 1;
    for (int64_t i = 0; i < border.before; ++i) copy_slab(first + skip + i, first - 1 - i);
    for (int64_t i = 0; i < border.after; ++i) copy_slab(last - skip - i, last + 1 + i);
  }

  bool reflect_;
};

class MirrorPadGradKernel : public Kernel {
 public:
  explicit MirrorPadGradKernel(const Node& node) : reflect_(node.StringAttr("mode") == "REFLECT") {}

  void Compute(KernelContext& context) override {
    const MirrorPadGradMap map = PrepareMirrorPadGrad(context, reflect_);
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

 private:
  bool reflect_;
};

}  // namespace

MirrorPadGradMap PrepareMirrorPadGrad(KernelContext& context, bool reflect) {
  const TensorRef& grad = context.input(0);
  const std::vector<Border> borders = ReadBorders(grad, context.input(1));
  const auto strides = StridesOf(grad.shape);
  MirrorPadGradMap map;
  map.rank = grad.shape.rank();
  map.skip = reflect ? 1 : 0;
  Shape shape;
  for (int d = 0; d < map.rank; ++d) {
    const auto& [before, after] = borders[static_cast<size_t>(d)];
    const int64_t size = grad.shape[d] - before - after;
    if (size < 0) {
      Throw(Code::kInvalidArgument,
            "Total paddings must be less than the input dimension size: {} was not less than {}",
            before + after, grad.shape[d]);
    }
    if (std::max(before, after) > std::max<int64_t>(0, size - map.skip)) {
      Throw(Code::kInvalidArgument, "paddings must be {} the output dimension size: {}, {} {} {}",
            reflect ? "less than" : "no greater than", before, after,
            reflect ? "not less than" : "greater than", size);
    }
    map.axes[d] = {size, before, after, strides[static_cast<size_t>(d)]};
    shape.Append(size);
  }
  ShapeOutput(context, 0, shape);
  return map;
}

void RegisterPadKernels(KernelRegistry& registry) {
  registry.Register("Pad", MakeFunctionKernel<ComputePad>);
  registry.Register("PadV2", MakeFunctionKernel<ComputePad>);
  registry.Register("MirrorPad", MakeKernel<MirrorPadKernel>);
  registry.Register("MirrorPadGrad", MakeKernel<MirrorPadGradKernel>);
}

}  // namespace lanescope::exec
