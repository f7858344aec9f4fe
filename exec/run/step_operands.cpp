// SPDX-License-Identifier: Apache-2.0
#include "exec/run/step_operands.h"

#include <algorithm>
#include <cstring>

namespace lanescope::exec {

StepOperands::StepOperands(const Schedule& schedule, const SessionState& state,
                           const ConstantMemory& constants, IdVector<CommandId, LoadedCommand>* commands)
    : schedule_(schedule),
      state_(state),
      constants_(constants),
      commands_(commands),
      strings_(schedule.buffers.size()),
      growing_(schedule.values.size()),
      shapes_(schedule.values.size()) {
  MakeStrings();
  MakeGrowing();
}

void StepOperands::MakeGrowing() {
  for (const ValueId v : schedule_.values.ids()) {
    const Value& value = schedule_.values[v];
    if (value.storage == Storage::kPlanned && !value.alias_of.exists() && !value.shape.HasBound() &&
        value.dtype != DataType::kResource) {
      growing_[v] = std::make_unique<GrowingMemory>();
    }
  }
}

// A buffer of strings has one value, whose bound it must hold.
void StepOperands::MakeStrings() {
  for (const Value& value : schedule_.values) {
    if (value.storage != Storage::kPlanned || value.alias_of.exists() || value.buffer < 0) continue;
    if (!schedule_.buffers[static_cast<size_t>(value.buffer)].strings) continue;
    Strings& strings = strings_[static_cast<size_t>(value.buffer)];
    strings.count = std::max<int64_t>(0, value.shape.NumElements());
    strings.data = std::make_unique<std::string[]>(static_cast<size_t>(strings.count));
  }
}

int StepOperands::FeedOf(ValueId value) const {
  const auto feed = std::find(schedule_.feeds.begin(), schedule_.feeds.end(), schedule_.Root(value));
  return feed != schedule_.feeds.end() ? static_cast<int>(feed - schedule_.feeds.begin()) : -1;
}

TensorRef StepOperands::Locate(ValueId id) const {
  const Value& root = schedule_.RootValue(id);
  TensorRef tensor;
  tensor.dtype = value(id).dtype;
  tensor.shape = value(id).shape.IsExact() ? value(id).shape : Shape::Unknown();
  switch (root.storage) {
    case Storage::kPlanned: {
      if (GrowingMemory* growing = growing_[schedule_.Root(id)].get(); growing != nullptr) {
        tensor.growing = growing;
        tensor.data = growing->data();
        tensor.capacity_bytes = growing->capacity_bytes();
        break;
      }
      if (root.buffer < 0) break;
      const Buffer& buffer = schedule_.buffers[static_cast<size_t>(root.buffer)];
      if (buffer.strings) {
        const Strings& strings = strings_[static_cast<size_t>(root.buffer)];
        tensor.data = strings.data.get();
        tensor.capacity_bytes = strings.count * static_cast<int64_t>(sizeof(std::string));
      } else {
        tensor.data = arenas_[buffer.device] + buffer.offset;
        tensor.capacity_bytes = buffer.bytes;
      }
      break;
    }
    case Storage::kConstant:
      tensor.data = constants_.At(schedule_.Root(id));
      tensor.capacity_bytes = root.bytes;
      break;
    case Storage::kVariable: {
      const TensorRef& variable = state_.variables.at(root.variable)->variable.tensor;
      tensor.data = variable.data;
      tensor.capacity_bytes = variable.capacity_bytes;
      break;
    }
    case Storage::kFeed:
    case Storage::kResource:
      break;
  }
  return tensor;
}

void StepOperands::Bind(const IdVector<DeviceId, std::byte*>& arenas) {
  arenas_ = arenas;
  feed_uses_.clear();
  for (const CommandId c : commands_->ids()) {
    const Command& command = schedule_.commands[c];
    if (!command.is_work()) continue;
    LaunchContext& context = (*commands_)[c].context;
    const auto inputs = schedule_.Inputs(command), outputs = schedule_.Outputs(command);
    for (size_t i = 0; i < inputs.size(); ++i) {
      context.inputs()[i] = Locate(inputs[i]);
      const int feed = FeedOf(inputs[i]);
      if (feed >= 0) feed_uses_.push_back({c, static_cast<int>(i), feed});
    }
    for (size_t k = 0; k < outputs.size(); ++k) context.outputs()[k] = Locate(outputs[k]);
  }
}

void StepOperands::SetFeeds(const std::vector<Tensor>& feeds) {
  feeds_ = feeds;
  for (const FeedUse& use : feed_uses_) {
    Tensor& tensor = feeds_[static_cast<size_t>(use.feed)];
    TensorRef& input = context(use.command).inputs()[static_cast<size_t>(use.input)];
    input.data = tensor.raw_data();
    input.capacity_bytes = tensor.ByteSize();
  }
}

void StepOperands::TakeShapes(CommandId number) {
  const Command& command = schedule_.commands[number];
  const auto inputs = schedule_.Inputs(command), outputs = schedule_.Outputs(command);
  for (size_t i = 0; i < inputs.size(); ++i) {
    TensorRef& input = context(number).inputs()[i];
    if (!value(inputs[i]).shape.IsExact()) input.shape = ActualShape(inputs[i]);
    if (input.growing == nullptr) continue;
    input.data = input.growing->data();
    input.capacity_bytes = input.growing->capacity_bytes();
  }
  for (size_t k = 0; k < outputs.size(); ++k) {
    if (!value(outputs[k]).shape.IsExact()) context(number).outputs()[k].shape = Shape::Unknown();
  }
}

void StepOperands::KeepShapes(CommandId number) {
  const auto outputs = schedule_.Outputs(schedule_.commands[number]);
  for (size_t k = 0; k < outputs.size(); ++k) {
    if (!value(outputs[k]).shape.IsExact()) ActualShape(outputs[k]) = context(number).outputs()[k].shape;
  }
}

Tensor StepOperands::Fetch(int index) const {
  const ValueId fetch = schedule_.fetches[static_cast<size_t>(index)];
  const Shape& planned = value(fetch).shape;
  if (schedule_.RootValue(fetch).storage == Storage::kFeed) {
    const Tensor& fed = feeds_[static_cast<size_t>(FeedOf(fetch))];
    return fed.Reshaped(planned.IsExact() ? planned : fed.shape());
  }
  TensorRef source = Locate(fetch);
  if (!planned.IsExact()) source.shape = shapes_[schedule_.Root(fetch)];
  Tensor result(source.dtype, source.shape);
  if (source.dtype == DataType::kString) {
    std::copy_n(source.as<std::string>(), source.NumElements(), result.data<std::string>());
  } else if (result.ByteSize() > 0) {
    std::memcpy(result.raw_data(), source.data, static_cast<size_t>(result.ByteSize()));
  }
  return result;
}

}  // namespace lanescope::exec
