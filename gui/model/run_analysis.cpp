// SPDX-License-Identifier: Apache-2.0
#include "gui/model/run_analysis.h"

namespace lanescope::gui {

RunView ViewOf(const RunData& run) {
  RunView view;
  view.run = run.id;
  view.emulated = run.emulated;
  view.devices.assign(run.devices.begin(), run.devices.end());
  for (const OpEntry& op : run.ops) {
    view.by_node |= op.node >= 0;
    const std::string_view name = op.name.empty() ? std::string_view("no name") : op.name;
    view.ops.push_back({name, IsCommunication(op.op), op.node >= 0 && IsWaiting(op.op)});
  }
  view.routes = run.routes;
  for (const std::string& signature : run.signatures) view.signatures.push_back(signature);
  view.queues = run.queues;
  view.commands.assign(run.commands.begin(), run.commands.end());
  view.steps = run.steps;
  for (size_t l = 0; l < run.lanes.size(); ++l) {
    const Lane& lane = run.lanes[l];
    const bool copies = IsCopyRole(lane.role);
    if ((copies || lane.role == LaneRole::kCompute) && lane.size() > 0)
      view.lanes.push_back({&lane, lane.device, copies, static_cast<int>(l)});
  }
  std::vector<std::pair<int, int>> dependencies;
  dependencies.reserve(run.successors.items.size());
  for (int c = 0; c < static_cast<int>(run.commands.size()); ++c) {
    for (const uint32_t to : run.Successors(c)) dependencies.emplace_back(c, static_cast<int>(to));
  }
  view.Settle(dependencies);
  return view;
}

ShownPath FindShownPath(const RunData& run, int step) {
  ShownPath shown;
  const RunView view = ViewOf(run);
  if (view.steps.empty()) {
    shown.problem = "nothing ran";
    return shown;
  }
  if (step < 0) step = run.MedianStep();
  const auto chosen = static_cast<size_t>(step < 0 ? 0 : step);
  if (chosen >= view.steps.size()) {
    shown.problem = "the trace has no such step";
    return shown;
  }
  const StepPathFinder finder(view, std::span(&chosen, 1));
  if (finder.NumItems(chosen) == 0 || finder.NumItems(chosen) > kMaxStepItems) {
    shown.problem = finder.NumItems(chosen) == 0 ? "nothing was recorded in this step"
                                                 : "the step has too many pieces of work to take apart";
    return shown;
  }
  shown.step = view.steps[chosen].number;
  shown.begin_ns = view.steps[chosen].start_ns;
  shown.step_ns = view.steps[chosen].end_ns - shown.begin_ns;
  shown.path = finder.Find(chosen);
  shown.slack_ns = finder.SlackOf(shown.path);
  shown.on_path = shown.path.OnPath();
  shown.critical.assign(shown.path.items.size(), 0);
  for (const int item : shown.on_path) shown.critical[static_cast<size_t>(item)] = 1;
  for (WorkItem& item : shown.path.items) item.lane = view.lanes[static_cast<size_t>(item.lane)].source;
  return shown;
}

}  // namespace lanescope::gui
