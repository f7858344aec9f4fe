// Random tensors.
#include "core/base/error.h"
#include "core/graph/ops/common.h"
#include "core/graph/ops/op_spec.h"

namespace lanescope::ops {
namespace {

void InferKeyAndCounter(InferenceContext& context) {
  context.SetShape(0, {1});
  context.SetShape(1, {2});
  if (context.num_outputs() > 2) context.SetShape(2, Shape{});
}

}  // namespace

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
      .Infer(ShapeOfInput<0>)
      .Work(random)
      .Stateful();
  op("RandomShuffle(value: T) -> (output: T)", "seed: int = 0; seed2: int = 0; T: type")
      .Infer(SameShape)
      .Stateful();
  op("StatelessRandomUniform(shape: T, seed: Tseed) -> (output: dtype)",
     "dtype: floating = float; T: index = int32; Tseed: index = int64")
      .Infer(ShapeOfInput<0>)
      .Work(random);
  op("StatelessRandomUniformV2(shape: Tshape, key: uint64, counter: uint64, alg: int32) -> (output: dtype)",
     "dtype: floating = float; Tshape: index = int32")
      .Infer(ShapeOfInput<0>)
      .Work(random);
  op("StatelessRandomNormal(shape: T, seed: Tseed) -> (output: dtype)",
     "dtype: floating = float; T: index = int32; Tseed: index = int64")
      .Infer(ShapeOfInput<0>)
      .Work(random);
  op("StatelessRandomNormalV2(shape: Tshape, key: uint64, counter: uint64, alg: int32) -> (output: dtype)",
     "dtype: floating = float; Tshape: index = int32")
      .Infer(ShapeOfInput<0>)
      .Work(random);
  op("StatelessTruncatedNormal(shape: T, seed: Tseed) -> (output: dtype)",
     "dtype: floating = float; T: index = int32; Tseed: index = int64")
      .Infer(ShapeOfInput<0>)
      .Work(random);
  op("StatelessTruncatedNormalV2(shape: Tshape, key: uint64, counter: uint64, alg: int32) -> (output: dtype)",
     "dtype: floating = float; Tshape: index = int32")
      .Infer(ShapeOfInput<0>)
      .Work(random);
  op("StatelessRandomUniformInt(shape: T, seed: Tseed, minval: dtype, maxval: dtype) -> (output: dtype)",
     "dtype: index; T: index; Tseed: index = int64")
      .Infer(ShapeOfInput<0>)
      .Work(random);
  op("StatelessRandomUniformIntV2(shape: Tshape, key: uint64, counter: uint64, alg: int32, minval: dtype, "
     "maxval: dtype) -> (output: dtype)",
     "dtype: index; Tshape: index = int32")
      .Infer(ShapeOfInput<0>)
      .Work(random);
  op("StatelessRandomGetKeyCounter(seed: Tseed) -> (key: uint64, counter: uint64)", "Tseed: index = int64")
      .Infer(InferKeyAndCounter);
  op("StatelessRandomGetKeyCounterAlg(seed: Tseed) -> (key: uint64, counter: uint64, alg: int32)",
     "Tseed: index = int64")
      .Infer(InferKeyAndCounter);
  op("StatelessRandomGetAlg() -> (alg: int32)").Infer(ScalarOutput);
}

}  // namespace lanescope::ops
