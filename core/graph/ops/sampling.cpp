// SPDX-License-Identifier: Apache-2.0
// Classes drawn at random: from logits, and as candidates beside the true ones of a batch.
#include "core/graph/ops/sampling.h"

#include "core/base/error.h"
#include "core/graph/ops/common.h"
#include "core/graph/ops/op_spec.h"
#include "core/graph/ops/shape_rules.h"

namespace lanescope::ops {
namespace {

void InferMultinomial(InferenceContext& context) {
  context.SetShape(0, DrawnShape(context.shape(0), NumbersOf(context, 1)));
  if (context.num_inputs() > 2) CheckSeed(context.shape(2));
}

void InferCandidates(InferenceContext& context) {
  const CandidateRule rule(context.node());
  context.SetShape(0, {rule.sampled});
  context.SetShape(1, rule.TrueClasses(context.shape(0)));
  context.SetShape(2, {rule.sampled});
}

// At most a hit for each true class.
void InferAccidentalHits(InferenceContext& context) {
  const Shape& classes = context.shape(0);
  CheckCandidates(context.node(), classes, context.shape(1));
  const Dim most = classes.known_rank() ? Loosen(MulDims(classes[0], classes[1])) : kUnknownDim;
  for (int i = 0; i < 3; ++i) context.SetShape(i, {most});
}

// The sums of the exponentials, and a search in them for each sample.
OpWork MultinomialWork(const Node&, std::span<const TensorInfo> inputs, std::span<const TensorInfo> outputs) {
  const int64_t sums = SaturatingMul(kTranscendentalFlops + 1, CountOf(inputs[0]));
  return {sums + SaturatingMul(kTranscendentalFlops, CountOf(outputs[0])), TotalBytes(inputs, outputs)};
}

}  // namespace

Shape DrawnShape(const Shape& logits, const Numbers& samples) {
  if (logits.known_rank() && logits.rank() != 2) {
    Throw(Code::kInvalidArgument, "logits should be a matrix, got shape {}", logits.ToString());
  }
  if (samples.shape.known_rank() && samples.shape.rank() != 0) {
    Throw(Code::kInvalidArgument, "num_samples should be a scalar, got shape {}", samples.shape.ToString());
  }
  if (logits.known_rank() && logits[1] == 0)
    Throw(Code::kInvalidArgument, "num_classes should be positive, got 0");
  Shape shape = {logits.known_rank() ? logits[0] : kUnknownDim, kUnknownDim};
  if (!samples.elements) return shape;
  const ValueRange count = samples.elements->front();
  if (count.high < 0) Throw(Code::kInvalidArgument, "num_samples should be nonnegative, got {}", count.high);
  if (count.exact() || count.low >= 0) shape.set_dim(1, DimOfRange(count));
  return shape;
}

CandidateRule::CandidateRule(const Node& node)
    : num_true(node.IntAttr("num_true")),
      sampled(node.IntAttr("num_sampled")),
      range(node.op == "AllCandidateSampler" ? sampled : node.IntAttr("range_max")),
      unique(node.BoolAttr("unique")) {
  if (num_true < 1 || sampled < 1 || range < 1) {
    Throw(Code::kInvalidArgument, "num_true, num_sampled and range_max must be positive, not {}, {} and {}",
          num_true, sampled, range);
  }
  if (unique && sampled > range) Throw(Code::kInvalidArgument, "Sampler's range is too small.");
}

Shape CandidateRule::TrueClasses(const Shape& given) const {
  if (!given.known_rank()) return {kUnknownDim, num_true};
  if (given.rank() != 2) Throw(Code::kInvalidArgument, "true_classes must be a matrix");
  if (Contradict(given[1], num_true)) {
    Throw(Code::kInvalidArgument, "true_classes must have num_true columns, expected: {} was: {}", given[1],
          num_true);
  }
  return {given[0], num_true};
}

void CheckCandidates(const Node& node, const Shape& true_classes, const Shape& candidates) {
  if (true_classes.known_rank() &&
      (true_classes.rank() != 2 || Contradict(true_classes[1], node.IntAttr("num_true")))) {
    Throw(Code::kInvalidArgument, "true_candidates must be a batch_size * num_true matrix");
  }
  if (candidates.known_rank() && candidates.rank() != 1) {
    Throw(Code::kInvalidArgument,
          "sampled_candidates must be a vector, which is typically an output from CandidateSampler");
  }
}

void RegisterSamplingOps(OpRegistry& registry) {
  const OpLister op(registry);
  op("Multinomial(logits: T, num_samples: int32) -> (output: output_dtype)",
     "seed: int = 0; seed2: int = 0; T: real; output_dtype: index = int64")
      .Infer(InferMultinomial)
      .Work(MultinomialWork)
      .Stateful();
  op("StatelessMultinomial(logits: T, num_samples: int32, seed: Tseed) -> (output: output_dtype)",
     "T: real; Tseed: index = int64; output_dtype: index = int64")
      .Infer(InferMultinomial)
      .Work(MultinomialWork);
  op("UniformCandidateSampler(true_classes: int64) -> (sampled_candidates: int64, true_expected_count: "
     "float, sampled_expected_count: float)",
     "num_true: int >= 1; num_sampled: int >= 1; unique: bool; range_max: int >= 1; seed: int = 0; seed2: "
     "int = 0")
      .Infer(InferCandidates)
      .Work(ElementCost(kTranscendentalFlops))
      .Stateful();
  op("LogUniformCandidateSampler(true_classes: int64) -> (sampled_candidates: int64, true_expected_count: "
     "float, sampled_expected_count: float)",
     "num_true: int >= 1; num_sampled: int >= 1; unique: bool; range_max: int >= 1; seed: int = 0; seed2: "
     "int = 0")
      .Infer(InferCandidates)
      .Work(ElementCost(2 * kTranscendentalFlops))
      .Stateful();
  op("FixedUnigramCandidateSampler(true_classes: int64) -> (sampled_candidates: int64, true_expected_count: "
     "float, sampled_expected_count: float)",
     "num_true: int >= 1; num_sampled: int >= 1; unique: bool; range_max: int >= 1; vocab_file: string = ''; "
     "distortion: float = 1.0; num_reserved_ids: int = 0; num_shards: int >= 1 = 1; shard: int >= 0 = 0; "
     "unigrams: list(float) = []; seed: int = 0; seed2: int = 0")
      .Infer(InferCandidates)
      .Work(ElementCost(kTranscendentalFlops))
      .Stateful();
  op("LearnedUnigramCandidateSampler(true_classes: int64) -> (sampled_candidates: int64, "
     "true_expected_count: float, sampled_expected_count: float)",
     "num_true: int >= 1; num_sampled: int >= 1; unique: bool; range_max: int >= 1; seed: int = 0; seed2: "
     "int = 0")
      .Infer(InferCandidates)
      .Work(ElementCost(2 * kTranscendentalFlops))
      .Stateful();
  op("ThreadUnsafeUnigramCandidateSampler(true_classes: int64) -> (sampled_candidates: int64, "
     "true_expected_count: float, sampled_expected_count: float)",
     "num_true: int >= 1; num_sampled: int >= 1; unique: bool; range_max: int >= 1; seed: int = 0; seed2: "
     "int = 0")
      .Infer(InferCandidates)
      .Work(ElementCost(2 * kTranscendentalFlops))
      .Stateful();
  op("AllCandidateSampler(true_classes: int64) -> (sampled_candidates: int64, true_expected_count: float, "
     "sampled_expected_count: float)",
     "num_true: int >= 1; num_sampled: int >= 1; unique: bool; seed: int = 0; seed2: int = 0")
      .Infer(InferCandidates)
      .Stateful();
  op("ComputeAccidentalHits(true_classes: int64, sampled_candidates: int64) -> (indices: int32, ids: int64, "
     "weights: float)",
     "num_true: int; seed: int = 0; seed2: int = 0")
      .Infer(InferAccidentalHits);
}

}  // namespace lanescope::ops
