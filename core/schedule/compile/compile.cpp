#include "core/base/error.h"
#include "core/schedule/compile/draft.h"
#include "core/schedule/stream_issue.h"

namespace lanescope {

Schedule Compile(const Graph& graph, const GraphInfo& info, const CompileRequest& request,
                 const Placement& placement, const Machine& machine) {
  LANESCOPE_CHECK(placement.device.size() == graph.num_nodes());
  compile::Draft draft(graph, info, request, placement, machine);
  compile::Prune(&draft);
  compile::NumberVersions(&draft);
  compile::Partition(&draft);
  compile::OrderVariables(&draft);
  compile::WriteThrough(&draft);
  compile::OrderCommands(&draft);
  compile::InsertEvents(&draft);
  compile::PlanMemory(&draft);
  Schedule schedule = compile::Assemble(std::move(draft));
  schedule.issue = FindStreamIssues(schedule, graph, machine);
  return schedule;
}

}  // namespace lanescope
