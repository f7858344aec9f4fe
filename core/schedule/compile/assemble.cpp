// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/compile/draft.h"

namespace lanescope::compile {
namespace {

void AssembleDependencies(const Rows<CommandId, CommandId>& after, Schedule* schedule) {
  schedule->num_predecessors.reserve(after.size());
  for (const CommandId c : IdRange<CommandId>(after.size()))
    schedule->num_predecessors.Add(static_cast<int>(after[c].size()));
  schedule->successors = Transpose(after, after.size());
}

}  // namespace

Schedule Assemble(Draft&& draft) {
  Schedule schedule;
  AssembleDependencies(draft.after, &schedule);
  schedule.commands = std::move(draft.commands);
  schedule.operands = std::move(draft.operands);
  schedule.fused = std::move(draft.fused);
  schedule.values = std::move(draft.values);
  schedule.buffers = std::move(draft.buffers);
  schedule.queues = std::move(draft.queues);
  schedule.feeds = std::move(draft.feeds);
  schedule.fetches = std::move(draft.fetches);
  schedule.variables = std::move(draft.variables);
  for (const DeviceId d : draft.arena_bytes.ids())
    schedule.peak_bytes.Add(draft.arena_bytes[d] + draft.persistent_bytes[d]);
  schedule.arena_bytes = std::move(draft.arena_bytes);
  schedule.persistent_bytes = std::move(draft.persistent_bytes);
  return schedule;
}

}  // namespace lanescope::compile
