// Joining and cutting along one axis.
#include "exec/kernels/array_kernels.h"
#include "exec/kernels/strided_copy.h"
#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {
namespace {

// Copies `rows` runs of `run` elements; runs lie `*_row` elements apart.
void CopyRuns(DataType dtype, int64_t rows, int64_t run, void* destination, int64_t destination_row,
              const void* source, int64_t source_row, WorkerTeam& team) {
  StridedCopy copy;
  copy.AddDim(rows, destination_row, source_row);
  copy.AddDim(run, 1, 1);
  copy.Run(dtype, destination, source, team);
}

// Inputs first..first+count-1 one after the other along `axis`.
void ConcatInputs(KernelContext& context, int first, int count, int64_t requested_axis) {
  const Shape& shape0 = context.input(first).shape;
  const int rank = shape0.rank();
  if (requested_axis < -rank || requested_axis >= rank) {
    Throw(Code::kInvalidArgument,
          "ConcatOp : Expected concatenating dimensions in the range [{}, {}), but got {}", -rank, rank,
          requested_axis);
  }
  const int axis = static_cast<int>(requested_axis < 0 ? requested_axis + rank : requested_axis);
  int64_t total = 0;
  for (int i = first; i < first + count; ++i) {
    const Shape& shape = context.input(i).shape;
    if (shape.rank() != rank) {
      Throw(Code::kInvalidArgument,
            "ConcatOp : Ranks of all input tensors should match: shape[0] = {} vs. shape[{}] = {}",
            shape0.ToString(), i - first, shape.ToString());
    }
    for (int d = 0; d < rank; ++d) {
      if (d != axis && shape[d] != shape0[d]) {
        Throw(Code::kInvalidArgument,
              "ConcatOp : Dimension {} in both shapes must be equal: shape[0] = {} vs. shape[{}] = {}", d,
              shape0.ToString(), i - first, shape.ToString());
      }
    }
    total = AddDims(total, shape[axis]);
  }
  Shape result = shape0;
  result.set_dim(axis, total);
  ShapeOutput(context, 0, result);
  const TensorRef& out = context.output();
  const int64_t rows = SizeOfDims(result, 0, axis);
  const int64_t inner = SizeOfDims(result, axis + 1, rank);
  int64_t offset = 0;
  for (int i = first; i < first + count; ++i) {
    const TensorRef& x = context.input(i);
    const int64_t run = x.shape[axis] * inner;
    CopyRuns(out.dtype, rows, run, ElementAt(out.dtype, out.data, offset), total * inner, x.data, run,
             context.team());
    offset += run;
  }
}

void ComputeConcat(KernelContext& context) {
  ConcatInputs(context, 1, context.num_inputs() - 1, ReadInt(context.input(0), "concat_dim"));
}

void ComputeConcatV2(KernelContext& context) {
  const int last = context.num_inputs() - 1;
  ConcatInputs(context, 0, last, ReadInt(context.input(last), "axis"));
}

class PackKernel : public Kernel {
 public:
  explicit PackKernel(const Node& node) : axis_(node.IntAttr("axis", 0)) {}

  void Compute(KernelContext& context) override {
    Shape shape = context.input(0).shape;
    const int rank = shape.rank();
    const int count = context.num_inputs();
    if (axis_ < -rank - 1 || axis_ > rank) {
      Throw(Code::kInvalidArgument, "axis = {} not in [{}, {})", axis_, -rank - 1, rank + 1);
    }
    for (int i = 1; i < count; ++i) {
      if (!(context.input(i).shape == shape)) {
        Throw(Code::kInvalidArgument,
              "Shapes of all inputs must match: values[0].shape = {} != values[{}].shape = {}",
              shape.ToString(), i, context.input(i).shape.ToString());
      }
    }
    const int axis = static_cast<int>(axis_ < 0 ? axis_ + rank + 1 : axis_);
    const int64_t rows = SizeOfDims(shape, 0, axis);
    const int64_t run = SizeOfDims(shape, axis, rank);
    shape.Insert(axis, count);
    ShapeOutput(context, 0, shape);
    const TensorRef& out = context.output();
    for (int i = 0; i < count; ++i) {
      CopyRuns(out.dtype, rows, run, ElementAt(out.dtype, out.data, i * run), count * run,
               context.input(i).data, run, context.team());
    }
  }

 private:
  int64_t axis_;
};

class UnpackKernel : public Kernel {
 public:
  explicit UnpackKernel(const Node& node) : axis_(node.IntAttr("axis", 0)) {}

