#include "core/runs/event_view.h"

#include "core/base/error.h"

namespace lanescope {
namespace {

void AddTables(const Graph* graph, const Machine& machine, const Schedule& schedule, RunView* view) {
  view->by_node = true;
  for (int d = 0; d < machine.num_devices(); ++d) {
    const DeviceSpec& device = machine.device(d);
    view->devices.push_back({d, device.local_name(), std::string(DeviceKindName(device.kind))});
  }
  if (graph != nullptr) {
    for (int node = 0; node < graph->num_nodes(); ++node) view->ops.push_back({graph->node(node).name});
  }
  for (const Queue& queue : schedule.queues) view->queues.push_back({queue.in_order});
  for (const Command& from : schedule.commands) {
    RunView::Command command{from.kind, from.queue.number()};
    if (graph != nullptr) command.op = from.node;
    if (from.kind == CommandKind::kCopy) {
      command.src = schedule.CopySource(from);
      command.dst = schedule.CopyDestination(from);
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
    LANESCOPE_CHECK(event.command >= 0 && static_cast<size_t>(event.command) < schedule.commands.size());
    const RunView::Command& command = view.commands[static_cast<size_t>(event.command)];
    const QueueId queue = schedule.commands[static_cast<size_t>(event.command)].queue;
    const bool copy = command.kind == CommandKind::kCopy;
    SliceColumns*& lane = lanes[2 * queue.index() + (copy ? 1 : 0)];
    if (lane == nullptr) lane = view.AddLane(schedule.queues[queue].device, copy);
    lane->start_ns.push_back(event.start_ns);
    lane->end_ns.push_back(event.end_ns);
    lane->op.push_back(command.op);
    lane->command.push_back(event.command);
    lane->step.push_back(event.step);
  }
  std::vector<std::pair<int, int>> edges;
  edges.reserve(schedule.successors.items.size());
  for (int c = 0; c < static_cast<int>(schedule.commands.size()); ++c) {
    for (const int to : schedule.Successors(c)) edges.emplace_back(c, to);
  }
  view.Settle(edges);
  return view;
}

}  // namespace lanescope
