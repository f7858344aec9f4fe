// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/compile/fusible.h"

#include <algorithm>
#include <array>

namespace lanescope::compile {
namespace {

bool HasSixteenBits(DataType dtype) { return dtype == DataType::kHalf || dtype == DataType::kBfloat16; }

class RoleFinder {
 public:
  explicit RoleFinder(const Draft& draft) : draft_(draft) {}

  bool Fits(const Command& command, FusionRole role, DeviceId device) const {
    switch (role) {
      case FusionRole::kNone:
        return false;
      case FusionRole::kElementWise:
        return IsIndexed(command, device);
      case FusionRole::kRowWise:
      case FusionRole::kReduction:
        return IsByRows(command, role, device);
      case FusionRole::kAssign:
        return IsWrittenThrough(command);
      case FusionRole::kUpdate:
        return IsExact(command) && (!draft_.machine.device(device).is_hardware() || IsStep(command, device));
      case FusionRole::kProduct:
        return IsProductByRows(command, device);
    }
    return false;
  }

  // Its rows are the last dimensions of its input, of a softmax the last one.
  bool IsByRows(const Command& command, FusionRole role, DeviceId device) const {
    if (command.num_outputs != 1 || !IsExact(command)) return false;
    const ValueId input = draft_.Inputs(command)[0], output = draft_.Outputs(command)[0];
    const DataType dtype = draft_.value(input).dtype;
    const Shape& shape = ShapeOf(input);
    if (!IsPlain(input, device) || !IsPlain(output, device) || shape.rank() == 0 ||
        shape.NumElements() == 0 ||
        (dtype != DataType::kFloat && dtype != DataType::kDouble && !HasSixteenBits(dtype)))
      return false;
    int64_t run = shape[shape.rank() - 1];
    if (role == FusionRole::kReduction) {
      const auto& axes = draft_.info.of(draft_.node(command.node).inputs[1]).value;
      if (axes == nullptr) return false;
      Shape kept = shape;
      for (int64_t i = 0; i < axes->NumElements(); ++i) {
        const int64_t axis = axes->IntAt(i);
        kept.set_dim(static_cast<int>(axis < 0 ? axis + shape.rank() : axis), 1);
      }
      run = RowRun(kept, shape);
    }
    return run >= 2 && run <= kMaxRow;
  }

  // As many matrices on both sides, of floats or doubles.
  bool IsProductByRows(const Command& command, DeviceId device) const {
    if (command.num_outputs != 1 || command.num_inputs != 2 || !IsExact(command)) return false;
    const ValueId output = draft_.Outputs(command)[0];
    const DataType dtype = draft_.value(output).dtype;
    const Shape& result = ShapeOf(output);
    if (!IsPlain(output, device) || result.NumElements() == 0 ||
        (dtype != DataType::kFloat && dtype != DataType::kDouble))
      return false;
    return std::ranges::all_of(draft_.Inputs(command), [&](ValueId v) {
      const Shape& shape = ShapeOf(v);
      const int64_t count =
          shape.NumElements() / std::max<int64_t>(1, shape[shape.rank() - 1] * shape[shape.rank() - 2]);
      return IsPlain(v, device) && draft_.value(v).dtype == dtype && shape.NumElements() > 0 &&
             count == result.NumElements() / (result[result.rank() - 1] * result[result.rank() - 2]);
    });
  }

  bool IsExact(const Command& command) const {
    const auto exact = [&](ValueId v) {
      return v.exists() &&
             (draft_.value(draft_.Root(v)).storage == Storage::kResource || ShapeOf(v).IsExact());
    };
    return std::ranges::all_of(draft_.Inputs(command), exact) &&
           std::ranges::all_of(draft_.Outputs(command), exact);
  }

  // It steps floats or doubles, and all that is no handle lies in the memory of the device.
  bool IsStep(const Command& command, DeviceId device) const {
    const std::string& op = draft_.node(command.node).op;
    const DataType dtype = draft_.value(draft_.Inputs(command)[static_cast<size_t>(GradientInput(op))]).dtype;
    return (dtype == DataType::kFloat || dtype == DataType::kDouble) &&
           std::ranges::all_of(draft_.Inputs(command),
                               [&](ValueId v) { return draft_.value(v).device == device; });
  }

  bool IsIndexed(const Command& command, DeviceId device) const {
    if (command.num_outputs != 1 || !IsExact(command)) return false;
    std::vector<Shape> shapes;
    for (const ValueId input : draft_.Inputs(command)) {
      if (!IsPlain(input, device)) return false;
      shapes.push_back(ShapeOf(input));
    }
    const ValueId output = draft_.Outputs(command)[0];
    if (HasMadeKernels(device) && !RunsFusedOnHardware(draft_.node(command.node), draft_.value(output).dtype))
      return false;
    return IsPlain(output, device) && ShapeOf(output).NumElements() > 0 &&
           CanIndex(draft_.node(command.node), shapes, ShapeOf(output));
  }
  // Kernels of its fused launches are made for a GPU; a modelled one is taken to have those of a physical
  // one. In a job, devices of other processes are modelled whatever they are, and all processes have to
  // agree.
  bool HasMadeKernels(DeviceId device) const {
    const DeviceSpec& spec = draft_.machine.device(device);
    const bool modelled = spec.kind == DeviceKind::kModelled && spec.is_gpu();
    return spec.is_hardware() || (modelled && draft_.tasks.hosts.size() <= 1);
  }
  // Elements that lie in the device's own memory. Kernels made for GPUs know none of 16 bits.
  bool IsPlain(ValueId value, DeviceId device) const {
    constexpr std::array kTypes = {DataType::kFloat, DataType::kDouble, DataType::kInt32, DataType::kInt64,
                                   DataType::kBool};
    const Value& v = draft_.value(value);
    const bool small = HasSixteenBits(v.dtype) && !HasMadeKernels(device);
    return v.device == device && (small || std::ranges::find(kTypes, v.dtype) != kTypes.end()) &&
           draft_.value(draft_.Root(value)).storage != Storage::kResource;
  }

  bool IsWrittenThrough(const Command& command) const {
    if (command.num_inputs != 2) return false;
    const auto inputs = draft_.Inputs(command);
    const Value& written = draft_.value(inputs[1]);
    // The result of an update is the variable, too: to assign that leaves a copy to be made.
    return !written.alias_of.exists() && written.storage == Storage::kVariable &&
           draft_.producer[inputs[1]].exists() &&
           written.variable == draft_.value(draft_.Root(inputs[0])).variable;
  }

 private:
  const Shape& ShapeOf(ValueId value) const { return draft_.value(value).shape; }

  const Draft& draft_;
};

}  // namespace

FusionRole RoleInLaunch(const Draft& draft, const Command& command) {
  if (command.kind != CommandKind::kLaunch) return FusionRole::kNone;
  const DeviceId device = draft.device_of(command.node);
  if (draft.op(command.node).def == nullptr || draft.has_fed_output[command.node] != 0 ||
      !RunsFused(draft.machine.device(device)))
    return FusionRole::kNone;
  // Processes of a job agree on the commands of a step without a word, but not on who can make kernels.
  if (draft.tasks.hosts.size() > 1 && draft.machine.device(device).is_hardware()) return FusionRole::kNone;
  const FusionRole role = FusionRoleOf(draft.node(command.node));
  return RoleFinder(draft).Fits(command, role, device) ? role : FusionRole::kNone;
}

}  // namespace lanescope::compile
