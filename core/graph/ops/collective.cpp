// Ops of which every device has a part.
#include "core/graph/ops/common.h"
#include "core/graph/ops/op_spec.h"

namespace lanescope::ops {
namespace {

// Of a ring: every element is added once for each of the others, in shares.
OpWork AllReduceCost(const Node&, std::span<const TensorInfo> inputs, std::span<const TensorInfo> outputs) {
  return {CountOf(outputs[0]), SaturatingMul(2, TotalBytes(inputs, outputs))};
}

}  // namespace

void RegisterCollectiveOps(OpRegistry& registry) {
  const OpLister op(registry);
  op("NcclAllReduce(input: T) -> (data: T)",
     "reduction: {'min', 'max', 'prod', 'sum'}; T: {half, float, double, index}; num_devices: int; "
     "shared_name: string")
      .Infer(SameShape)
      .Work(AllReduceCost)
      .Stateful();
}

}  // namespace lanescope::ops
