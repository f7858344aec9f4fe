// Every element to a new place: transposes, tiles, slices, concatenations, pads. Axes, sizes and the like are
// in host memory.
#include <algorithm>

#include "exec/cuda/kernels/access.h"
#include "exec/cuda/kernels/movement.h"
#include "exec/kernels/strided_slice_spec.h"

namespace lanescope::exec::cuda {
namespace {

const char* Advanced(const TensorRef& tensor, int64_t elements) {
  return tensor.data == nullptr
             ? nullptr
             : static_cast<const char*>(tensor.data) + elements * ElementBytes(tensor.dtype);
}
char* AdvancedOutput(const TensorRef& tensor, int64_t elements) {
  return const_cast<char*>(Advanced(tensor, elements));
}

void Transpose(KernelContext& context) {
  const TensorRef& x = context.input(0);
  const int rank = x.shape.rank();
  const std::vector<int64_t> axes = ReadInts(context.input(1));
  if (axes.size() != static_cast<size_t>(rank)) {
    Throw(Code::kInvalidArgument,
          "transpose expects a vector of size {}. But input(1) is a vector of size {}", rank, axes.size());
  }
  Shape shape;
  std::vector<bool> used(axes.size(), false);
  std::vector<size_t> order;
  for (const int64_t requested : axes) {
    const int axis = NormalizeAxis(requested, rank);
    if (used[static_cast<size_t>(axis)]) {
      Throw(Code::kInvalidArgument, "the permutation names dimension {} twice", axis);
    }
    used[static_cast<size_t>(axis)] = true;
    order.push_back(static_cast<size_t>(axis));
    shape.Append(x.shape[axis]);
  }
  ShapeOutput(context, 0, shape);
  const auto from = StridesOf(x.shape);
  const auto to = StridesOf(shape);
  CopyMap map;
  for (size_t d = 0; d < order.size(); ++d) map.AddDim(shape[static_cast<int>(d)], to[d], from[order[d]]);
  RunStridedCopy(LaunchOf(context), ElementBytes(x.dtype), map, context.output().data, x.data);
}

void Tile(KernelContext& context) {
  const TensorRef& x = context.input(0);
  const int rank = x.shape.rank();
  const std::vector<int64_t> multiples = ReadInts(context.input(1));
  if (multiples.size() != static_cast<size_t>(rank) ||
      std::any_of(multiples.begin(), multiples.end(), [](int64_t m) { return m < 0; })) {
    Throw(Code::kInvalidArgument, "Expected multiples argument to be a vector of {} numbers >= 0", rank);
  }
  Shape shape;
  for (int d = 0; d < rank; ++d) shape.Append(MulDims(x.shape[d], multiples[static_cast<size_t>(d)]));
  ShapeOutput(context, 0, shape);
  const auto from = StridesOf(x.shape);
  const auto to = StridesOf(shape);
  CopyMap map;
  for (int d = 0; d < rank; ++d) {
    const auto at = static_cast<size_t>(d);
    map.AddDim(multiples[at], x.shape[d] * to[at], 0);
    map.AddDim(x.shape[d], to[at], from[at]);
  }
  RunStridedCopy(LaunchOf(context), ElementBytes(x.dtype), map, context.output().data, x.data);
}

void BroadcastTo(KernelContext& context) {
  const TensorRef& x = context.input(0);
  const Shape shape = ReadShape(context.input(1));
  if (!(BroadcastShapes(x.shape, shape) == shape)) {
    Throw(Code::kInvalidArgument, "Incompatible shapes: {} vs. {}", x.shape.ToString(), shape.ToString());
  }
  ShapeOutput(context, 0, shape);
  const int added = shape.rank() - x.shape.rank();
  const auto from = StridesOf(x.shape);
  const auto to = StridesOf(shape);
  CopyMap map;
  for (int d = 0; d < shape.rank(); ++d) {
    const bool repeated = d < added || x.shape[d - added] == 1;
    map.AddDim(shape[d], to[static_cast<size_t>(d)], repeated ? 0 : from[static_cast<size_t>(d - added)]);
  }
  RunStridedCopy(LaunchOf(context), ElementBytes(x.dtype), map, context.output().data, x.data);
}

void ReverseOp(KernelContext& context) {
  const TensorRef& x = context.input(0);
  const int rank = x.shape.rank();
  std::vector<bool> reversed(static_cast<size_t>(rank), false);
  for (const int64_t requested : ReadInts(context.input(1))) {
    const auto axis = static_cast<size_t>(NormalizeAxis(requested, rank));
    if (reversed[axis]) Throw(Code::kInvalidArgument, "axis {} specified more than once.", axis);
    reversed[axis] = true;
  }
  ShapeOutput(context, 0, x.shape);
  if (x.NumElements() == 0) return;
  const auto strides = StridesOf(x.shape);
  CopyMap map;
  int64_t offset = 0;
  for (int d = 0; d < rank; ++d) {
    const auto at = static_cast<size_t>(d);
    map.AddDim(x.shape[d], strides[at], reversed[at] ? -strides[at] : strides[at]);
    if (reversed[at]) offset += (x.shape[d] - 1) * strides[at];
  }
  RunStridedCopy(LaunchOf(context), ElementBytes(x.dtype), map, context.output().data, Advanced(x, offset));
}

void SliceOp(KernelContext& context) {
  const TensorRef& x = context.input(0);
  const int rank = x.shape.rank();
  const std::vector<int64_t> begin = ReadInts(context.input(1));
  std::vector<int64_t> size = ReadInts(context.input(2));
  if (begin.size() != static_cast<size_t>(rank) || size.size() != static_cast<size_t>(rank)) {
    Throw(Code::kInvalidArgument,
          "Expected begin and size arguments to be 1-D tensors of size {}, but got {} and {} instead.", rank,
          begin.size(), size.size());
  }
  const auto from = StridesOf(x.shape);
  int64_t offset = 0;
  for (int d = 0; d < rank; ++d) {
    const auto at = static_cast<size_t>(d);
    const int64_t rest = x.shape[d] - begin[at];
    if (size[at] == -1) size[at] = rest;
    if (begin[at] < 0 || rest < 0 || size[at] < 0 || size[at] > rest) {
      Throw(Code::kInvalidArgument, "a slice from {} of {} elements leaves dimension {} of size {}",
            begin[at], size[at], d, x.shape[d]);
    }
    offset += begin[at] * from[at];
  }
  const Shape shape{std::span<const Dim>(size)};
  ShapeOutput(context, 0, shape);
  if (shape.NumElements() == 0) return;
  const auto to = StridesOf(shape);
  CopyMap map;
  for (int d = 0; d < rank; ++d)
    map.AddDim(shape[d], to[static_cast<size_t>(d)], from[static_cast<size_t>(d)]);
  RunStridedCopy(LaunchOf(context), ElementBytes(x.dtype), map, context.output().data, Advanced(x, offset));
}

// The sliced tensor's elements that a strided slice names, and the dense result: `whole` strides and `dense`
// strides of each dimension.
struct SliceView {
  int64_t offset = 0;
  std::vector<int64_t> whole;
  std::vector<int64_t> dense;
};

SliceView ViewOf(const StridedSliceSpec& spec, const Shape& shape) {
  const auto strides = StridesOf(shape);
  SliceView view;
  view.whole.resize(spec.count.size());
  view.dense.resize(spec.count.size());
  int64_t stride = 1;
  for (size_t d = spec.count.size(); d-- > 0;) {
    view.dense[d] = stride;
    stride *= spec.count[d];
    view.whole[d] = spec.count[d] > 1 ? spec.step[d] * strides[d] : 0;
    view.offset += spec.first[d] * strides[d];
  }
  return view;
}

class StridedSliceKernel final : public Kernel {
 public:
  explicit StridedSliceKernel(const Node& node) : masks_(ReadStridedSliceMasks(node)) {}
  void Compute(KernelContext& context) override {
    const TensorRef& x = context.input(0);
    const StridedSliceSpec spec = ResolveStridedSlice(
        x.shape, ReadInts(context.input(1)), ReadInts(context.input(2)), ReadInts(context.input(3)), masks_);
    ShapeOutput(context, 0, spec.shape);
    if (spec.shape.NumElements() == 0) return;
    const SliceView view = ViewOf(spec, x.shape);
    CopyMap map;
    for (size_t d = 0; d < spec.count.size(); ++d) map.AddDim(spec.count[d], view.dense[d], view.whole[d]);
    RunStridedCopy(LaunchOf(context), ElementBytes(x.dtype), map, context.output().data,
                   Advanced(x, view.offset));
  }

