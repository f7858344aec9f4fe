// Borders around a tensor: a constant, or its own elements mirrored.
#include "exec/kernels/array_kernels.h"
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

}  // namespace

void RegisterPadKernels(KernelRegistry& registry) {
  registry.Register("Pad", MakeFunctionKernel<ComputePad>);
  registry.Register("PadV2", MakeFunctionKernel<ComputePad>);
  registry.Register("MirrorPad", MakeKernel<MirrorPadKernel>);
}

}  // namespace lanescope::exec
