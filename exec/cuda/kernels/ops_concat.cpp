// Tensors side by side: concatenations and their inverse. Axes and sizes are in host memory.
#include <algorithm>

#include "exec/cuda/kernels/access.h"
#include "exec/cuda/kernels/movement.h"

namespace lanescope::exec::cuda {
namespace {

// Inputs first .. first + count - 1 one after the other along an axis.
void ConcatInputs(KernelContext& context, int first, int count, int64_t requested_axis) {
  const Shape& shape0 = context.input(first).shape;
  const int rank = shape0.rank();
  const int axis = NormalizeAxis(requested_axis, rank);
  int64_t total = 0;
  std::vector<const void*> parts;
  std::vector<int64_t> runs;
  for (int i = first; i < first + count; ++i) {
    const TensorRef& x = context.input(i);
    bool fits = x.shape.rank() == rank;
    for (int d = 0; fits && d < rank; ++d) fits = d == axis || x.shape[d] == shape0[d];
    if (!fits) {
      Throw(Code::kInvalidArgument,
            "ConcatOp : Dimensions of inputs should match: shape[0] = {} vs. shape[{}] = {}",
            shape0.ToString(), i - first, x.shape.ToString());
    }
    total = AddDims(total, x.shape[axis]);
    parts.push_back(x.data);
    runs.push_back(SizeOfDims(x.shape, axis, rank));
  }
  Shape shape = shape0;
  shape.set_dim(axis, total);
  ShapeOutput(context, 0, shape);
  const TensorRef& out = context.output();
  RunConcat(LaunchOf(context), ElementBytes(out.dtype), SizeOfDims(shape, 0, axis), count, parts.data(),
            runs.data(), out.data);
}

void ConcatOp(KernelContext& context) {
  ConcatInputs(context, 1, context.num_inputs() - 1, ReadInt(context.input(0), "concat_dim"));
}
void ConcatV2Op(KernelContext& context) {
  const int last = context.num_inputs() - 1;
  ConcatInputs(context, 0, last, ReadInt(context.input(last), "axis"));
}

class PackKernel final : public Kernel {
 public:
  explicit PackKernel(const Node& node) : axis_(node.IntAttr("axis", 0)) {}
  void Compute(KernelContext& context) override {
    Shape shape = context.input(0).shape;
    const int rank = shape.rank();
    const int count = context.num_inputs();
    const int axis = NormalizeAxis(axis_, rank + 1);
    const int64_t rows = SizeOfDims(shape, 0, axis);
    const std::vector<int64_t> runs(static_cast<size_t>(count), SizeOfDims(shape, axis, rank));
    std::vector<const void*> parts;
    for (int i = 0; i < count; ++i) {
      RequireSameShape("the inputs of Pack", shape, context.input(i).shape);
      parts.push_back(context.input(i).data);
    }
    shape.Insert(axis, count);
    ShapeOutput(context, 0, shape);
    const TensorRef& out = context.output();
    RunConcat(LaunchOf(context), ElementBytes(out.dtype), rows, count, parts.data(), runs.data(), out.data);
  }

 private:
  int64_t axis_;
};

// Cuts x into runs of each row: the outputs have their shapes already.
void SplitRows(KernelContext& context, const TensorRef& x, int64_t rows, const std::vector<int64_t>& runs) {
  std::vector<void*> parts;
  for (int i = 0; i < context.num_outputs(); ++i) parts.push_back(context.output(i).data);
  RunSplit(LaunchOf(context), ElementBytes(x.dtype), rows, context.num_outputs(), parts.data(), runs.data(),
           x.data);
}

class UnpackKernel final : public Kernel {
 public:
  explicit UnpackKernel(const Node& node) : axis_(node.IntAttr("axis", 0)) {}
  void Compute(KernelContext& context) override {
    const TensorRef& x = context.input(0);
    const int rank = x.shape.rank();
    const int axis = NormalizeAxis(axis_, rank);
    if (x.shape[axis] != context.num_outputs()) {
      Throw(Code::kInvalidArgument, "Input shape axis {} must equal {}, got shape {}", axis,
            context.num_outputs(), x.shape.ToString());
    }
    Shape shape = x.shape;
    shape.Erase(axis);
    for (int i = 0; i < context.num_outputs(); ++i) ShapeOutput(context, i, shape);
    SplitRows(context, x, SizeOfDims(x.shape, 0, axis),
              std::vector<int64_t>(static_cast<size_t>(context.num_outputs()),
                                   SizeOfDims(x.shape, axis + 1, rank)));
  }

 private:
  int64_t axis_;
};

// Cuts x along `axis` into pieces of the given sizes, which add up to its dimension.
void SplitInto(KernelContext& context, const TensorRef& x, int axis, const std::vector<int64_t>& sizes) {
  const int64_t inner = SizeOfDims(x.shape, axis + 1, x.shape.rank());
  std::vector<int64_t> runs;
  for (int i = 0; i < context.num_outputs(); ++i) {
    Shape shape = x.shape;
    shape.set_dim(axis, sizes[static_cast<size_t>(i)]);
    ShapeOutput(context, i, shape);
    runs.push_back(sizes[static_cast<size_t>(i)] * inner);
  }
  SplitRows(context, x, SizeOfDims(x.shape, 0, axis), runs);
}

void SplitOp(KernelContext& context) {
  const TensorRef& x = context.input(1);
  const int axis = NormalizeAxis(ReadInt(context.input(0), "split_dim"), x.shape.rank());
  const int64_t ways = context.num_outputs();
  if (ways == 0 || x.shape[axis] % ways != 0) {
    Throw(
        Code::kInvalidArgument,
        "Number of ways to split should evenly divide the split dimension, but got split_dim {} (size = {}) "
        "and num_split {}",
        axis, x.shape[axis], ways);
  }
  SplitInto(context, x, axis, std::vector<int64_t>(static_cast<size_t>(ways), x.shape[axis] / ways));
}

void SplitVOp(KernelContext& context) {
  const TensorRef& x = context.input(0);
  const int axis = NormalizeAxis(ReadInt(context.input(2), "split_dim"), x.shape.rank());
  std::vector<int64_t> sizes = ReadInts(context.input(1));
  int64_t sum = 0;
  int64_t* open = nullptr;
  bool valid = sizes.size() == static_cast<size_t>(context.num_outputs());
  for (int64_t& size : sizes) {
    if (size == -1 && open == nullptr) {
      open = &size;
    } else {
      valid = valid && size >= 0;
      sum = AddDims(sum, std::max<int64_t>(0, size));
    }
  }
  if (!valid || (open != nullptr ? sum > x.shape[axis] : sum != x.shape[axis])) {
    Throw(Code::kInvalidArgument, "size_splits must be {} sizes that fill dimension {} of {}",
          context.num_outputs(), axis, x.shape.ToString());
  }
  if (open != nullptr) *open = x.shape[axis] - sum;
  SplitInto(context, x, axis, sizes);
}

}  // namespace

void RegisterConcatOps(KernelRegistry& registry) {
  registry.Register("Concat", MakeFunctionKernel<ConcatOp>);
  registry.Register("ConcatV2", MakeFunctionKernel<ConcatV2Op>);
  registry.Register("Pack", MakeKernel<PackKernel>);
  registry.Register("Unpack", MakeKernel<UnpackKernel>);
  registry.Register("Split", MakeFunctionKernel<SplitOp>);
  registry.Register("SplitV", MakeFunctionKernel<SplitVOp>);
}

}  // namespace lanescope::exec::cuda
