// SPDX-License-Identifier: Apache-2.0
#include "core/runs/event_view.h"

#include "core/base/error.h"

namespace lanescope {
namespace {

void AddTables(const Graph* graph, const Machine& machine, const Schedule& schedule, RunView* view) {
  view->by_node = true;
  for (const DeviceId d : machine.devices.ids()) {
    const DeviceSpec& device = machine.device(d);
    view->devices.push_back({d.number(), device.local_name(), std::string(DeviceKindName(device.kind))});
  }
  if (graph != nullptr) {
    for (const NodeId node : graph->node_ids()) view->ops.push_back({graph->node(node).name});
  }
  for (const Queue& queue : schedule.queues) view->queues.push_back({queue.in_order});
  for (const Command& from : schedule.commands) {
    RunView::Command command{from.kind, from.queue.number()};
    if (graph != nullptr) command.op = from.node.number();
    if (from.kind == CommandKind::kCopy) {
      command.src = schedule.CopySource(from).number();
      command.dst = schedule.CopyDestination(from).number();
    }
    view->commands.push_back(command);
  }
}

}  // namespace

RunView ViewOfEvents(const Graph* graph, const Machine& machine, const Schedule& schedule,
                     std::span<const Event> events) {
  RunView view;
  AddTables(graph, machine, schedule, &view);
  std::vector<SliceColumns*> lanes(2 * schedule.queues.size(), nullptr);  // by queue: launches, copies
  for (const Event& event : events) {
    if (event.kind == EventKind::kStep) {
      view.steps.push_back({event.step, event.start_ns, event.end_ns});
      continue;
    }
    LANESCOPE_CHECK(schedule.commands.Contains(event.command));
    const RunView::Command& command = view.commands[event.command.index()];
    const QueueId queue = schedule.commands[event.command].queue;
    const bool copy = command.kind == CommandKind::kCopy;
    SliceColumns*& lane = lanes[2 * queue.index() + (copy ? 1 : 0)];
    if (lane == nullptr) lane = view.AddLane(schedule.queues[queue].device.number(), copy);
    lane->start_ns.push_back(event.start_ns);
    lane->end_ns.push_back(event.end_ns);
    lane->op.push_back(command.op);
    lane->command.push_back(event.command.number());
    lane->step.push_back(event.step);
  }
  std::vector<std::pair<int, int>> edges;
  edges.reserve(schedule.successors.items.size());
  for (const CommandId c : schedule.commands.ids()) {
    for (const CommandId to : schedule.Successors(c)) edges.emplace_back(c.number(), to.number());
  }
  view.Settle(edges);
  return view;
}

}  // namespace lanescope