 private:
  StridedSliceMasks masks_;
};

// Inputs shape, begin, end, strides, dy: zeros of `shape` with dy where the slice took its elements.
class StridedSliceGradKernel final : public Kernel {
 public:
  explicit StridedSliceGradKernel(const Node& node) : masks_(ReadStridedSliceMasks(node)) {}
  void Compute(KernelContext& context) override {
    const Shape shape = ReadShape(context.input(0));
    const TensorRef& dy = context.input(4);
    const StridedSliceSpec spec = ResolveStridedSlice(
        shape, ReadInts(context.input(1)), ReadInts(context.input(2)), ReadInts(context.input(3)), masks_);
    RequireSameShape("dy and the slice", dy.shape, spec.shape);
    ShapeOutput(context, 0, shape);
    const TensorRef& out = context.output();
    ZeroBytes(LaunchOf(context), out.data, shape.NumElements() * ElementBytes(dy.dtype));
    if (dy.NumElements() == 0) return;
    const SliceView view = ViewOf(spec, shape);
    CopyMap map;
    for (size_t d = 0; d < spec.count.size(); ++d) map.AddDim(spec.count[d], view.whole[d], view.dense[d]);
    RunStridedCopy(LaunchOf(context), ElementBytes(dy.dtype), map, AdvancedOutput(out, view.offset), dy.data);
  }

