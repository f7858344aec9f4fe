#include "traces/read/trace_view.h"

#include <map>
#include <tuple>
#include <utility>

#include "traces/read/activity_names.h"
#include "traces/read/run_tables.h"

namespace lanescope::traces {
namespace {

class ViewFiller {
 public:
  explicit ViewFiller(const TraceRun& run)
      : run_(run), tables_(TablesOf(run)), view_(std::move(tables_.view)) {}

  RunView Fill() {
    for (const TraceRange& range : run_.ranges) view_.ranges.push_back(RangeName(run_.Text(range.text)));
    for (const TraceLaunch& launch : run_.launches) AddLaunch(launch);
    for (const TraceMemset& memset : run_.memsets) AddMemset(memset);
    for (const TraceCopy& copy : run_.copies) AddCopy(copy);
    view_.Settle(tables_.dependencies);
    return std::move(view_);
  }

 private:
  // One that only activities name is added.
  int DeviceIndex(int id) {
    const auto [entry, is_new] =
        tables_.numbers.devices.try_emplace(id, static_cast<int>(view_.devices.size()));
    if (is_new) view_.devices.push_back({id, run_.DeviceLabel(id)});
    return entry->second;
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
    const auto found = tables_.numbers.ops.find(node);
    return found == tables_.numbers.ops.end() ? -1 : found->second;
  }

  void AddLaunch(const TraceLaunch& launch) {
    const int command = tables_.numbers.CommandIndex(launch.schedule, launch.command);
    int op = OpOfCommand(command);
    if (op < 0) op = OpOfNode(launch.node);
    Add(launch, kLaunches, op >= 0 ? op : OpOfTexts(launch.name, launch.op), command);
  }
  void AddMemset(const TraceMemset& memset) {
    const int command = tables_.numbers.CommandIndex(memset.schedule, memset.command);
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
    const int command = tables_.numbers.CommandIndex(copy.schedule, copy.command);
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
  RunTables tables_;  // without its view
  RunView view_;
  std::map<std::tuple<int, int, Sort>, SliceColumns*> lanes_;
  std::map<std::pair<int, int>, int> op_of_texts_;
  std::map<std::tuple<int, int, std::string>, int> routes_;
  int memset_op_ = -1;
};

}  // namespace

RunView ViewOfRun(const TraceRun& run) { return ViewFiller(run).Fill(); }

}  // namespace lanescope::traces
