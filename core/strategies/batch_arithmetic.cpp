// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <set>
#include <string_view>

#include "core/strategies/batch_rule.h"
#include "core/strategies/layout_lookups.h"
#include "core/strategies/variables_in_parts.h"

namespace lanescope {
namespace {

using Vanishing = BatchRule::Vanishing;

// --- element by element ---

void Sums(BatchRule& rule) { rule.GiveAll(rule.TakeAlike(rule.All()), Vanishing::kIsProblem); }

void Multiplies(BatchRule& rule) { rule.GiveAll(rule.TakeFactors(rule.All()), Vanishing::kIsProblem); }

void Plain(BatchRule& rule) {
  rule.TakeAllPlain();
  BatchPart made;
  for (const size_t i : rule.All()) made.counts_rows = made.counts_rows || rule.in(i).counts_rows;
  rule.GiveAll(made, Vanishing::kIsProblem);
}

// A divisor that is a sum over the batch is added up over the parts first: the mean of the parts' ones, so
// that the quotient of terms is as large as a mean over the batch.
void Divides(BatchRule& rule) {
  if (!HasShares(rule.output(0).dtype)) return Plain(rule);
  const bool rows = rule.in(0).layout.parts() || rule.in(1).layout.parts();
  BatchPart made = rule.in(0);
  int divisor = rule.in(1).degree;
  if (rule.in(1).is_terms()) rule.Take(1, --divisor);
  if (rule.in(0).is_terms() && rows) rule.Take(0, --made.degree);
  made.degree -= divisor;
  made.is_known = rule.in(0).is_known && rule.in(1).is_known;
  rule.Give(0, made, Vanishing::kIsProblem);
}

// A square of rows has twice their degree.
void Squares(BatchRule& rule) {
  BatchPart made = rule.in(0);
  if (rule.num_inputs() == 2) made = rule.TakeAlike({0, 1});
  if (made.is_terms()) return Plain(rule);
  made.degree *= 2;
  rule.Give(0, made, Vanishing::kIsProblem);
}

void Casts(BatchRule& rule) {
  const bool to_whole = !HasShares(rule.output(0).dtype);
  if (to_whole && rule.in(0).is_whole && rule.in(0).degree == 0)
    return rule.Give(0, rule.in(0), Vanishing::kIsProblem);
  const bool rounds = HasShares(rule.info(0).dtype) && to_whole;
  if (rounds || rule.output(0).dtype == DataType::kBool) return Plain(rule);
  if (rule.in(0).counts_rows && HasShares(rule.output(0).dtype))
    return rule.Fail("computes with numbers of the batch's rows");
  Sums(rule);
}

void Selects(BatchRule& rule) {
  rule.TakePlain(0);
  BatchPart made = rule.TakeAlike({1, 2});
  if (made.is_terms() && rule.AnyRows()) {
    rule.Take(1, made.degree);
    rule.Take(2, made.degree);
  }
  rule.Give(0, made, Vanishing::kIsProblem);
}

// Linear in one input, which is a gradient, and whatever else in the others.
void LinearIn(BatchRule& rule, size_t gradient) {
  bool rows = false;
  for (size_t i = 0; i < rule.num_inputs(); ++i) {
    if (i != gradient) rule.TakePlain(i);
    rows = rows || rule.in(i).layout.parts();
  }
  BatchPart made = rule.in(gradient);
  if (made.is_terms() && rows) rule.Take(gradient, --made.degree);
  rule.GiveAll(made, Vanishing::kAddsUp);
}
void LinearInFirst(BatchRule& rule) { LinearIn(rule, 0); }
void LinearInSecond(BatchRule& rule) { LinearIn(rule, 1); }
void LinearInThird(BatchRule& rule) { LinearIn(rule, 2); }

// --- over axes ---

void AddsUp(BatchRule& rule) { rule.Give(0, rule.in(0), Vanishing::kAddsUp); }

void TakesMean(BatchRule& rule) {
  BatchPart made = rule.in(0);
  const bool over_batch = made.layout.parts() && !rule.AxisOfRows(0);
  if (over_batch) ++made.degree;
  rule.Give(0, made, Vanishing::kAddsUp);
}

void AddsUpSquares(BatchRule& rule) {
  BatchPart made = rule.in(0);
  if (made.is_terms()) return Plain(rule);
  made.degree *= 2;
  rule.Give(0, made, Vanishing::kAddsUp);
}

void PicksExtreme(BatchRule& rule) {
  rule.TakePlain(0);
  if (rule.in(0).layout.parts() && !rule.AxisOfRows(0)) rule.Fail("compares rows of the batch");
  rule.Give(0, {}, Vanishing::kAddsUp);
}

void FailAlong(BatchRule& rule, size_t input, std::optional<int> axis, const char* why) {
  const Layout& layout = rule.in(input).layout;
  if (layout.parts() && axis == layout.axis) rule.Fail(why);
}

void AlongLastAxis(BatchRule& rule) {
  FailAlong(rule, 0, rule.info(0).shape.rank() - 1, "compares rows of the batch");
  Plain(rule);
}

// Whole numbers are sorted to bring rows of one kind together, as tokens of one expert: each part sorts its
// own ones, and finds them by their numbers there.
void PicksLargest(BatchRule& rule) {
  const Shape& shape = rule.info(0).shape;
  const int last = shape.rank() - 1;
  const bool sorts = last >= 0 && rule.output(0).shape == shape && !HasShares(rule.output(0).dtype);
  if (!sorts || rule.in(0).layout != InParts(last)) return AlongLastAxis(rule);
  rule.TakeAllPlain();
  rule.GiveExactly(0, {.layout = InParts(last)});
  rule.GiveExactly(1, {.layout = InParts(last), .counts_rows = true});
}

void Accumulates(BatchRule& rule) {
  FailAlong(rule, 0, AxisOf(rule.info(1), rule.info(0).shape.rank()), "goes along the rows of the batch");
  if (rule.node().op == "Cumprod") return Plain(rule);
  BatchPart made = rule.in(0);
  made.ends_runs = made.is_terms() && made.is_whole;
  rule.Give(0, made, Vanishing::kIsProblem);
}

// The number of a row in its part says which run of that part it is in.
void Orders(BatchRule& rule) {
  const bool counts = rule.in(0).counts_rows || rule.in(1).counts_rows;
  if (!counts) return Plain(rule);
  if (!rule.in(0).ends_runs && !rule.in(1).ends_runs) return rule.Fail("numbers the rows of the batch");
  rule.Give(0, {}, Vanishing::kIsProblem);
}

// --- products ---

void Contracts(BatchRule& rule) { rule.Give(0, rule.TakeFactors(rule.All()), Vanishing::kAddsUp); }
void ContractsOuter(BatchRule& rule) { rule.Give(0, rule.TakeFactors({0, 2}), Vanishing::kAddsUp); }
void ContractsLast(BatchRule& rule) { rule.Give(0, rule.TakeFactors({1, 2}), Vanishing::kAddsUp); }

// --- layers ---

// How many values a channel of images has in the whole batch; -1: unknown.
int64_t ValuesOfChannel(BatchRule& rule) {
  const int64_t values = rule.info(0).shape.NumElements(), channels = rule.info(1).shape.NumElements();
  return values > 0 && channels > 0 ? values / channels : -1;
}

// In training every part has statistics of its own, as DistributedDataParallel has it; what runs along is the
// mean of theirs.
void Normalizes(BatchRule& rule) {
  rule.TakeAllPlain();
  rule.Give(0, {}, Vanishing::kIsProblem);
  const bool trains = rule.node().BoolAttr("is_training", true);
  if (trains && ValuesOfChannel(rule) == rule.count()) rule.Fail("has one value of a channel in each part");
  for (size_t k = 1; k < rule.num_outputs(); ++k) {
    BatchPart made;
    if (trains) made = {.layout = kTerms, .degree = 1};
    rule.GiveExactly(k, made);
  }
}
void NormalizesBackward(BatchRule& rule) {
  BatchPart made{.layout = kWhole, .degree = rule.in(0).degree};
  if (rule.in(0).is_terms()) return rule.Fail("normalizes over the batch");
  rule.Give(0, made, Vanishing::kIsProblem);
  for (size_t k = 1; k < rule.num_outputs(); ++k) {
    BatchPart sum = made;
    sum.layout = kTerms;
    if (k > 2) sum = {.layout = kTerms, .degree = 1};
    rule.GiveExactly(k, sum);
  }
}

const std::map<std::string_view, BatchRuleFunction, std::less<>>& ArithmeticRules() {
  static const std::map<std::string_view, BatchRuleFunction, std::less<>> kTable = {
      {"AddV2", &Sums},
      {"Add", &Sums},
      {"AddN", &Sums},
      {"AccumulateNV2", &Sums},
      {"Sub", &Sums},
      {"BiasAdd", &Sums},
      {"BiasAddV1", &Sums},
      {"Neg", &Sums},
      {"Identity", &Sums},
      {"RefIdentity", &Sums},
      {"Snapshot", &Sums},
      {"StopGradient", &Sums},
      {"PreventGradient", &Sums},
      {"DebugGradientIdentity", &Sums},
      {"CheckNumerics", &Sums},
      {"CheckNumericsV2", &Sums},
      {"Cast", &Casts},
      {"Mul", &Multiplies},
      {"MulNoNan", &Multiplies},
      {"RealDiv", &Divides},
      {"Div", &Divides},
      {"DivNoNan", &Divides},
      {"Xdivy", &Divides},
      {"Square", &Squares},
      {"SquaredDifference", &Squares},
      {"SelectV2", &Selects},
      {"Select", &Selects},
      {"ReluGrad", &LinearInFirst},
      {"Relu6Grad", &LinearInFirst},
      {"EluGrad", &LinearInFirst},
      {"SeluGrad", &LinearInFirst},
      {"LeakyReluGrad", &LinearInFirst},
      {"SoftplusGrad", &LinearInFirst},
      {"SoftsignGrad", &LinearInFirst},
      {"ResizeBilinearGrad", &LinearInFirst},
      {"ResizeNearestNeighborGrad", &LinearInFirst},
      {"LRNGrad", &LinearInFirst},
      {"MirrorPadGrad", &LinearInFirst},
      {"SigmoidGrad", &LinearInSecond},
      {"TanhGrad", &LinearInSecond},
      {"SqrtGrad", &LinearInSecond},
      {"RsqrtGrad", &LinearInSecond},
      {"ReciprocalGrad", &LinearInSecond},
      {"InvGrad", &LinearInSecond},
      {"AvgPoolGrad", &LinearInSecond},
      {"AvgPool3DGrad", &LinearInSecond},
      {"MaxPoolGrad", &LinearInThird},
      {"MaxPool3DGrad", &LinearInThird},
      {"Sum", &AddsUp},
      {"BiasAddGrad", &AddsUp},
      {"Mean", &TakesMean},
      {"L2Loss", &AddsUpSquares},
      {"Max", &PicksExtreme},
      {"Min", &PicksExtreme},
      {"Prod", &PicksExtreme},
      {"All", &PicksExtreme},
      {"Any", &PicksExtreme},
      {"ArgMax", &PicksExtreme},
      {"ArgMin", &PicksExtreme},
      {"EuclideanNorm", &PicksExtreme},
      {"Softmax", &AlongLastAxis},
      {"LogSoftmax", &AlongLastAxis},
      {"SoftmaxCrossEntropyWithLogits", &AlongLastAxis},
      {"SparseSoftmaxCrossEntropyWithLogits", &AlongLastAxis},
      {"TopK", &PicksLargest},
      {"TopKV2", &PicksLargest},
      {"Cumsum", &Accumulates},
      {"Cumprod", &Accumulates},
      {"MatMul", &Contracts},
      {"BatchMatMul", &Contracts},
      {"BatchMatMulV2", &Contracts},
      {"BatchMatMulV3", &Contracts},
      {"Einsum", &Contracts},
      {"Conv2D", &Contracts},
      {"Conv3D", &Contracts},
      {"DepthwiseConv2dNative", &Contracts},
      {"Conv2DBackpropInput", &ContractsLast},
      {"Conv3DBackpropInputV2", &ContractsLast},
      {"DepthwiseConv2dNativeBackpropInput", &ContractsLast},
      {"Conv2DBackpropFilter", &ContractsOuter},
      {"Conv3DBackpropFilterV2", &ContractsOuter},
      {"DepthwiseConv2dNativeBackpropFilter", &ContractsOuter},
      {"FusedBatchNorm", &Normalizes},
      {"FusedBatchNormV2", &Normalizes},
      {"FusedBatchNormV3", &Normalizes},
      {"FusedBatchNormGrad", &NormalizesBackward},
      {"FusedBatchNormGradV2", &NormalizesBackward},
      {"FusedBatchNormGradV3", &NormalizesBackward},
      {"MaxPool", &Plain},
      {"MaxPool3D", &Plain},
      {"AvgPool", &AddsUp},
      {"AvgPool3D", &AddsUp},
      {"ResizeBilinear", &LinearInFirst},
      {"ResizeNearestNeighbor", &LinearInFirst},
      {"LRN", &Plain},
      {"Less", &Orders},
      {"LessEqual", &Orders},
      {"Greater", &Orders},
      {"GreaterEqual", &Orders},
      {"Equal", &Plain},
      {"NotEqual", &Plain},
      {"ApproximateEqual", &Plain},
      {"ClipByValue", &Plain},
      {"IsNan", &Plain},
      {"IsInf", &Plain},
      {"IsFinite", &Plain},
      {"LeakyRelu", &Plain},
      {"Softplus", &Plain},
      {"Softsign", &Plain},
      {"Pow", &Plain},
      {"Xlog1py", &Plain},
      {"InTopK", &Plain},
      {"InTopKV2", &Plain},
  };
  return kTable;
}

}  // namespace

BatchRuleFunction FindArithmeticBatchRule(const Node& node) {
  if (const auto rule = ArithmeticRules().find(node.op); rule != ArithmeticRules().end()) return rule->second;
  return IsElementwise(node) ? &Plain : nullptr;
}

}  // namespace lanescope