  void Compute(KernelContext& context) override {
    const TensorRef& x = context.input(0);
    const int rank = x.shape.rank();
    if (axis_ < -rank || axis_ >= rank) {
      Throw(Code::kInvalidArgument, "axis = {} not in [{}, {})", axis_, -rank, rank);
    }
    const int axis = static_cast<int>(axis_ < 0 ? axis_ + rank : axis_);
    const int64_t count = x.shape[axis];
    if (count != context.num_outputs()) {
      Throw(Code::kInvalidArgument, "Input shape axis {} must equal {}, got shape {}", axis,
            context.num_outputs(), x.shape.ToString());
    }
    const int64_t rows = SizeOfDims(x.shape, 0, axis);
    const int64_t run = SizeOfDims(x.shape, axis + 1, rank);
    Shape shape = x.shape;
    shape.Erase(axis);
    for (int i = 0; i < context.num_outputs(); ++i) {
      ShapeOutput(context, i, shape);
      CopyRuns(x.dtype, rows, run, context.output(i).data, run, ElementAt(x.dtype, x.data, i * run),
               count * run, context.team());
    }
  }

 private:
  int64_t axis_;
};

// Cuts input `x` along `axis` into pieces of the given sizes, which add up to its dimension.
void SplitInto(KernelContext& context, const TensorRef& x, int axis, const std::vector<int64_t>& sizes) {
  const int64_t rows = SizeOfDims(x.shape, 0, axis);
  const int64_t inner = SizeOfDims(x.shape, axis + 1, x.shape.rank());
  int64_t offset = 0;
  for (int i = 0; i < context.num_outputs(); ++i) {
    const int64_t run = sizes[static_cast<size_t>(i)] * inner;
    Shape shape = x.shape;
    shape.set_dim(axis, sizes[static_cast<size_t>(i)]);
    ShapeOutput(context, i, shape);
    CopyRuns(x.dtype, rows, run, context.output(i).data, run, ElementAt(x.dtype, x.data, offset),
             x.shape[axis] * inner, context.team());
    offset += run;
  }
}

int SplitAxis(const TensorRef& x, const TensorRef& split_dim) {
  const int rank = x.shape.rank();
  const int64_t axis = ReadInt(split_dim, "split_dim");
  if (axis < -rank || axis >= rank) {
    Throw(Code::kInvalidArgument, "-input rank(-{}) <= split_dim < input rank ({}), but got {}", rank, rank,
          axis);
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

void ComputeSplit(KernelContext& context) {
  const TensorRef& x = context.input(1);
  const int axis = SplitAxis(x, context.input(0));
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

void ComputeSplitV(KernelContext& context) {
  const TensorRef& x = context.input(0);
  const int axis = SplitAxis(x, context.input(2));
  std::vector<int64_t> sizes = ReadInts(context.input(1));
  if (sizes.size() != static_cast<size_t>(context.num_outputs())) {
    Throw(Code::kInvalidArgument, "size_splits has {} entries, but num_split is {}", sizes.size(),
          context.num_outputs());
  }
  int64_t sum = 0;
  int unknown = -1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == -1 && unknown < 0) {
      unknown = static_cast<int>(i);
    } else if (sizes[i] == -1) {
      Throw(Code::kInvalidArgument, "There can only be one -1 in the input.");
    } else if (sizes[i] < 0) {
      Throw(Code::kInvalidArgument, "Split size at index {} must be >= 0. Got: {}", i, sizes[i]);
    } else {
      sum = AddDims(sum, sizes[i]);
    }
  }
  if (unknown >= 0 ? sum > x.shape[axis] : sum != x.shape[axis]) {
    Throw(Code::kInvalidArgument,
          "Determined shape must either match input shape along split_dim exactly if fully specified, or be "
          "less than the size of the input along split_dim if not fully specified. Got: {}",
          sum);
  }
  if (unknown >= 0) sizes[static_cast<size_t>(unknown)] = x.shape[axis] - sum;
  SplitInto(context, x, axis, sizes);
}

}  // namespace

void RegisterConcatKernels(KernelRegistry& registry) {
  registry.Register("Concat", MakeFunctionKernel<ComputeConcat>);
  registry.Register("ConcatV2", MakeFunctionKernel<ComputeConcatV2>);
  registry.Register("Pack", MakeKernel<PackKernel>);
  registry.Register("Unpack", MakeKernel<UnpackKernel>);
  registry.Register("Split", MakeFunctionKernel<ComputeSplit>);
  registry.Register("SplitV", MakeFunctionKernel<ComputeSplitV>);
}

}  // namespace lanescope::exec
