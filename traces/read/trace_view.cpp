#include "traces/read/trace_view.h"

#include <map>
#include <tuple>
#include <unordered_map>

#include "traces/read/activity_names.h"

namespace lanescope::traces {
namespace {

class ViewFiller {
 public:
  explicit ViewFiller(const TraceRun& run) : run_(run) {}

  RunView Fill() {
    view_.run = run_.info.id;
    view_.emulated = run_.info.emulated;
    view_.by_node = !run_.nodes.empty();
    for (const TraceDevice& device : run_.devices) DeviceIndex(device.id);
    for (const TraceNode& node : run_.nodes) {
      op_of_node_.emplace(node.id, static_cast<int>(view_.ops.size()));
      view_.ops.push_back({node.name, IsCommunication(node.op)});
    }
    for (const std::string& text : run_.texts) view_.signatures.push_back(text);
    for (const TraceRange& range : run_.ranges) view_.ranges.push_back(RangeName(run_.Text(range.text)));
    AddCommands();
    for (const TraceLaunch& launch : run_.launches) AddLaunch(launch);
    for (const TraceMemset& memset : run_.memsets) AddMemset(memset);
    for (const TraceCopy& copy : run_.copies) AddCopy(copy);
    for (const TraceStep& step : run_.steps) view_.steps.push_back({step.step, step.start_ns, step.end_ns});
    view_.Settle(Dependencies());
    return std::move(view_);
  }

 private:
  int DeviceIndex(int id) {
    const auto [entry, is_new] = devices_.try_emplace(id, static_cast<int>(view_.devices.size()));
    if (is_new) {
      const TraceDevice* device = run_.FindDevice(id);
      view_.devices.push_back({id, run_.DeviceLabel(id), device == nullptr ? "" : device->kind});
    }
    return entry->second;
  }

  void AddCommands() {
    std::map<std::pair<int, int>, int> queues;
    for (const TraceQueue& queue : run_.queues) {
      queues.emplace(std::pair(queue.schedule, queue.id), static_cast<int>(view_.queues.size()));
      view_.queues.push_back({queue.in_order});
    }
    for (const TraceCommand& from : run_.commands) {
      commands_.emplace(KeyOf(from.schedule, from.id), static_cast<int>(view_.commands.size()));
      RunView::Command command;
      command.kind = from.kind;
      const auto queue = queues.find({from.schedule, from.queue});
      if (queue != queues.end()) command.queue = queue->second;
      const auto op = op_of_node_.find(from.node);
      if (op != op_of_node_.end()) command.op = op->second;
      command.signature = from.signature;
      if (from.kind == CommandKind::kCopy) {
        command.src = DeviceIndex(from.src);
        command.dst = DeviceIndex(from.dst);
      }
      view_.commands.push_back(command);
    }
  }
  static int64_t KeyOf(int schedule, int id) {
    return (int64_t{schedule} << 32) | static_cast<int64_t>(static_cast<uint32_t>(id));
  }
  int CommandIndex(int schedule, int id) const {
    const auto found = commands_.find(KeyOf(schedule, id));
    return found == commands_.end() ? -1 : found->second;
  }
  std::vector<std::pair<int, int>> Dependencies() const {
    std::vector<std::pair<int, int>> edges;
    for (const TraceDependency& edge : run_.dependencies)
      edges.emplace_back(CommandIndex(edge.schedule, edge.from), CommandIndex(edge.schedule, edge.to));
    return edges;
  }

  // What a lane holds; commands bring their own queues.
  enum Sort { kLaunches, kCopies };
  template <typename Activity>
  SliceColumns* Add(const Activity& activity, Sort sort, int op, int command) {
    const auto key = std::tuple(activity.device, activity.stream, sort);
    const auto [lane, is_new] = lanes_.try_emplace(key, nullptr);
    if (is_new) lane->second = view_.AddLane(DeviceIndex(activity.device), sort == kCopies);
    SliceColumns* slices = lane->second;
    slices->start_ns.push_back(activity.start_ns);
    slices->end_ns.push_back(activity.end_ns);
    slices->op.push_back(op);
    slices->command.push_back(command);
    slices->step.push_back(activity.step);
    slices->range.push_back(activity.range);
    return slices;
  }
  // A kernel, or whatever else has no node, by its name and what tells its class.
  int OpOfTexts(int name, int type) {
    if (name < 0 && type < 0) return -1;
    const auto [entry, is_new] =
        op_of_texts_.try_emplace(std::pair(name, type), static_cast<int>(view_.ops.size()));
    if (is_new) {
      const std::string_view text = name < 0 ? std::string_view("no name") : run_.Text(name);
      view_.ops.push_back({text, IsCommunication(run_.Text(type >= 0 ? type : name))});
    }
    return entry->second;
  }
  int OpOfCommand(int command) const {
    return command < 0 ? -1 : view_.commands[static_cast<size_t>(command)].op;
  }
  int OpOfNode(int node) const {
    const auto found = op_of_node_.find(node);
    return found == op_of_node_.end() ? -1 : found->second;
  }

  void AddLaunch(const TraceLaunch& launch) {
    const int command = CommandIndex(launch.schedule, launch.command);
    int op = OpOfCommand(command);
    if (op < 0) op = OpOfNode(launch.node);
    Add(launch, kLaunches, op >= 0 ? op : OpOfTexts(launch.name, launch.op), command);
  }
  void AddMemset(const TraceMemset& memset) {
    const int command = CommandIndex(memset.schedule, memset.command);
    int op = OpOfCommand(command);
    if (op < 0) {
      if (memset_op_ < 0) {
        memset_op_ = static_cast<int>(view_.ops.size());
        view_.ops.push_back({kMemsetName, false});
      }
      op = memset_op_;
    }
    Add(memset, kLaunches, op, command);
  }
  void AddCopy(const TraceCopy& copy) {
    const int command = CommandIndex(copy.schedule, copy.command);
    int op = OpOfCommand(command);
    if (op < 0) op = OpOfNode(copy.node);
    SliceColumns* slices = Add(copy, kCopies, op, command);
    slices->route.push_back(RouteOf(
        copy, op < 0 ? NvprofCopyName(copy.kind) : std::string(view_.ops[static_cast<size_t>(op)].name)));
  }
  int RouteOf(const TraceCopy& copy, std::string name) {
    const auto key = std::tuple(DeviceIndex(copy.src), DeviceIndex(copy.dst), name);
    const auto [entry, is_new] = routes_.try_emplace(key, static_cast<int>(view_.routes.size()));
    if (is_new) view_.routes.push_back({std::get<0>(key), std::get<1>(key), std::move(name)});
    return entry->second;
  }

  const TraceRun& run_;
  RunView view_;
  std::map<int, int> devices_;
  std::unordered_map<int, int> op_of_node_;
  std::unordered_map<int64_t, int> commands_;
  std::map<std::tuple<int, int, Sort>, SliceColumns*> lanes_;
  std::map<std::pair<int, int>, int> op_of_texts_;
  std::map<std::tuple<int, int, std::string>, int> routes_;
  int memset_op_ = -1;
};

}  // namespace

RunView ViewOfRun(const TraceRun& run) { return ViewFiller(run).Fill(); }

}  // namespace lanescope::traces
