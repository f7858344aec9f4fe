// SPDX-License-Identifier: Apache-2.0
// Ops of which every device has a part, or each of two devices one end.
#include "core/graph/ops/common.h"
#include "core/graph/ops/op_spec.h"

namespace lanescope::ops {
namespace {

// A ring adds every element once for each of the others, in shares.
OpWork AllReduceCost(const Node&, std::span<const TensorInfo> inputs, std::span<const TensorInfo> outputs) {
  return {CountOf(outputs[0]), SaturatingMul(2, TotalBytes(inputs, outputs))};
}

void InferFromShapeAttr(InferenceContext& context) {
  context.SetShape(0, context.node().GetShapeAttr("shape"));
}

// The rows of all devices, where their number is known.
void InferGathered(InferenceContext& context) {
  Shape shape = context.shape(0);
  const auto devices = context.IntScalar(1);
  if (shape.known_rank() && shape.rank() > 0)
    shape.set_dim(0, devices && *devices > 0 ? MulDims(shape[0], *devices) : kUnknownDim);
  context.SetShape(0, shape);
}

// A part of the rows. Throws InvalidArgument for rows that do not divide.
void InferScattered(InferenceContext& context) {
  Shape shape = context.shape(0);
  const auto devices = context.IntScalar(1);
  if (shape.known_rank() && shape.rank() == 0)
    Throw(Code::kInvalidArgument, "node '{}': a scalar cannot be scattered", context.node().name);
  if (shape.known_rank()) {
    const Dim rows = shape[0];
    if (devices && *devices > 0 && IsExact(rows) && rows % *devices != 0) {
      Throw(Code::kInvalidArgument, "node '{}': {} rows cannot be scattered over {} devices",
            context.node().name, rows, *devices);
    }
    shape.set_dim(0, devices && *devices > 0 && IsExact(rows) ? rows / *devices : kUnknownDim);
  }
  context.SetShape(0, shape);
}

void InferReceived(InferenceContext& context) { context.SetShape(0, ShapeFromInput(context, 3)); }

// Another graph may send it: what comes is not known here.
void InferTransferred(InferenceContext& context) { context.SetShape(0, Shape::Unknown()); }

void RegisterTransfers(const OpLister& op) {
  const std::string transfer =
      "tensor_name: string; send_device: string; send_device_incarnation: int; recv_device: string; "
      "client_terminated: bool = false";
  for (const std::string at : {"_", "_Host"}) {
    op(at + "Send(tensor: T) -> ()", "T: type; " + transfer).Work(NoWork).HostOnly().Stateful();
    op(at + "Recv() -> (tensor: tensor_type)", "tensor_type: type; " + transfer)
        .Infer(InferTransferred)
        .Work(NoWork)
        .HostOnly()
        .Stateful();
  }
}

}  // namespace

void RegisterCollectiveOps(OpRegistry& registry) {
  const OpLister op(registry);
  // Wider than TensorFlow's by bfloat16, which NCCL has: as float, a collective would move twice the bytes.
  const std::string nccl_type = "T: {bfloat16, half, float, double, index}";
  op("NcclAllReduce(input: T) -> (data: T)",
     "reduction: {'min', 'max', 'prod', 'sum'}; " + nccl_type + "; num_devices: int; shared_name: string")
      .Infer(SameShape)
      .Work(AllReduceCost)
      .Stateful();
  op("NcclReduce(input: num_devices * T) -> (data: T)",
     "reduction: {'min', 'max', 'prod', 'sum'}; " + nccl_type + "; num_devices: int >= 1")
      .Infer(SameShapes);
  op("NcclBroadcast(input: T) -> (output: T)", nccl_type + "; shape: shape").Infer(SameShape);

  const std::string reduced = "T: {bfloat16, half, float, double, index}; ";
  const std::string any = "T: {bfloat16, half, float, double, index}; ",
                    sent = "T: {bool, half, float, double, index}; ";
  const std::string keys = "group_size: int; group_key: int; instance_key: int; ";
  const std::string hints = "communication_hint: string = 'auto'; timeout_seconds: float = 0";
  const std::string merges = "merge_op: {'Min', 'Max', 'Mul', 'Add'}; final_op: {'Id', 'Div'}; ";
  const std::string ordered = "; is_stateless: bool = false; Nordering_token: int >= 0 = 0";
  const std::string key_inputs = "group_size: int32, group_key: int32, instance_key: int32";
  const std::string token = ", ordering_token: Nordering_token * resource";
  op("CollectiveReduce(input: T) -> (data: T)",
     reduced + keys + merges + "subdiv_offsets: list(int); wait_for: list(int) = []; " + hints)
      .Infer(SameShape)
      .Work(AllReduceCost)
      .Stateful();
  op("CollectiveReduceV2(input: T, " + key_inputs + token + ") -> (data: T)",
     reduced + merges + hints + ordered + "; max_subdivs_per_device: int = -1")
      .Infer(SameShape)
      .Work(AllReduceCost)
      .Stateful();
  op("CollectiveGather(input: T) -> (data: T)", any + keys + "shape: shape; " + hints)
      .Infer(InferFromShapeAttr)
      .Stateful();
  op("CollectiveGatherV2(input: T, " + key_inputs + token + ") -> (data: T)", any + hints + ordered)
      .Infer(InferGathered)
      .Stateful();
  op("CollectiveReduceScatterV2(input: T, " + key_inputs + token + ") -> (data: T)",
     reduced + merges + hints + ordered + "; max_subdivs_per_device: int = -1")
      .Infer(InferScattered)
      .Stateful();
  op("CollectiveBcastSend(input: T) -> (data: T)", sent + keys + "shape: shape; " + hints)
      .Infer(SameShape)
      .Stateful();
  op("CollectiveBcastRecv() -> (data: T)", sent + keys + "shape: shape; " + hints)
      .Infer(InferFromShapeAttr)
      .Stateful();
  op("CollectiveBcastSendV2(input: T, " + key_inputs + ") -> (data: T)", sent + hints)
      .Infer(SameShape)
      .Stateful();
  op("CollectiveBcastRecvV2(" + key_inputs + ", shape: Tshape) -> (data: T)",
     sent + "Tshape: index = int32; " + hints)
      .Infer(InferReceived)
      .Stateful();
  RegisterTransfers(op);
}

}  // namespace lanescope::ops
