// SPDX-License-Identifier: Apache-2.0
// Ops for tensors that travel between tasks in fewer bits than they have. bfloat16 needs
// no op of its own: TensorFlow sends Cast nodes' results.
#include "core/graph/ops/wire.h"

#include "core/base/error.h"
#include "core/graph/ops/common.h"
#include "core/graph/ops/op_spec.h"

namespace lanescope::ops {
namespace {

void InferPacked(InferenceContext& context) {
  const Shape& shape = context.shape(0);
  if (shape.IsExact())
    context.SetShape(0, Shape{shape.NumElements() + kScaleBytes});
  else
    context.SetShape(0,
                     Shape{shape.HasBound() ? BoundedDim(shape.NumElements() + kScaleBytes) : kUnknownDim});
}

void InferUnpacked(InferenceContext& context) {
  const Shape& shape = context.node().GetShapeAttr("shape");
  const Shape& packed = context.shape(0);
  if (!shape.IsExact())
    Throw(Code::kInvalidArgument, "node '{}': the attribute 'shape' is {}; it must be known",
          context.node().name, shape.ToString());
  if (packed.known_rank() &&
      (packed.rank() != 1 || Contradict(packed[0], shape.NumElements() + kScaleBytes))) {
    Throw(Code::kInvalidArgument, "node '{}': {} packed bytes are no tensor of shape {}", context.node().name,
          packed.ToString(), shape.ToString());
  }
  context.SetShape(0, shape);
}

}  // namespace

void RegisterWireOps(OpRegistry& registry) {
  const OpLister op(registry);
  op("PackScaledInt8(x: float) -> (packed: int8)").Infer(InferPacked).Work(ElementCost(4));
  op("UnpackScaledInt8(packed: int8) -> (y: float)", "shape: shape")
      .Infer(InferUnpacked)
      .Work(ElementCost(1));
}

}  // namespace lanescope::ops