 private:
  StridedSliceMasks masks_;
};

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

// Pad, PadV2 (with a constant in host memory) and MirrorPad.
class PadKernel final : public Kernel {
 public:
  explicit PadKernel(const Node& node) {
    if (node.op == "MirrorPad") {
      mode_ = node.StringAttr("mode") == "REFLECT" ? PadMode::kReflect : PadMode::kSymmetric;
    }
  }

  void Compute(KernelContext& context) override {
    const TensorRef& x = context.input(0);
    const int rank = x.shape.rank();
    const std::vector<int64_t> pads = ReadInts(context.input(1));
    if (pads.size() != 2 * static_cast<size_t>(rank)) {
      Throw(Code::kInvalidArgument, "paddings of {} numbers do not fit an input of shape {}", pads.size(),
            x.shape.ToString());
    }
    PadMap map;
    map.mode = mode_;
    Shape shape = x.shape;
    for (int d = rank - 1; d >= 0; --d) {
      const int64_t before = pads[2 * static_cast<size_t>(d)];
      const int64_t after = pads[2 * static_cast<size_t>(d) + 1];
      CheckPad(x.shape[d], before, after);
      shape.set_dim(d, AddDims(AddDims(before, x.shape[d]), after));
      map.AddOuter(x.shape[d], before, after);
    }
    ShapeOutput(context, 0, shape);
    const void* fill = nullptr;
    if (context.num_inputs() == 3) {
      RequireScalar("constant_values", context.input(2));
      fill = context.input(2).data;
    }
    RunPad(LaunchOf(context), ElementBytes(x.dtype), map, fill, context.output().data, x.data);
  }

 private:
  void CheckPad(int64_t size, int64_t before, int64_t after) const {
    if (before < 0 || after < 0) {
      Throw(Code::kInvalidArgument, "Paddings must be non-negative: {} {}", before, after);
    }
    if (mode_ == PadMode::kConstant) return;
    const int64_t limit = mode_ == PadMode::kReflect ? std::max<int64_t>(0, size - 1) : size;
    if (before > limit || after > limit) {
      Throw(Code::kInvalidArgument, "mirrored paddings {} {} must be at most {} for a dimension of size {}",
            before, after, limit, size);
    }
  }

  PadMode mode_ = PadMode::kConstant;
};

}  // namespace

void RegisterLayoutOps(KernelRegistry& registry) {
  registry.Register("Transpose", MakeFunctionKernel<Transpose>);
  registry.Register("Tile", MakeFunctionKernel<Tile>);
  registry.Register("BroadcastTo", MakeFunctionKernel<BroadcastTo>);
  registry.Register("ReverseV2", MakeFunctionKernel<ReverseOp>);
  registry.Register("Slice", MakeFunctionKernel<SliceOp>);
  registry.Register("StridedSlice", MakeKernel<StridedSliceKernel>);
  registry.Register("StridedSliceGrad", MakeKernel<StridedSliceGradKernel>);
  registry.Register("Concat", MakeFunctionKernel<ConcatOp>);
  registry.Register("ConcatV2", MakeFunctionKernel<ConcatV2Op>);
  registry.Register("Pack", MakeKernel<PackKernel>);
  registry.Register("Unpack", MakeKernel<UnpackKernel>);
  registry.Register("Split", MakeFunctionKernel<SplitOp>);
  registry.Register("SplitV", MakeFunctionKernel<SplitVOp>);
  for (const char* op : {"Pad", "PadV2", "MirrorPad"}) registry.Register(op, MakeKernel<PadKernel>);
}

}  // namespace lanescope::exec::cuda
