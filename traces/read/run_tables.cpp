// SPDX-License-Identifier: Apache-2.0
#include "traces/read/run_tables.h"

namespace lanescope::traces {
namespace {

class TableFiller {
 public:
  explicit TableFiller(const TraceRun& run) : run_(run) {}

  RunTables Fill() {
    RunView& view = tables_.view;
    view.run = run_.info.id;
    view.emulated = run_.info.emulated;
    view.by_node = !run_.nodes.empty();
    for (const TraceDevice& device : run_.devices) DeviceIndex(device.id);
    for (const TraceNode& node : run_.nodes) {
      tables_.numbers.ops.emplace(node.id, static_cast<int>(view.ops.size()));
      view.ops.push_back({node.name, IsCommunication(node.op), IsWaiting(node.op)});
    }
    for (const TraceQueue& queue : run_.queues) {
      queues_.emplace(std::pair(queue.schedule, queue.id), static_cast<int>(view.queues.size()));
      view.queues.push_back({queue.in_order});
    }
    for (const TraceCommand& command : run_.commands) view.commands.push_back(CommandOf(command));
    NumberCommands();
    for (const TraceDependency& edge : run_.dependencies) {
      const int from = tables_.numbers.CommandIndex(edge.schedule, edge.from);
      const int to = tables_.numbers.CommandIndex(edge.schedule, edge.to);
      if (from >= 0 && to >= 0) tables_.dependencies.emplace_back(from, to);
    }
    for (const TraceStep& step : run_.steps)
      view.steps.push_back({step.step, step.start_ns, step.end_ns, step.counts});
    return std::move(tables_);
  }

 private:
  int DeviceIndex(int id) {
    std::vector<RunView::Device>& devices = tables_.view.devices;
    const auto [entry, is_new] = tables_.numbers.devices.try_emplace(id, static_cast<int>(devices.size()));
    if (is_new) {
      const TraceDevice* device = run_.FindDevice(id);
      devices.push_back({id, run_.DeviceLabel(id), device == nullptr ? "" : device->kind});
    }
    return entry->second;
  }

  int SignatureIndex(int text) {
    if (text < 0) return -1;
    std::vector<std::string_view>& signatures = tables_.view.signatures;
    const auto [entry, is_new] = signatures_.try_emplace(text, static_cast<int>(signatures.size()));
    if (is_new) {
      signatures.push_back(run_.Text(text));
      tables_.signature_texts.push_back(text);
    }
    return entry->second;
  }

  RunView::Command CommandOf(const TraceCommand& from) {
    RunView::Command command{from.kind};
    const auto queue = queues_.find({from.schedule, from.queue});
    if (queue != queues_.end()) command.queue = queue->second;
    const auto op = tables_.numbers.ops.find(from.node);
    if (op != tables_.numbers.ops.end()) command.op = op->second;
    command.signature = SignatureIndex(from.signature);
    if (from.kind == CommandKind::kCopy) {
      command.src = DeviceIndex(from.src);
      command.dst = DeviceIndex(from.dst);
    }
    return command;
  }

  void NumberCommands() {
    RunNumbers& numbers = tables_.numbers;
    numbers.num_commands = static_cast<int>(run_.commands.size());
    bool positions = true;
    for (int i = 0; i < numbers.num_commands; ++i) {
      const TraceCommand& command = run_.commands[static_cast<size_t>(i)];
      positions = positions && command.schedule == 0 && command.id == i;
    }
    for (int i = 0; !positions && i < numbers.num_commands; ++i) {
      const TraceCommand& command = run_.commands[static_cast<size_t>(i)];
      numbers.commands.emplace(std::pair(command.schedule, command.id), i);
    }
  }

  const TraceRun& run_;
  RunTables tables_;
  std::map<std::pair<int, int>, int> queues_;
  std::unordered_map<int, int> signatures_;  // by text
};

}  // namespace

int RunNumbers::CommandIndex(int schedule, int id) const {
  if (id < 0) return -1;
  if (commands.empty()) return schedule == 0 && id < num_commands ? id : -1;
  const auto found = commands.find({schedule, id});
  return found == commands.end() ? -1 : found->second;
}

RunTables TablesOf(const TraceRun& run) { return TableFiller(run).Fill(); }

}  // namespace lanescope::traces
