// SPDX-License-Identifier: Apache-2.0
// Element-wise maths, comparisons, casts and selection.
#include <algorithm>

#include "core/base/error.h"
#include "core/graph/ops/common.h"
#include "core/graph/ops/int_functions.h"
#include "core/graph/ops/op_spec.h"

namespace lanescope::ops {
namespace {

template <const IntUnary& function>
void Unary(InferenceContext& context) {
  SameShape(context);
  if (!AnyKnown(context)) return;
  std::optional<Elements> elements = GetElements(context, 0);
  if (!elements) return;
  for (ValueRange& element : *elements) {
    element = ApplyRange(function, element, context.output().dtype);
  }
  SetElements(context, 0, context.shape(0), *elements);
}

void FoldBinary(InferenceContext& context, const IntBinary& function) {
  const Shape shape = context.output().shape;
  if (!AnyKnown(context) || !shape.IsExact() || shape.NumElements() > kMaxFolded) return;
  const std::optional<Elements> a = GetElements(context, 0);
  const std::optional<Elements> b = GetElements(context, 1);
  if (!a || !b) return;
  const std::vector<int64_t> at_a = BroadcastPositions(context.shape(0), shape);
  const std::vector<int64_t> at_b = BroadcastPositions(context.shape(1), shape);
  Elements result(at_a.size());
  for (size_t i = 0; i < result.size(); ++i) {
    const std::optional<ValueRange> range =
        ApplyRange(function, (*a)[static_cast<size_t>(at_a[i])], (*b)[static_cast<size_t>(at_b[i])],
                   context.output().dtype);
    if (!range) return;  // left to the kernel, which reports the division by zero
    result[i] = *range;
  }
  SetElements(context, 0, shape, result);
}

template <const IntBinary& function>
void Binary(InferenceContext& context) {
  Broadcast(context);
  FoldBinary(context, function);
}

bool IsPositive(const InferenceContext& context, int input) {
  const std::optional<Elements> elements = GetElements(context, input);
  if (!elements) return false;
  for (const ValueRange& element : *elements) {
    if (element.low <= 0) return false;
  }
  return true;
}

void InferFloorDiv(InferenceContext& context) {
  Broadcast(context);
  if (!AnyKnown(context)) return;
  FoldBinary(context, IsPositive(context, 1) ? FloorDivPositiveInt : FloorDivInt);
}

// Shapes need not match when `incompatible_shape_error` is off: the result is then one bool.
template <const IntBinary& function>
void InferEqual(InferenceContext& context) {
  if (context.node().BoolAttr("incompatible_shape_error", true)) {
    Binary<function>(context);
    return;
  }
  try {
    Binary<function>(context);
    if (!context.output().shape.IsExact()) context.SetShape(0, Shape::Unknown());
  } catch (const Error&) {
    context.SetShape(0, Shape{});
  }
}

void InferCast(InferenceContext& context) {
  SameShape(context);
  if (!AnyKnown(context) || !IsFoldable(context.output().dtype)) return;
  std::optional<Elements> elements = GetElements(context, 0);
  if (!elements) return;
  const DataType to = context.output().dtype;
  for (ValueRange& element : *elements) {
    // Adding zero wraps a value to the new type as the kernel does, and drops ranges that do not fit it.
    element = to == DataType::kBool ? ApplyRange(NotEqualInt, element, Exactly(0), to).value_or(ValueRange{})
                                    : ApplyRange(AddInt, element, Exactly(0), to).value_or(ValueRange{});
  }
  SetElements(context, 0, context.shape(0), *elements);
}

// A type of another size adds or takes a last dimension.
void InferBitcast(InferenceContext& context) {
  Shape shape = context.shape(0);
  const auto from = static_cast<int64_t>(ElementSize(context.input(0).dtype));
  const auto to = static_cast<int64_t>(ElementSize(context.output().dtype));
  if (shape.known_rank() && from > 0 && to > 0 && from != to) {
    if (from > to) {
      shape.Append(from / to);
    } else if (shape.rank() == 0 ||
               (IsExact(shape[shape.rank() - 1]) && shape[shape.rank() - 1] != to / from)) {
      Throw(Code::kInvalidArgument, "bitcast of shape {} needs a last dimension of {}", shape.ToString(),
            to / from);
    } else {
      shape.Erase(shape.rank() - 1);
    }
  }
  context.SetShape(0, shape);
}

void InferClip(InferenceContext& context) {
  context.SetShape(0, BroadcastShapes(BroadcastShapes(context.shape(0), context.shape(1)), context.shape(2)));
}

void FoldSelect(InferenceContext& context) {
  const Shape shape = context.output().shape;
  if (!AnyKnown(context) || !shape.IsExact() || shape.NumElements() > kMaxFolded) return;
  const std::optional<Elements> condition = GetElements(context, 0);
  const std::optional<Elements> chosen[] = {GetElements(context, 2), GetElements(context, 1)};
  if (!condition || !chosen[0] || !chosen[1]) return;
  const std::vector<int64_t> at_condition = BroadcastPositions(context.shape(0), shape);
  const std::vector<int64_t> at[] = {BroadcastPositions(context.shape(2), shape),
                                     BroadcastPositions(context.shape(1), shape)};
  Elements result(at_condition.size());
  for (size_t i = 0; i < result.size(); ++i) {
    const ValueRange& c = (*condition)[static_cast<size_t>(at_condition[i])];
    const ValueRange& f = (*chosen[0])[static_cast<size_t>(at[0][i])];
    const ValueRange& t = (*chosen[1])[static_cast<size_t>(at[1][i])];
    result[i] =
        c.exact() ? (c.low != 0 ? t : f) : ValueRange{std::min(t.low, f.low), std::max(t.high, f.high)};
  }
  SetElements(context, 0, shape, result);
}

// The condition has the shape of the operands, or is a scalar, or a vector over their first dimension.
void InferSelect(InferenceContext& context) {
  const Shape shape = MergeShapes(context.shape(1), context.shape(2));
  const Shape& condition = context.shape(0);
  context.SetShape(0, shape);
  if (!shape.known_rank() || !condition.known_rank()) return;
  if (condition.rank() == 1 && shape.rank() > 1) {
    MergeDim(condition[0], shape[0]);
    return;
  }
  if (condition.rank() > 0) context.SetShape(0, MergeShapes(shape, condition));
  FoldSelect(context);
}

void InferSelectV2(InferenceContext& context) {
  InferClip(context);
  FoldSelect(context);
}

OpWork AddNCost(const Node&, std::span<const TensorInfo> inputs, std::span<const TensorInfo> outputs) {
  const auto additions = static_cast<int64_t>(inputs.size()) - 1;
  return {SaturatingMul(additions, CountOf(outputs[0])), TotalBytes(inputs, outputs)};
}

}  // namespace

void RegisterMathOps(OpRegistry& registry) {
  const OpLister op(registry);
  const WorkFn transcendental = ElementCost(kTranscendentalFlops);
  op("Abs(x: T) -> (y: T)", "T: {floating, index, int16, int8}").Infer(Unary<AbsInt>).InPlace();
  op("Neg(x: T) -> (y: T)", "T: {floating, complex, index, int16, int8}").Infer(Unary<NegInt>).InPlace();
  op("Sign(x: T) -> (y: T)", "T: {floating, complex, index, int16, int8}").Infer(SameShape).InPlace();
  op("Square(x: T) -> (y: T)", "T: {real, complex}").Infer(Unary<SquareInt>).InPlace();
  op("Sqrt(x: T) -> (y: T)", "T: {floating, complex}").Infer(SameShape).InPlace();
  op("Rsqrt(x: T) -> (y: T)", "T: {floating, complex}").Infer(SameShape).InPlace();
  op("Reciprocal(x: T) -> (y: T)", "T: {floating, complex, index, int16, int8}").Infer(SameShape).InPlace();
  op("Inv(x: T) -> (y: T)", "T: {floating, complex, index, int16, int8}").Infer(SameShape).InPlace();
  op("Exp(x: T) -> (y: T)", "T: {floating, complex}").Infer(SameShape).InPlace().Work(transcendental);
  op("Expm1(x: T) -> (y: T)", "T: {floating, complex}").Infer(SameShape).InPlace().Work(transcendental);
  op("Log(x: T) -> (y: T)", "T: {floating, complex}").Infer(SameShape).InPlace().Work(transcendental);
  op("Log1p(x: T) -> (y: T)", "T: {floating, complex}").Infer(SameShape).InPlace().Work(transcendental);
  op("Sin(x: T) -> (y: T)", "T: {floating, complex}").Infer(SameShape).InPlace().Work(transcendental);
  op("Cos(x: T) -> (y: T)", "T: {floating, complex}").Infer(SameShape).InPlace().Work(transcendental);
  op("Tan(x: T) -> (y: T)", "T: {floating, complex}").Infer(SameShape).InPlace().Work(transcendental);
  op("Asin(x: T) -> (y: T)", "T: {floating, complex}").Infer(SameShape).InPlace().Work(transcendental);
  op("Acos(x: T) -> (y: T)", "T: {floating, complex}").Infer(SameShape).InPlace().Work(transcendental);
  op("Atan(x: T) -> (y: T)", "T: {floating, complex}").Infer(SameShape).InPlace().Work(transcendental);
  op("Sinh(x: T) -> (y: T)", "T: {floating, complex}").Infer(SameShape).InPlace().Work(transcendental);
  op("Cosh(x: T) -> (y: T)", "T: {floating, complex}").Infer(SameShape).InPlace().Work(transcendental);
  op("Tanh(x: T) -> (y: T)", "T: {floating, complex}").Infer(SameShape).InPlace().Work(transcendental);
  op("Asinh(x: T) -> (y: T)", "T: {floating, complex}").Infer(SameShape).InPlace().Work(transcendental);
  op("Acosh(x: T) -> (y: T)", "T: {floating, complex}").Infer(SameShape).InPlace().Work(transcendental);
  op("Atanh(x: T) -> (y: T)", "T: {floating, complex}").Infer(SameShape).InPlace().Work(transcendental);
  op("Sigmoid(x: T) -> (y: T)", "T: {floating, complex}").Infer(SameShape).InPlace().Work(transcendental);
  op("Erf(x: T) -> (y: T)", "T: floating").Infer(SameShape).InPlace().Work(transcendental);
  op("Erfc(x: T) -> (y: T)", "T: floating").Infer(SameShape).InPlace().Work(transcendental);
  op("Erfinv(x: T) -> (y: T)", "T: floating").Infer(SameShape).InPlace().Work(transcendental);
  op("Ndtri(x: T) -> (y: T)", "T: floating").Infer(SameShape).InPlace().Work(transcendental);
  op("Lgamma(x: T) -> (y: T)", "T: floating").Infer(SameShape).InPlace().Work(transcendental);
  op("Digamma(x: T) -> (y: T)", "T: floating").Infer(SameShape).InPlace().Work(transcendental);
  op("Floor(x: T) -> (y: T)", "T: floating").Infer(SameShape).InPlace();
  op("Ceil(x: T) -> (y: T)", "T: floating").Infer(SameShape).InPlace();
  op("Round(x: T) -> (y: T)", "T: {floating, complex, index, int16, int8}").Infer(SameShape).InPlace();
  op("Rint(x: T) -> (y: T)", "T: floating").Infer(SameShape).InPlace();
  op("IsNan(x: T) -> (y: bool)", "T: floating").Infer(SameShape);
  op("IsInf(x: T) -> (y: bool)", "T: floating").Infer(SameShape);
  op("IsFinite(x: T) -> (y: bool)", "T: floating").Infer(SameShape);
  op("LogicalNot(x: bool) -> (y: bool)").Infer(Unary<NotInt>).InPlace();
  op("Invert(x: T) -> (y: T)", "T: integer").Infer(SameShape).InPlace();
  op("SqrtGrad(y: T, dy: T) -> (z: T)", "T: {floating, complex}")
      .Infer(SameShapes)
      .InPlace()
      .Work(ElementCost(3));
  op("RsqrtGrad(y: T, dy: T) -> (z: T)", "T: {floating, complex}")
      .Infer(SameShapes)
      .InPlace()
      .Work(ElementCost(3));
  op("InvGrad(y: T, dy: T) -> (z: T)", "T: {floating, complex}")
      .Infer(SameShapes)
      .InPlace()
      .Work(ElementCost(3));
  op("ReciprocalGrad(y: T, dy: T) -> (z: T)", "T: {floating, complex}")
      .Infer(SameShapes)
      .InPlace()
      .Work(ElementCost(3));
  op("SigmoidGrad(y: T, dy: T) -> (z: T)", "T: {floating, complex}")
      .Infer(SameShapes)
      .InPlace()
      .Work(ElementCost(3));
  op("TanhGrad(y: T, dy: T) -> (z: T)", "T: {floating, complex}")
      .Infer(SameShapes)
      .InPlace()
      .Work(ElementCost(3));
  op("Add(x: T, y: T) -> (z: T)", "T: {floating, complex, index, uint8, int16, int8, string}")
      .Infer(Binary<AddInt>)
      .InPlace();
  op("AddV2(x: T, y: T) -> (z: T)", "T: {real, complex}").Infer(Binary<AddInt>).InPlace();
  op("Sub(x: T, y: T) -> (z: T)", "T: {real, complex}").Infer(Binary<SubInt>).InPlace();
  op("Mul(x: T, y: T) -> (z: T)", "T: {real, complex}").Infer(Binary<MulInt>).InPlace();
  op("Maximum(x: T, y: T) -> (z: T)", "T: real").Infer(Binary<MaxInt>).InPlace();
  op("Minimum(x: T, y: T) -> (z: T)", "T: real").Infer(Binary<MinInt>).InPlace();
  op("FloorDiv(x: T, y: T) -> (z: T)", "T: {real, complex}").Infer(InferFloorDiv).InPlace();
  op("FloorMod(x: T, y: T) -> (z: T)", "T: real").Infer(Binary<FloorModInt>).InPlace();
  op("Div(x: T, y: T) -> (z: T)", "T: {real, complex}").Infer(Binary<TruncateDivInt>).InPlace();
  op("TruncateDiv(x: T, y: T) -> (z: T)", "T: {real, complex}").Infer(Binary<TruncateDivInt>).InPlace();
  op("Mod(x: T, y: T) -> (z: T)", "T: {floating, index}").Infer(Binary<TruncateModInt>).InPlace();
  op("TruncateMod(x: T, y: T) -> (z: T)", "T: {floating, index}").Infer(Binary<TruncateModInt>).InPlace();
  op("RealDiv(x: T, y: T) -> (z: T)", "T: {real, complex}").Infer(Broadcast).InPlace();
  op("DivNoNan(x: T, y: T) -> (z: T)", "T: {floating, complex}").Infer(Broadcast).InPlace();
  op("MulNoNan(x: T, y: T) -> (z: T)", "T: {floating, complex}").Infer(Broadcast).InPlace();
  op("SquaredDifference(x: T, y: T) -> (z: T)", "T: {floating, complex, index}")
      .Infer(Broadcast)
      .InPlace()
      .Work(ElementCost(2));
  op("Pow(x: T, y: T) -> (z: T)", "T: {floating, complex, index, int16, int8}")
      .Infer(Broadcast)
      .InPlace()
      .Work(transcendental);
  op("Atan2(y: T, x: T) -> (z: T)", "T: floating").Infer(Broadcast).InPlace().Work(transcendental);
  op("Xdivy(x: T, y: T) -> (z: T)", "T: {floating, complex}").Infer(Broadcast).InPlace().Work(transcendental);
  op("Zeta(x: T, q: T) -> (z: T)", "T: {float, double}").Infer(Broadcast).InPlace().Work(transcendental);
  op("Polygamma(a: T, x: T) -> (z: T)", "T: {float, double}").Infer(Broadcast).InPlace().Work(transcendental);
  op("Xlogy(x: T, y: T) -> (z: T)", "T: {floating, complex}").Infer(Broadcast).InPlace().Work(transcendental);
  op("Xlog1py(x: T, y: T) -> (z: T)", "T: {floating, complex}")
      .Infer(Broadcast)
      .InPlace()
      .Work(transcendental);
  op("Less(x: T, y: T) -> (z: bool)", "T: real").Infer(Binary<LessInt>);
  op("LessEqual(x: T, y: T) -> (z: bool)", "T: real").Infer(Binary<LessEqualInt>);
  op("Greater(x: T, y: T) -> (z: bool)", "T: real").Infer(Binary<GreaterInt>);
  op("GreaterEqual(x: T, y: T) -> (z: bool)", "T: real").Infer(Binary<GreaterEqualInt>);
  op("Equal(x: T, y: T) -> (z: bool)", "T: type; incompatible_shape_error: bool = true")
      .Infer(InferEqual<EqualInt>);
  op("NotEqual(x: T, y: T) -> (z: bool)", "T: type; incompatible_shape_error: bool = true")
      .Infer(InferEqual<NotEqualInt>);
  op("ApproximateEqual(x: T, y: T) -> (z: bool)", "T: number; tolerance: float = 1e-05").Infer(SameShapes);
  op("LogicalAnd(x: bool, y: bool) -> (z: bool)").Infer(Binary<MinInt>).InPlace();
  op("LogicalOr(x: bool, y: bool) -> (z: bool)").Infer(Binary<MaxInt>).InPlace();
  op("BitwiseAnd(x: T, y: T) -> (z: T)", "T: integer").Infer(Broadcast).InPlace();
  op("BitwiseOr(x: T, y: T) -> (z: T)", "T: integer").Infer(Broadcast).InPlace();
  op("BitwiseXor(x: T, y: T) -> (z: T)", "T: integer").Infer(Broadcast).InPlace();
  op("LeftShift(x: T, y: T) -> (z: T)", "T: integer").Infer(Broadcast).InPlace();
  op("RightShift(x: T, y: T) -> (z: T)", "T: integer").Infer(Broadcast).InPlace();
  op("Cast(x: SrcT) -> (y: DstT)", "SrcT: type; DstT: type; Truncate: bool = false").Infer(InferCast);
  op("Bitcast(input: T) -> (output: type)", "T: number; type: number").Infer(InferBitcast);
  op("ClipByValue(t: T, clip_value_min: T, clip_value_max: T) -> (output: T)", "T: number")
      .Infer(InferClip)
      .InPlace()
      .Work(ElementCost(2));
  op("AddN(inputs: N * T) -> (sum: T)", "N: int >= 1; T: {number, variant}")
      .Infer(SameShapes)
      .InPlace()
      .Work(AddNCost);
  op("AccumulateNV2(inputs: N * T) -> (sum: T)", "N: int >= 1; T: number; shape: shape")
      .Infer(SameShapes)
      .InPlace()
      .Work(AddNCost);
  op("Select(condition: bool, t: T, e: T) -> (output: T)", "T: type").Infer(InferSelect);
  op("SelectV2(condition: bool, t: T, e: T) -> (output: T)", "T: type").Infer(InferSelectV2);
}

}  // namespace lanescope::ops
