// SPDX-License-Identifier: Apache-2.0
// Where the operands of every command lie in the step at hand, and what shape they have there.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/graph/tensor.h"
#include "core/schedule/schedule.h"
#include "exec/run/loaded_command.h"
#include "exec/run/schedule_loader.h"

namespace lanescope::exec {

// Fills in the contexts of the commands. Refers to what it is made of. TakeShapes and KeepShapes may be
// called for different commands at the same time while a step runs; the rest between steps.
class StepOperands {
 public:
  StepOperands(const Schedule& schedule, const SessionState& state, const ConstantMemory& constants,
               IdVector<CommandId, LoadedCommand>* commands);

  // Points every operand into the arenas.
  void Bind(const IdVector<DeviceId, std::byte*>& arenas);
  // Points the operands that are fed at the tensors of the next step, in the order of the schedule's feeds.
  void SetFeeds(const std::vector<Tensor>& feeds);
  // Gives operands of bounded shape the shape that they have in this step.
  void TakeShapes(CommandId command);
  // Remembers those that the command has given its outputs.
  void KeepShapes(CommandId command);
  // A copy of a fetched value, after the step.
  Tensor Fetch(int index) const;

 private:
  struct Strings {
    std::unique_ptr<std::string[]> data;
    int64_t count = 0;
  };
  struct FeedUse {
    CommandId command;
    int input;
    int feed;
  };

  void MakeStrings();
  void MakeGrowing();
  int FeedOf(ValueId value) const;  // -1: none
  TensorRef Locate(ValueId value) const;
  const Value& value(ValueId id) const { return schedule_.values[id]; }
  Shape& ActualShape(ValueId value) { return shapes_[schedule_.Root(value)]; }
  LaunchContext& context(CommandId command) { return (*commands_)[command].context; }

  const Schedule& schedule_;
  const SessionState& state_;
  const ConstantMemory& constants_;
  IdVector<CommandId, LoadedCommand>* commands_;
  IdVector<DeviceId, std::byte*> arenas_;
  std::vector<Strings> strings_;  // by buffer
  // By root: of planned values whose size nobody knows when the step is compiled; null for others.
  IdVector<ValueId, std::unique_ptr<GrowingMemory>> growing_;
  std::vector<Tensor> feeds_;
  std::vector<FeedUse> feed_uses_;
  IdVector<ValueId, Shape> shapes_;  // by root: the actual shape in the current step, for bounded ones
};

}  // namespace lanescope::exec
