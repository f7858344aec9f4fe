// SPDX-License-Identifier: Apache-2.0
// Random tensors.
#include "core/base/error.h"
#include "core/graph/ops/common.h"
#include "core/graph/ops/op_spec.h"
#include "core/graph/ops/shape_rules.h"

namespace lanescope::ops {
namespace {

template <int maxval>
void CheckLimits(InferenceContext& context) {
  RequireScalar("minval", context.shape(maxval - 1));
  RequireScalar("maxval", context.shape(maxval));
}

void InferIntegers(InferenceContext& context) {
  context.SetShape(0, ShapeFromInput(context, 0));
  CheckLimits<2>(context);
}

// The inputs are shape and seed, and perhaps limits.
void InferSeeded(InferenceContext& context) {
  context.SetShape(0, ShapeFromInput(context, 0));
  CheckSeed(context.shape(1));
  if (context.num_inputs() > 2) CheckLimits<3>(context);
}

// The inputs are shape, key, counter and algorithm, and perhaps limits.
void InferKeyed(InferenceContext& context) {
  context.SetShape(0, ShapeFromInput(context, 0));
  CheckStream(context.shape(1), context.shape(2), context.shape(3));
  if (context.num_inputs() > 4) CheckLimits<5>(context);
}

void InferKeyAndCounter(InferenceContext& context) {
  CheckSeed(context.shape(0));
  context.SetShape(0, {1});
  context.SetShape(1, {2});
  if (context.num_outputs() > 2) context.SetShape(2, Shape{});
}

}  // namespace

void RequireScalar(std::string_view what, const Shape& shape) {
  if (!shape.known_rank() || shape.rank() == 0) return;
  Throw(Code::kInvalidArgument, "{} must be a scalar, not shape {}", what, shape.ToString());
}

void CheckSeed(const Shape& seed) {
  if (!Contradict(seed, Shape{2})) return;
  Throw(Code::kInvalidArgument, "seed must have shape [2], not {}", seed.ToString());
}

void CheckStream(const Shape& key, const Shape& counter, const Shape& algorithm) {
  RequireScalar("alg", algorithm);
  if (Contradict(key, Shape{1})) {
    Throw(Code::kInvalidArgument, "key must have shape [1], not {}", key.ToString());
  }
  if (!counter.known_rank() || (counter.rank() == 1 && (!HasBound(counter[0]) || BoundOf(counter[0]) >= 2)))
    return;
  Throw(Code::kInvalidArgument, "counter must be a vector with length at least 2, not {}",
        counter.ToString());
}

void RegisterRandomOps(OpRegistry& registry) {
  const OpLister op(registry);
  const WorkFn random = ElementCost(kTranscendentalFlops);
  op("RandomUniform(shape: T) -> (output: dtype)", "seed: int = 0; seed2: int = 0; dtype: floating; T: index")
      .Infer(ShapeOfInput<0>)
      .Work(random)
      .Stateful();
  op("RandomStandardNormal(shape: T) -> (output: dtype)",
     "seed: int = 0; seed2: int = 0; dtype: floating; T: index")
      .Infer(ShapeOfInput<0>)
      .Work(random)
      .Stateful();
  op("TruncatedNormal(shape: T) -> (output: dtype)",
     "seed: int = 0; seed2: int = 0; dtype: floating; T: index")
      .Infer(ShapeOfInput<0>)
      .Work(random)
      .Stateful();
  op("RandomUniformInt(shape: T, minval: Tout, maxval: Tout) -> (output: Tout)",
     "seed: int = 0; seed2: int = 0; Tout: index; T: index")
      .Infer(InferIntegers)
      .Work(random)
      .Stateful();
  op("RandomShuffle(value: T) -> (output: T)", "seed: int = 0; seed2: int = 0; T: type")
      .Infer(SameShape)
      .Stateful();
  op("StatelessRandomUniform(shape: T, seed: Tseed) -> (output: dtype)",
     "dtype: floating = float; T: index = int32; Tseed: index = int64")
      .Infer(InferSeeded)
      .Work(random);
  op("StatelessRandomUniformV2(shape: Tshape, key: uint64, counter: uint64, alg: int32) -> (output: dtype)",
     "dtype: floating = float; Tshape: index = int32")
      .Infer(InferKeyed)
      .Work(random);
  op("StatelessRandomNormal(shape: T, seed: Tseed) -> (output: dtype)",
     "dtype: floating = float; T: index = int32; Tseed: index = int64")
      .Infer(InferSeeded)
      .Work(random);
  op("StatelessRandomNormalV2(shape: Tshape, key: uint64, counter: uint64, alg: int32) -> (output: dtype)",
     "dtype: floating = float; Tshape: index = int32")
      .Infer(InferKeyed)
      .Work(random);
  op("StatelessTruncatedNormal(shape: T, seed: Tseed) -> (output: dtype)",
     "dtype: floating = float; T: index = int32; Tseed: index = int64")
      .Infer(InferSeeded)
      .Work(random);
  op("StatelessTruncatedNormalV2(shape: Tshape, key: uint64, counter: uint64, alg: int32) -> (output: dtype)",
     "dtype: floating = float; Tshape: index = int32")
      .Infer(InferKeyed)
      .Work(random);
  op("StatelessRandomUniformInt(shape: T, seed: Tseed, minval: dtype, maxval: dtype) -> (output: dtype)",
     "dtype: index; T: index; Tseed: index = int64")
      .Infer(InferSeeded)
      .Work(random);
  op("StatelessRandomUniformIntV2(shape: Tshape, key: uint64, counter: uint64, alg: int32, minval: dtype, "
     "maxval: dtype) -> (output: dtype)",
     "dtype: index; Tshape: index = int32")
      .Infer(InferKeyed)
      .Work(random);
  op("StatelessRandomGetKeyCounter(seed: Tseed) -> (key: uint64, counter: uint64)", "Tseed: index = int64")
      .Infer(InferKeyAndCounter);
  op("StatelessRandomGetKeyCounterAlg(seed: Tseed) -> (key: uint64, counter: uint64, alg: int32)",
     "Tseed: index = int64")
      .Infer(InferKeyAndCounter);
  op("StatelessRandomGetAlg() -> (alg: int32)").Infer(ScalarOutput);
}

}  // namespace lanescope::ops
