#include "gui/trace_of_run.h"

#include <algorithm>
#include <set>

#include "core/error.h"

namespace lanescope::gui {
namespace {

// Numbers of the steps to take.
std::set<int> ChooseSteps(const RunData& run, int64_t max_slices) {
  if (run.steps.empty()) {
    if (run.num_slices > max_slices) {
      Throw(Code::kResourceExhausted, "{} has {} slices and no steps, too many to take apart", run.title,
            run.num_slices);
    }
    return {};
  }
  const auto count = static_cast<int64_t>(run.steps.size());
  const int64_t per_step = std::max<int64_t>(1, run.num_slices / count);
  const int64_t every = std::max<int64_t>(1, (count * per_step + max_slices - 1) / max_slices);
  std::set<int> chosen;
  for (int64_t i = 0; i < count; i += every) chosen.insert(run.steps[static_cast<size_t>(i)].step);
  return chosen;
}

class Converter {
 public:
  Converter(const RunData& run, int64_t max_slices) : run_(run), steps_(ChooseSteps(run, max_slices)) {}

  TraceRun Convert() {
    out_.info.id = run_.id;
    out_.info.simulated = run_.kind == RunKind::kSimulated || run_.kind == RunKind::kWhatIf;
    out_.info.emulated = run_.emulated;
    out_.info.complete = run_.complete;
    out_.info.strategy = run_.strategy;
    out_.info.graph = run_.graph;
    for (size_t d = 0; d < run_.devices.size(); ++d) AddDevice(d);
    out_.texts = run_.signatures;
    for (const OpEntry& op : run_.ops) AddOp(op);
    for (const RunStep& step : run_.steps) {
      if (steps_.count(step.step) > 0) out_.steps.push_back({step.step, step.start_ns, step.end_ns});
    }
    AddCommands();
    for (size_t l = 0; l < run_.lanes.size(); ++l) AddLane(static_cast<int>(l));
    return std::move(out_);
  }

 private:
  // Devices are numbered by their place in the run.
  void AddDevice(size_t d) {
    const RunDevice& from = run_.devices[d];
    TraceDevice device;
    device.id = static_cast<int>(d);
    device.name = from.full_name;
    device.kind = from.kind;
    device.is_host = from.is_host;
    device.memory_limit = from.memory_limit;
    out_.devices.push_back(std::move(device));
  }
  void AddOp(const OpEntry& op) {
    names_.push_back(static_cast<int>(out_.texts.size()));
    out_.texts.push_back(op.name);
    types_.push_back(static_cast<int>(out_.texts.size()));
    out_.texts.push_back(op.op);
    if (op.node >= 0) {
      TraceNode node;
      node.id = op.node;
      node.name = op.name;
      node.op = op.op;
      out_.nodes.push_back(std::move(node));
    }
  }
  void AddCommands() {
    for (size_t c = 0; c < run_.commands.size(); ++c) {
      const RunCommand& from = run_.commands[c];
      TraceCommand command;
      command.schedule = 0;
      command.id = static_cast<int>(c);
      command.kind = from.kind;
      command.node = NodeOf(from.op);
      command.queue = from.lane;
      command.device = from.device;
      command.src = from.src;
      command.dst = from.dst;
      command.bytes = from.bytes;
      command.signature = from.signature;
      out_.commands.push_back(command);
      for (const uint32_t to : run_.Successors(static_cast<int>(c))) {
        out_.dependencies.push_back({0, static_cast<int>(c), static_cast<int>(to)});
      }
    }
  }
  int NodeOf(int op) const { return op < 0 ? -1 : run_.ops[static_cast<size_t>(op)].node; }

  void AddLane(int number) {
    const Lane& lane = run_.lanes[static_cast<size_t>(number)];
    const bool copies = lane.role == LaneRole::kCopyIn || lane.role == LaneRole::kCopyOut;
    if (!copies && lane.role != LaneRole::kCompute) return;
    for (size_t i = 0; i < lane.size(); ++i) {
      if (!steps_.empty() && lane.step[i] >= 0 && steps_.count(lane.step[i]) == 0) continue;
      if (copies) {
        AddCopy(lane, number, i);
      } else {
        AddLaunch(lane, number, i);
      }
    }
  }
  void AddLaunch(const Lane& lane, int number, size_t i) {
    TraceLaunch launch;
    Fill(lane, number, i, &launch);
    if (lane.op[i] >= 0) {
      launch.name = names_[static_cast<size_t>(lane.op[i])];
      launch.op = types_[static_cast<size_t>(lane.op[i])];
    }
    out_.launches.push_back(launch);
  }
  void AddCopy(const Lane& lane, int number, size_t i) {
    TraceCopy copy;
    Fill(lane, number, i, &copy);
    if (!lane.bytes.empty()) copy.bytes = lane.bytes[i];
    copy.src = copy.dst = lane.device;
    if (copy.command >= 0) {
      copy.src = run_.commands[static_cast<size_t>(copy.command)].src;
      copy.dst = run_.commands[static_cast<size_t>(copy.command)].dst;
    }
    out_.copies.push_back(copy);
  }
  template <typename Activity>
  void Fill(const Lane& lane, int number, size_t i, Activity* activity) const {
    activity->start_ns = lane.start_ns[i];
    activity->end_ns = lane.end_ns[i];
    activity->device = lane.device;
    activity->stream = number;
    activity->step = lane.step[i];
    activity->command = lane.command[i];
    activity->node = NodeOf(lane.op[i]);
    if (lane.command[i] < 0) return;
    activity->schedule = 0;
    activity->signature = run_.commands[static_cast<size_t>(lane.command[i])].signature;
  }

  const RunData& run_;
  const std::set<int> steps_;
  TraceRun out_;
  std::vector<int> names_, types_;  // texts by op
};

}  // namespace

TraceRun TraceOfRun(const RunData& run, int64_t max_slices) { return Converter(run, max_slices).Convert(); }

}  // namespace lanescope::gui
