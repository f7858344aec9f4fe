// SPDX-License-Identifier: Apache-2.0
// Reshaping, transposing, tiling, padding and filling.
#include "core/base/error.h"
#include "core/graph/ops/common.h"
#include "core/graph/ops/op_spec.h"
#include "core/graph/ops/shape_rules.h"

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

void InferReshape(InferenceContext& context) {
  context.SetShape(0, ReshapedShape(context.shape(0), NumbersOf(context, 1)));
  PassElements(context);
}

void InferExpandDims(InferenceContext& context) {
  const Shape& shape = context.shape(0);
  if (!shape.known_rank()) return;
  const std::optional<int64_t> axis = context.IntScalar(1);
  context.SetShape(0, axis ? ExpandedShape(shape, *axis) : UnknownOfRank(shape.rank() + 1));
  PassElements(context);
}

void InferSqueeze(InferenceContext& context) {
  if (!context.shape(0).known_rank()) return;
  const Node& node = context.node();
  const bool some = node.FindAttr("squeeze_dims") != nullptr;
  context.SetShape(0, SqueezedShape(context.shape(0), some ? std::span(node.IntListAttr("squeeze_dims"))
                                                           : std::span<const int64_t>()));
  PassElements(context);
}

void InferTranspose(InferenceContext& context) {
  const Shape& shape = context.shape(0);
  context.RequireRank(1, 1);
  const std::optional<std::vector<int64_t>> order = context.IntValues(1);
  if (!shape.known_rank()) return;
  context.SetShape(0, UnknownOfRank(shape.rank()));
  if (!order) return;
  const std::vector<int> axes = Permutation(*order, shape.rank());
  Shape result;
  for (const int axis : axes) result.Append(shape[axis]);
  context.SetShape(0, result);
  if (!AnyKnown(context) || !IsSmall(result)) return;
  const std::optional<Elements> elements = GetElements(context, 0);
  if (!elements) return;
  const std::vector<int64_t> in = DenseStrides(shape);
  const std::vector<int64_t> out = DenseStrides(result);
  std::vector<int64_t> positions(elements->size(), 0);
  for (size_t k = 0; k < positions.size(); ++k) {
    for (size_t d = 0; d < out.size(); ++d) {
      positions[k] +=
          static_cast<int64_t>(k) / out[d] % result[static_cast<int>(d)] * in[static_cast<size_t>(axes[d])];
    }
  }
  MoveElements(context, *elements, positions);
}

void InferTile(InferenceContext& context) {
  const Shape& shape = context.shape(0);
  if (!shape.known_rank()) return;
  const std::optional<Elements> multiples = GetElements(context, 1);
  context.SetShape(0, UnknownOfRank(shape.rank()));
  if (!multiples) return;
  const Shape result = TiledShape(shape, *multiples);
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

template <Shape (*padded)(const Shape&, const Elements&, PadMode)>
void InferPad(InferenceContext& context) {
  const Shape& shape = context.shape(0);
  if (!shape.known_rank()) return;
  const std::optional<Elements> paddings = GetElements(context, 1);
  context.SetShape(
      0, paddings ? padded(shape, *paddings, PadModeOf(context.node())) : UnknownOfRank(shape.rank()));
}

void InferOneHot(InferenceContext& context) {
  Shape shape = context.shape(0);
  if (!shape.known_rank()) return;
  const int64_t axis = context.node().IntAttr("axis", -1);
  shape.Insert(NormalizeAxis(axis, shape.rank() + 1), DimFromInput(context, 1));
  context.SetShape(0, shape);
}

void InferFill(InferenceContext& context) {
  RequireScalar("value", context.shape(1));
  const Shape shape = ShapeFromInput(context, 0);
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
  CheckBroadcast(input, target);
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
      .Infer(InferPad<PaddedShape>);
  op("PadV2(input: T, paddings: Tpaddings, constant_values: T) -> (output: T)",
     "T: type; Tpaddings: index = int32")
      .Infer(InferPad<PaddedShape>);
  op("MirrorPad(input: T, paddings: Tpaddings) -> (output: T)",
     "T: type; Tpaddings: index = int32; mode: {'REFLECT', 'SYMMETRIC'}")
      .Infer(InferPad<PaddedShape>);
  op("MirrorPadGrad(input: T, paddings: Tpaddings) -> (output: T)",
     "T: type; Tpaddings: index = int32; mode: {'REFLECT', 'SYMMETRIC'}")
      .Infer(InferPad<UnpaddedShape>);
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
