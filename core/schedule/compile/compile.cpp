// SPDX-License-Identifier: Apache-2.0
#include "core/base/error.h"
#include "core/base/stop_point.h"
#include "core/schedule/compile/draft.h"
#include "core/schedule/stream_issue.h"

namespace lanescope {

Schedule Compile(const Graph& graph, const GraphInfo& info, const CompileRequest& request,
                 const Placement& placement, const Machine& machine) {
  LANESCOPE_CHECK(placement.device.size() == graph.num_nodes());
  compile::Draft draft(graph, info, request, placement, machine);
  for (const auto pass : {&compile::Prune, &compile::NumberVersions, &compile::Partition,
                          &compile::OrderVariables, &compile::WriteThrough, &compile::Fuse,
                          &compile::OrderCommands, &compile::InsertEvents, &compile::PlanMemory}) {
    StopPoint();
    pass(&draft);
  }
  StopPoint();
  Schedule schedule = compile::Assemble(std::move(draft));
  schedule.issue = FindStreamIssues(schedule, graph, machine);
  return schedule;
}

}  // namespace lanescope
