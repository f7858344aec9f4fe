// SPDX-License-Identifier: Apache-2.0
// Accumulators of gradients: by reference, and by handle (Resource...).
#include "core/graph/ops/common.h"
#include "core/graph/ops/op_spec.h"

namespace lanescope::ops {
namespace {

// The handle says what is taken from the accumulator.
void InferAccumulator(InferenceContext& context) {
  TensorInfo gradient;
  gradient.dtype = context.node().TypeAttr("dtype");
  gradient.shape = context.node().GetShapeAttr("shape");
  const bool is_reference = context.output().dtype == DataType::kString;
  context.SetShape(0, is_reference ? Shape{2} : Shape{});
  context.output().handle = std::make_shared<const TensorInfo>(std::move(gradient));
}

void InferTakeGradient(InferenceContext& context) {
  const TensorInfo* gradient = context.input(0).handle.get();
  if (gradient != nullptr) context.SetShape(0, gradient->shape);
}

// Rows by their numbers, and the shape of the whole.
void InferTakeRows(InferenceContext& context) {
  const TensorInfo* gradient = context.input(0).handle.get();
  Shape rows = gradient != nullptr ? gradient->shape : Shape::Unknown();
  if (rows.known_rank() && rows.rank() > 0) {
    rows.set_dim(0, kUnknownDim);
    context.SetShape(2, Shape{rows.rank()});
  } else {
    rows = Shape::Unknown();
    context.SetShape(2, Shape{kUnknownDim});
  }
  context.SetShape(0, Shape{kUnknownDim});
  context.SetShape(1, rows);
}

void RegisterRowAccumulators(OpRegistry& registry) {
  const OpLister op(registry);
  op("SparseConditionalAccumulator() -> (handle: Ref(string))",
     "dtype: number; shape: shape; container: string = ''; shared_name: string = ''; reduction_type: "
     "{'MEAN', "
     "'SUM'} = 'MEAN'")
      .Infer(InferAccumulator)
      .Role(StateRole::kTable)
      .HostOnly()
      .Work(NoWork)
      .Stateful();
  op("SparseAccumulatorApplyGradient(handle: Ref(string), local_step: int64, gradient_indices: int64, "
     "gradient_values: dtype, gradient_shape: int64) -> ()",
     "dtype: number; has_known_shape: bool")
      .HostOnly()
      .Stateful();
  op("SparseAccumulatorTakeGradient(handle: Ref(string), num_required: int32) -> (indices: int64, values: "
     "dtype, shape: int64)",
     "dtype: number")
      .HostOnly()
      .Stateful()
      .Infer(InferTakeRows);
}

void RegisterAccumulators(OpRegistry& registry, const std::string& prefix, const std::string& handle) {
  const OpLister op(registry);
  op(prefix + "ConditionalAccumulator() -> (handle: " + handle + ")",
     "dtype: number; shape: shape; container: string = ''; shared_name: string = ''; reduction_type: "
     "{'MEAN', "
     "'SUM'} = 'MEAN'")
      .Infer(InferAccumulator)
      .Role(StateRole::kTable)
      .HostOnly()
      .Work(NoWork)
      .Stateful();
  const auto use = [&](const std::string& name, const std::string& inputs, const std::string& outputs,
                       const char* attrs) {
    const std::string arguments = "(handle: " + handle + inputs + ") -> (" + outputs + ")";
    return op(prefix + "Accumulator" + name + arguments, attrs).HostOnly().Stateful();
  };
  use("ApplyGradient", ", local_step: int64, gradient: dtype", "", "dtype: number");
  use("TakeGradient", ", num_required: int32", "average: dtype", "dtype: number").Infer(InferTakeGradient);
  use("NumAccumulated", "", "num_accumulated: int32", "").Infer(ScalarOutput).Work(NoWork);
  use("SetGlobalStep", ", new_global_step: int64", "", "").Work(NoWork);
}

}  // namespace

void RegisterAccumulatorOps(OpRegistry& registry) {
  RegisterAccumulators(registry, "", "Ref(string)");
  RegisterAccumulators(registry, "Resource", "resource");
  RegisterRowAccumulators(registry);
}

}  // namespace lanescope::ops
