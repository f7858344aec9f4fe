// Random tensors.
#include "core/base/error.h"
#include "core/graph/ops/common.h"
#include "core/graph/ops/op_spec.h"

namespace lanescope::ops {

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
  op("StatelessRandomNormal(shape: T, seed: Tseed) -> (output: dtype)",
     "dtype: floating = float; T: index = int32; Tseed: index = int64")
      .Infer(ShapeOfInput<0>)
      .Work(random);
  op("StatelessTruncatedNormal(shape: T, seed: Tseed) -> (output: dtype)",
     "dtype: floating = float; T: index = int32; Tseed: index = int64")
      .Infer(ShapeOfInput<0>)
      .Work(random);
  op("StatelessRandomUniformInt(shape: T, seed: Tseed, minval: dtype, maxval: dtype) -> (output: dtype)",
     "dtype: index; T: index; Tseed: index = int64")
      .Infer(ShapeOfInput<0>)
      .Work(random);
}

}  // namespace lanescope::ops
