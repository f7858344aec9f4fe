// Every element to a new place: transposes, tiles, slices, pads. Axes, sizes and the like are in host memory.
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

class MirrorPadGradKernel final : public Kernel {
 public:
  explicit MirrorPadGradKernel(const Node& node) : reflect_(node.StringAttr("mode") == "REFLECT") {}

  void Compute(KernelContext& context) override {
    const MirrorPadGradMap map = PrepareMirrorPadGrad(context, reflect_);
    const TensorRef& out = context.output();
    DispatchReal("MirrorPadGrad on a GPU", out.dtype, [&]<typename T>(T) {
      RunMirrorPadGrad<T>(LaunchOf(context), map, out.NumElements(), out.as<T>(), context.input(0).as<T>());
    });
  }

 private:
  bool reflect_;
};

// Of real numbers: they are their own conjugates.
std::unique_ptr<Kernel> MakeConjugateTranspose(const Node& node) {
  const DataType dtype = node.TypeAttr("T");
  if (dtype == DataType::kComplex64 || dtype == DataType::kComplex128) ThrowNoCudaKernel(node.op, dtype);
  return MakeFunctionKernel<Transpose>(node);
}

}  // namespace

void RegisterLayoutOps(KernelRegistry& registry) {
  registry.Register("Transpose", MakeFunctionKernel<Transpose>);
  registry.Register("MirrorPadGrad", MakeKernel<MirrorPadGradKernel>);
  registry.Register("ConjugateTranspose", MakeConjugateTranspose);
  registry.Register("Tile", MakeFunctionKernel<Tile>);
  registry.Register("BroadcastTo", MakeFunctionKernel<BroadcastTo>);
  registry.Register("ReverseV2", MakeFunctionKernel<ReverseOp>);
  registry.Register("Slice", MakeFunctionKernel<SliceOp>);
  registry.Register("StridedSlice", MakeKernel<StridedSliceKernel>);
  registry.Register("StridedSliceGrad", MakeKernel<StridedSliceGradKernel>);
  for (const char* op : {"Pad", "PadV2", "MirrorPad"}) registry.Register(op, MakeKernel<PadKernel>);
}

}  // namespace lanescope::exec::cuda
