// Reshaping, transposing, tiling, padding and filling.
#include <algorithm>

#include "core/base/error.h"
#include "core/graph/ops/common.h"
#include "core/graph/ops/op_spec.h"

namespace lanescope::ops {
namespace {

// The elements of input 0 in the same order under the shape of output 0, if that is exact.
void PassElements(InferenceContext& context) {
  const TensorInfo& input = context.input(0);
  TensorInfo& output = context.output();
  output.handle = input.handle;
  if (!IsFoldable(input.dtype) || !output.shape.IsExact()) return;
  if (input.value != nullptr && input.value->NumElements() <= kMaxFolded) {
    output.value = std::make_shared<const Tensor>(input.value->Reshaped(output.shape));
  }
  output.ranges = input.ranges;
}

// Element k of output 0 is element positions[k] of input 0.
void MoveElements(InferenceContext& context, const Elements& elements,
                  const std::vector<int64_t>& positions) {
  Elements moved(positions.size());
  for (size_t k = 0; k < moved.size(); ++k) moved[k] = elements[static_cast<size_t>(positions[k])];
  SetElements(context, 0, context.output().shape, moved);
}

// The one dimension left open by `target` such that it has the elements of `input`; -1 elsewhere is unknown.
Dim FillDim(const Shape& input, const Shape& target, int open) {
  Dim rest = 1;
  for (int i = 0; i < target.rank(); ++i) {
    if (i != open) rest = MulDims(rest, target[i]);
  }
  if (!input.HasBound()) return kUnknownDim;
  const int64_t total = input.NumElements();
  if (!IsExact(rest)) return BoundedDim(total);
  if (rest == 0) return total == 0 && target[open] != kUnknownDim ? target[open] : kUnknownDim;
  if (!input.IsExact()) return BoundedDim(total / rest);
  if (total % rest != 0) {
    Throw(Code::kInvalidArgument, "{} elements of shape {} do not fill shape {}", total, input.ToString(),
          target.ToString());
  }
  return total / rest;
}

// Dimensions from the shape tensor; `open` gets the number of the only one that is not exact, -1 if there is
// none, and -2 if there are several. A value of -1 asks for the dimension that fills the shape.
Shape TargetShape(const Elements& elements, int* open, bool* asked) {
  Shape target;
  *open = -1;
  *asked = false;
  for (const ValueRange& element : elements) {
    Dim dim = element.exact() || element.low >= 0 ? DimOfRange(element) : kUnknownDim;
    if (element.exact() && dim == kUnknownDim) {
      if (*asked) Throw(Code::kInvalidArgument, "more than one dimension of -1");
      *asked = true;
      *open = target.rank();
    } else if (!IsExact(dim) && !*asked) {
      *open = *open == -1 ? target.rank() : -2;
    }
    target.Append(dim);
  }
  return target;
}

void InferReshape(InferenceContext& context) {
  const Shape& input = context.shape(0);
  ShapeFromInput(context, 1);  // refuses too many dimensions
  const std::optional<Elements> elements = GetElements(context, 1);
  if (!elements) return;
  int open = -1;
  bool asked = false;
  Shape target = TargetShape(*elements, &open, &asked);
  if (open >= 0) {
    const Dim filled = FillDim(input, target, open);
    const bool looser = !IsExact(filled) && HasBound(target[open]) && BoundOf(target[open]) < BoundOf(filled);
    if (filled != kUnknownDim && !looser) target.set_dim(open, filled);
  }
  if (input.IsExact() && target.IsExact() && input.NumElements() != target.NumElements()) {
    Throw(Code::kInvalidArgument, "{} elements of shape {} do not fill shape {}", input.NumElements(),
          input.ToString(), target.ToString());
  }
  context.SetShape(0, target);
  PassElements(context);
}

void InferExpandDims(InferenceContext& context) {
  Shape shape = context.shape(0);
  if (!shape.known_rank()) return;
  const std::optional<int64_t> axis = context.IntScalar(1);
  if (!axis) {
    context.SetShape(0, UnknownOfRank(shape.rank() + 1));
    return;
  }
  shape.Insert(NormalizeAxis(*axis, shape.rank() + 1), 1);
  context.SetShape(0, shape);
  PassElements(context);
}

void InferSqueeze(InferenceContext& context) {
  const Shape& shape = context.shape(0);
  if (!shape.known_rank()) return;
  std::vector<bool> squeezed(static_cast<size_t>(shape.rank()), false);
  static const std::vector<int64_t> kAll;
  const std::vector<int64_t>& axes =
      context.node().FindAttr("squeeze_dims") ? context.node().IntListAttr("squeeze_dims") : kAll;
  for (const int64_t axis : axes) {
    const int i = NormalizeAxis(axis, shape.rank());
    if (IsExact(shape[i]) && shape[i] != 1) {
      Throw(Code::kInvalidArgument, "cannot squeeze dimension {} of shape {}", i, shape.ToString());
    }
    squeezed[static_cast<size_t>(i)] = true;
  }
  // Without a list every dimension of 1 goes, and one that only may be 1 leaves the rank open.
  if (axes.empty() && !shape.IsExact()) return;
  Shape result;
  for (int i = 0; i < shape.rank(); ++i) {
    if (!squeezed[static_cast<size_t>(i)] && !(axes.empty() && shape[i] == 1)) result.Append(shape[i]);
  }
  context.SetShape(0, result);
  PassElements(context);
}

void InferTranspose(InferenceContext& context) {
  const Shape& shape = context.shape(0);
  const std::optional<std::vector<int64_t>> order = context.IntValues(1);
  if (!shape.known_rank()) return;
  context.SetShape(0, UnknownOfRank(shape.rank()));
  if (!order) return;
  std::vector<bool> seen(static_cast<size_t>(shape.rank()), false);
  Shape result;
  for (const int64_t from : *order) {
    const int axis = NormalizeAxis(from, shape.rank());
    if (seen[static_cast<size_t>(axis)])
      Throw(Code::kInvalidArgument, "axis {} stands twice in the order", axis);
    seen[static_cast<size_t>(axis)] = true;
    result.Append(shape[axis]);
  }
  if (result.rank() != shape.rank()) {
    Throw(Code::kInvalidArgument, "an order of {} axes for shape {}", result.rank(), shape.ToString());
  }
  context.SetShape(0, result);
  if (!AnyKnown(context) || !IsSmall(result)) return;
  const std::optional<Elements> elements = GetElements(context, 0);
  if (!elements) return;
  const std::vector<int64_t> in = DenseStrides(shape);
  const std::vector<int64_t> out = DenseStrides(result);
  std::vector<int64_t> positions(elements->size(), 0);
  for (size_t k = 0; k < positions.size(); ++k) {
    for (size_t d = 0; d < out.size(); ++d) {
      const int axis = NormalizeAxis((*order)[d], shape.rank());
      positions[k] +=
          static_cast<int64_t>(k) / out[d] % result[static_cast<int>(d)] * in[static_cast<size_t>(axis)];
    }
  }
  MoveElements(context, *elements, positions);
}

void RequireNonNegative(std::string_view what, const Elements& elements) {
  for (const ValueRange& element : elements) {
    if (element.high < 0) Throw(Code::kInvalidArgument, "{} of {} is negative", what, element.high);
  }
}

void InferTile(InferenceContext& context) {
  const Shape& shape = context.shape(0);
  if (!shape.known_rank()) return;
  const std::optional<Elements> multiples = GetElements(context, 1);
  context.SetShape(0, UnknownOfRank(shape.rank()));
  if (!multiples) return;
  RequireNonNegative("a multiple", *multiples);
  if (static_cast<int>(multiples->size()) != shape.rank()) {
    Throw(Code::kInvalidArgument, "{} multiples for shape {}", multiples->size(), shape.ToString());
  }
  Shape result;
  for (int i = 0; i < shape.rank(); ++i) {
    result.Append(MulDims(shape[i], DimOfRange((*multiples)[static_cast<size_t>(i)])));
  }
  context.SetShape(0, result);
  if (!IsFoldable(context.input(0).dtype) || !IsSmall(result)) return;
  const std::optional<Elements> elements = GetElements(context, 0);
  if (!elements) return;
  const std::vector<int64_t> in = DenseStrides(shape);
  const std::vector<int64_t> out = DenseStrides(result);
  std::vector<int64_t> positions(static_cast<size_t>(result.NumElements()), 0);
  for (size_t k = 0; k < positions.size(); ++k) {
    for (size_t d = 0; d < out.size(); ++d) {
      const auto i = static_cast<int>(d);
      positions[k] += static_cast<int64_t>(k) / out[d] % result[i] % shape[i] * in[d];
    }
  }
  MoveElements(context, *elements, positions);
}

// (before, after) for each dimension, added by `sign` = 1 or taken away by -1.
Shape PaddedShape(const InferenceContext& context, int sign) {
  const Shape& shape = context.shape(0);
  if (!shape.known_rank()) return shape;
  const std::optional<Elements> paddings = GetElements(context, 1);
  if (!paddings) return UnknownOfRank(shape.rank());
  RequireNonNegative("a padding", *paddings);
  if (paddings->size() != 2 * static_cast<size_t>(shape.rank())) {
    Throw(Code::kInvalidArgument, "{} paddings for shape {}", paddings->size(), shape.ToString());
  }
  Shape result;
  for (size_t i = 0; i < paddings->size() / 2; ++i) {
    const Dim added = AddDims(DimOfRange((*paddings)[2 * i]), DimOfRange((*paddings)[2 * i + 1]));
    const Dim dim = shape[static_cast<int>(i)];
    if (sign > 0) {
      result.Append(AddDims(dim, added));
    } else if (IsExact(added)) {
      if (IsExact(dim) && dim < added) {
        Throw(Code::kInvalidArgument, "paddings of {} taken from a dimension of {}", added, dim);
      }
      result.Append(MapDim(dim, [&](int64_t n) { return std::max<int64_t>(0, n - added); }));
    } else {
      result.Append(Loosen(dim));
    }
  }
  return result;
}

void InferPad(InferenceContext& context) { context.SetShape(0, PaddedShape(context, 1)); }
void InferMirrorPadGrad(InferenceContext& context) { context.SetShape(0, PaddedShape(context, -1)); }

void InferOneHot(InferenceContext& context) {
  Shape shape = context.shape(0);
  if (!shape.known_rank()) return;
  const int64_t axis = context.node().IntAttr("axis", -1);
  shape.Insert(NormalizeAxis(axis, shape.rank() + 1), DimFromInput(context, 1));
  context.SetShape(0, shape);
}

void InferFill(InferenceContext& context) {
  context.RequireRank(0, 1);
  context.RequireRank(1, 0);
  const Shape shape = ShapeFromInput(context, 0);
  if (const std::optional<Elements> dims = GetElements(context, 0)) RequireNonNegative("a dimension", *dims);
  context.SetShape(0, shape);
  if (!IsFoldable(context.output().dtype) || !IsSmall(shape)) return;
  const std::optional<Elements> value = GetElements(context, 1);
  if (value)
    SetElements(context, 0, shape, Elements(static_cast<size_t>(shape.NumElements()), value->front()));
}

template <int64_t value>
void InferLike(InferenceContext& context) {
  const Shape& shape = context.shape(0);
  context.SetShape(0, shape);
  if (!IsFoldable(context.output().dtype) || !IsSmall(shape)) return;
  SetElements(context, 0, shape, Elements(static_cast<size_t>(shape.NumElements()), Exactly(value)));
}

void InferBroadcastTo(InferenceContext& context) {
  const Shape& input = context.shape(0);
  const Shape target = ShapeFromInput(context, 1);
  context.SetShape(0, target);
  if (!input.known_rank() || !target.known_rank()) return;
  const int added = target.rank() - input.rank();
  bool fits = added >= 0;
  for (int i = 0; fits && i < input.rank(); ++i) {
    const Dim wanted = target[added + i];
    fits = !IsExact(input[i]) || !IsExact(wanted) || input[i] == 1 || input[i] == wanted;
  }
  if (!fits) {
    Throw(Code::kInvalidArgument, "shape {} cannot be broadcast to {}", input.ToString(), target.ToString());
  }
  if (!AnyKnown(context) || !IsSmall(target)) return;
  const std::optional<Elements> elements = GetElements(context, 0);
  if (elements) MoveElements(context, *elements, BroadcastPositions(input, target));
}

// A tensor of twice the rank with input 0 on its diagonal.
void InferDiag(InferenceContext& context) {
  context.SetShape(0, ConcatShapes(context.shape(0), context.shape(0)));
}

// [d1, .., dk, d1, .., dk] gives [d1, .., dk].
void InferDiagPart(InferenceContext& context) {
  const Shape& input = context.shape(0);
  if (!input.known_rank()) return;
  const int half = input.rank() / 2;
  if (input.rank() == 0 || input.rank() != 2 * half) {
    Throw(Code::kInvalidArgument, "the diagonal of a tensor of rank {}, which is not even and positive",
          input.rank());
  }
  context.SetShape(0, MergeShapes(SubShape(input, 0, half), SubShape(input, half, input.rank())));
}

}  // namespace

void RegisterArrayOps(OpRegistry& registry) {
  const OpLister op(registry);
  op("Reshape(tensor: T, shape: Tshape) -> (output: T)", "T: type; Tshape: index = int32")
      .Infer(InferReshape)
      .AliasesInput0()
      .Work(NoWork);
  op("ExpandDims(input: T, dim: Tdim) -> (output: T)", "T: type; Tdim: index = int32")
      .Infer(InferExpandDims)
      .AliasesInput0()
      .Work(NoWork);
  op("Squeeze(input: T) -> (output: T)", "T: type; squeeze_dims: list(int) >= 0 = []")
      .Infer(InferSqueeze)
      .AliasesInput0()
      .Work(NoWork);
  op("Transpose(x: T, perm: Tperm) -> (y: T)", "T: type; Tperm: index = int32").Infer(InferTranspose);
  op("ConjugateTranspose(x: T, perm: Tperm) -> (y: T)", "T: type; Tperm: index = int32")
      .Infer(InferTranspose);
  op("Tile(input: T, multiples: Tmultiples) -> (output: T)", "T: type; Tmultiples: index = int32")
      .Infer(InferTile);
  op("Pad(input: T, paddings: Tpaddings) -> (output: T)", "T: type; Tpaddings: index = int32")
      .Infer(InferPad);
  op("PadV2(input: T, paddings: Tpaddings, constant_values: T) -> (output: T)",
     "T: type; Tpaddings: index = int32")
      .Infer(InferPad);
  op("MirrorPad(input: T, paddings: Tpaddings) -> (output: T)",
     "T: type; Tpaddings: index = int32; mode: {'REFLECT', 'SYMMETRIC'}")
      .Infer(InferPad);
  op("MirrorPadGrad(input: T, paddings: Tpaddings) -> (output: T)",
     "T: type; Tpaddings: index = int32; mode: {'REFLECT', 'SYMMETRIC'}")
      .Infer(InferMirrorPadGrad);
  op("ReverseV2(tensor: T, axis: Tidx) -> (output: T)",
     "Tidx: index = int32; T: {real, complex, string, bool}")
      .Infer(SameShape);
  op("OneHot(indices: TI, depth: int32, on_value: T, off_value: T) -> (output: T)",
     "axis: int = -1; T: type; TI: {index, uint8, int8} = int64")
      .Infer(InferOneHot);
  op("Fill(dims: index_type, value: T) -> (output: T)", "T: type; index_type: index = int32")
      .Infer(InferFill);
  op("ZerosLike(x: T) -> (y: T)", "T: type").Infer(InferLike<0>);
  op("OnesLike(x: T) -> (y: T)", "T: {real, complex, bool}").Infer(InferLike<1>);
  op("BroadcastTo(input: T, shape: Tidx) -> (output: T)", "T: type; Tidx: index = int32")
      .Infer(InferBroadcastTo);
  op("Diag(diagonal: T) -> (output: T)", "T: {floating, complex, index}").Infer(InferDiag);
  op("DiagPart(input: T) -> (diagonal: T)", "T: {floating, complex, index}").Infer(InferDiagPart);
  op("MatrixBandPart(input: T, num_lower: Tindex, num_upper: Tindex) -> (band: T)",
     "T: type; Tindex: index = int64")
      .Infer(SameShape);
}

}  // namespace lanescope::ops
