// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/task_graph.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/stop_point.h"
#include "core/graph/work_pieces.h"
#include "core/place/kernel_table.h"
#include "core/schedule/compile/op_traits.h"
#include "core/schedule/compile/tensor_places.h"

namespace lanescope {
namespace {

constexpr size_t kMostEstimates = 50'000'000;
constexpr int64_t kNoMemoryLimit = int64_t{1} << 56;

// Nodes that nobody reads run for their effect; placeholders are fed.
CompileRequest WholeGraphRequest(const Graph& graph, const GraphInfo& info) {
  CompileRequest request;
  IdVector<NodeId, bool> used(graph.num_nodes(), false);
  for (const Node& node : graph.nodes()) {
    for (const Endpoint& input : node.inputs) used[input.node] = true;
    for (const NodeId control : node.control_inputs) used[control] = true;
  }
  for (const NodeId id : graph.node_ids()) {
    if (graph.node(id).op == "Placeholder") request.feeds.emplace_back(Endpoint{id, 0}, info.of({id, 0}));
    if (!used[id]) request.fetches.push_back({id, -1});
  }
  return request;
}

// Everything on one device where that is possible: hardly any copies, no records and waits.
Schedule CompileFreely(const StrategyInput& input) {
  Machine roomy = input.machine;
  for (DeviceSpec& device : roomy.devices) {
    device.memory_bytes = kNoMemoryLimit;
    device.in_order = false;
  }
  CompileRequest request = input.step != nullptr ? *input.step : WholeGraphRequest(input.graph, input.info);
  request.fuse = false;  // what shares a launch follows from the placement
  return Compile(input.graph, input.info, request, PlaceSingle(input), roomy);
}

// Which values of a schedule are one tensor, and which command makes it.
class TensorFinder {
 public:
  explicit TensorFinder(const Schedule& schedule) : schedule_(schedule), writer_(schedule.values.size()) {
    for (const CommandId c : schedule.commands.ids()) {
      for (const ValueId value : schedule.Outputs(schedule.commands[c])) writer_[value] = c;
    }
  }
  // The value that a copy was made of, or the value itself.
  ValueId Original(ValueId value) const {
    while (IsCopied(value)) value = SourceOf(value);
    return value;
  }
  // Where the memory behind a value comes from: a launch's output, or state.
  ValueId Origin(ValueId value) const {
    while (true) {
      if (IsCopied(value)) {
        value = SourceOf(value);
      } else if (Writer(value).exists() || !schedule_.values[value].alias_of.exists()) {
        return value;
      } else {
        value = schedule_.values[value].alias_of;
      }
    }
  }
  CommandId Writer(ValueId value) const { return writer_[value]; }

 private:
  bool IsCopied(ValueId value) const {
    return Writer(value).exists() && schedule_.commands[Writer(value)].kind == CommandKind::kCopy;
  }
  ValueId SourceOf(ValueId value) const { return schedule_.Inputs(schedule_.commands[Writer(value)])[0]; }

  const Schedule& schedule_;
  IdVector<ValueId, CommandId> writer_;
};

// The launches that a command waits for, through copies.
IdVector<CommandId, std::vector<CommandId>> LaunchesBefore(const Schedule& schedule) {
  IdVector<CommandId, std::vector<CommandId>> before(schedule.commands.size());
  for (const CommandId c : before.ids()) {
    StopPoint();
    std::vector<CommandId>& mine = before[c];
    std::sort(mine.begin(), mine.end());
    mine.erase(std::unique(mine.begin(), mine.end()), mine.end());
    for (const CommandId next : schedule.Successors(c)) {
      std::vector<CommandId>& theirs = before[next];
      if (schedule.commands[c].kind == CommandKind::kLaunch) {
        theirs.push_back(c);
      } else {
        theirs.insert(theirs.end(), mine.begin(), mine.end());
      }
    }
  }
  return before;
}

bool Flag(const std::vector<bool>& flags, size_t i) { return i < flags.size() && flags[i]; }

}  // namespace

TaskGraph::TaskGraph(const StrategyInput& input)
    : graph_(input.graph),
      machine_(input.machine),
      costs_(input.costs),
      machine_tasks_(TasksOf(input.machine)),
      host_(input.step == nullptr ? input.machine.host() : CallersHost(*input.step, input.machine)),
      colocation_(ColocationGroups(input.graph, input.placer.registry)),
      group_of_(colocation_.size(), -1) {
  const Schedule schedule = CompileFreely(input);
  FindGroups(input, schedule);
  ReadSchedule(input.info, schedule);
  EstimateLaunches(input);
}

void TaskGraph::FindGroups(const StrategyInput& input, const Schedule& schedule) {
  const auto add = [&](NodeId node) {
    int& group = group_of_[colocation_[node]];
    if (group >= 0) return;
    group = num_groups();
    groups_.push_back({.number = colocation_[node], .tasks = {}, .devices = {}});
  };
  for (const Command& command : schedule.commands) {
    if (command.kind == CommandKind::kLaunch) add(command.node);
  }
  for (const Value& value : schedule.values) {
    if (value.variable.exists()) add(value.variable);
    if (value.storage == Storage::kConstant && graph_.node(value.source.node).op == "Const")
      add(value.source.node);
  }
  const KernelTable& kernels =
      input.placer.kernels == nullptr ? KernelTable::Global() : *input.placer.kernels;
  for (const NodeId id : graph_.node_ids()) {
    StopPoint();
    const int number = group_of_[colocation_[id]];
    if (number < 0) continue;
    TaskGroup& group = groups_[static_cast<size_t>(number)];
    const std::vector<DeviceId> feasible = FeasibleDevices(graph_.node(id), machine_, kernels);
    if (group.devices.empty()) {
      group.devices = feasible;
    } else {
      std::vector<DeviceId> both;
      std::copy_if(group.devices.begin(), group.devices.end(), std::back_inserter(both),
                   [&](DeviceId device) {
                     return std::find(feasible.begin(), feasible.end(), device) != feasible.end();
                   });
      // Soft rules part a group that has no device in common; the first members speak for it.
      if (!both.empty()) group.devices = std::move(both);
    }
  }
  for (TaskGroup& group : groups_) {
    if (group.devices.empty()) group.devices.push_back(host_);
  }
}

void TaskGraph::ReadSchedule(const GraphInfo& info, const Schedule& schedule) {
  const TensorFinder finder(schedule);
  const auto group_at = [&](NodeId node) { return group_of_[colocation_[node]]; };
  IdVector<CommandId, int> task_of(schedule.commands.size(), -1);
  IdVector<ValueId, int> tensor_of(schedule.values.size(), -1);
  // -1: costs no copy anywhere.
  const auto tensor_at = [&](ValueId operand) {
    const ValueId original = finder.Original(operand);
    int& known = tensor_of[original];
    if (known >= 0) return known;
    const Value& value = schedule.values[original];
    const Value& origin = schedule.values[finder.Origin(original)];
    const bool replicated = origin.storage == Storage::kConstant && compile::IsReplicated(value.dtype);
    if (value.storage == Storage::kResource || replicated) return -1;
    TaskTensor tensor;
    tensor.source = value.source;
    tensor.bytes = value.bytes;
    tensor.on_host = compile::LivesOnHost(value.dtype);
    if (const CommandId writer = finder.Writer(finder.Origin(original)); writer.exists()) {
      tensor.producer = task_of[writer];
      const auto flags = KernelTable::Global().HostOutputs(graph_.node(origin.source.node), "GPU");
      tensor.on_host |= Flag(flags, static_cast<size_t>(origin.source.output));
    }
    if (origin.storage == Storage::kVariable) tensor.group = group_at(origin.variable);
    if (origin.storage == Storage::kConstant && graph_.node(origin.source.node).op == "Const")
      tensor.group = group_at(origin.source.node);
    known = static_cast<int>(tensors_.size());
    tensors_.push_back(tensor);
    return known;
  };
  const auto before = LaunchesBefore(schedule);
  compile::OpTraitsTable traits;
  for (const CommandId c : schedule.commands.ids()) {
    StopPoint();
    const Command& command = schedule.commands[c];
    if (command.kind != CommandKind::kLaunch) continue;
    const Node& node = graph_.node(command.node);
    const compile::OpTraits& op = traits.Of(node.op);
    GraphTask task;
    task.node = command.node;
    task.group = group_at(command.node);
    task.moves_only = op.op_class == compile::OpClass::kAssign || op.op_class == compile::OpClass::kNoOp;
    task.updates = op.IsUpdate();
    for (const ValueId output : schedule.Outputs(command))
      task.updates |= schedule.RootValue(output).storage == Storage::kVariable;
    const std::vector<bool> on_host = KernelTable::Global().HostInputs(node, "GPU");
    const auto inputs = schedule.Inputs(command);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].exists()) continue;
      const int tensor = tensor_at(inputs[i]);
      if (tensor < 0) continue;
      const bool host = Flag(on_host, i) || compile::LivesOnHost(schedule.values[inputs[i]].dtype);
      const auto same = [&](const TaskRead& read) { return read.tensor == tensor && read.on_host == host; };
      if (std::none_of(task.reads.begin(), task.reads.end(), same)) task.reads.push_back({tensor, host});
    }
    for (const CommandId launch : before[c]) {
      const int other = task_of[launch];
      const bool read = std::any_of(task.reads.begin(), task.reads.end(), [&](const TaskRead& r) {
        return tensors_[static_cast<size_t>(r.tensor)].producer == other;
      });
      if (!read) task.after.push_back(other);
    }
    task_of[c] = num_tasks();
    groups_[static_cast<size_t>(task.group)].tasks.push_back(num_tasks());
    tasks_.push_back(std::move(task));
  }
  for (size_t f = 0; f < schedule.fetches.size(); ++f) {
    const int tensor = tensor_at(schedule.fetches[f]);
    if (tensor < 0) continue;
    int& fetch = tensors_[static_cast<size_t>(tensor)].fetch;
    if (fetch < 0) fetch = static_cast<int>(f);
  }
  FindHandedOn(info, schedule);
  for (const Value& value : schedule.values) {
    const bool constant = value.storage == Storage::kConstant && !value.alias_of.exists() &&
                          graph_.node(value.source.node).op == "Const";
    if (constant) groups_[static_cast<size_t>(group_at(value.source.node))].persistent_bytes += value.bytes;
  }
  for (const auto& [node, device] : schedule.variables) {
    const TensorInfo& found = info.of({node, 0});
    groups_[static_cast<size_t>(group_at(node))].persistent_bytes +=
        BytesOf(found.handle != nullptr ? *found.handle : found);
  }
}

// Nodes that need no launch complete when all that they waited for has: identities, barriers of few,
// constants, and what is only waited for.
void TaskGraph::FindHandedOn(const GraphInfo& info, const Schedule& schedule) {
  IdVector<NodeId, int> task_of(graph_.num_nodes(), -1);
  for (int id = 0; id < num_tasks(); ++id) task_of[task(id).node] = id;
  IdVector<NodeId, bool> hands_on(task_of.size(), false);
  for (const Value& value : schedule.values) {
    const bool read = value.storage == Storage::kVariable && value.source.node != value.variable;
    if (value.alias_of.exists() || read) hands_on[value.source.node] = true;
  }
  const auto is_fed = [&](Endpoint endpoint) {
    return std::any_of(schedule.feeds.begin(), schedule.feeds.end(),
                       [&](ValueId feed) { return schedule.values[feed].source == endpoint; });
  };
  compile::OpTraitsTable traits;
  IdVector<NodeId, std::vector<int>> waited(task_of.size());
  for (const NodeId id : graph_.TopologicalOrder()) {
    StopPoint();
    const Node& node = graph_.node(id);
    std::vector<int>& mine = waited[id];
    if (const int task = task_of[id]; task >= 0) {
      mine.push_back(task);
      continue;
    }
    const compile::OpTraits& op = traits.Of(node.op);
    if (!hands_on[id] && !op.IsPure()) continue;
    const bool folded = IsFolded(op, info.outputs(id));
    const auto take = [&](NodeId other) {
      const std::vector<int>& theirs = waited[other];
      mine.insert(mine.end(), theirs.begin(), theirs.end());
    };
    for (const Endpoint& input : node.inputs) {
      if (!is_fed(input) && !(folded && info.of(input).value == nullptr)) take(input.node);
    }
    for (const NodeId control : node.control_inputs) take(control);
    std::sort(mine.begin(), mine.end());
    mine.erase(std::unique(mine.begin(), mine.end()), mine.end());
  }
  for (TaskTensor& tensor : tensors_) {
    const NodeId node = tensor.source.node;
    if (task_of[node] >= 0) continue;  // its producer, or what the step feeds in its place
    tensor.copied_after = waited[node];
    std::erase(tensor.copied_after, tensor.producer);
  }
}

void TaskGraph::EstimateLaunches(const StrategyInput& input) {
  if (tasks_.size() * machine_.devices.size() > kMostEstimates) {
    Throw(Code::kResourceExhausted,
          "{} ops on {} devices are more than strategies, searches and bounds look at; take a smaller "
          "machine, or "
          "a placement that the graph or a file gives",
          tasks_.size(), machine_.devices.size());
  }
  std::vector<TensorInfo> inputs;
  for (const GraphTask& task : tasks_) {
    StopPoint();
    const Node& node = graph_.node(task.node);
    inputs.clear();
    for (const Endpoint& endpoint : node.inputs) inputs.push_back(input.info.of(endpoint));
    const auto outputs = input.info.outputs(task.node);
    const OpWork work = WorkOf(node, inputs, outputs);
    for (const DeviceId device : machine_.devices.ids()) {
      const CostEstimate estimate = costs_.Launch(machine_, device, node, inputs, outputs);
      launch_ns_.push_back(std::max<int64_t>(0, estimate.ns));
      is_rated_.push_back(estimate.basis != CostBasis::kAssumed && estimate.basis != CostBasis::kNothing);
      workers_.push_back(WorkersFor(work, LaunchWorkers(machine_.device(device))));
    }
  }
}

std::vector<DeviceId> TaskGraph::Candidates(int task) const {
  const std::vector<DeviceId>& feasible =
      groups_[static_cast<size_t>(tasks_[static_cast<size_t>(task)].group)].devices;
  std::vector<DeviceId> candidates;
  std::ranges::copy_if(feasible, std::back_inserter(candidates),
                       [&](DeviceId device) { return is_rated_[Index(task, device)]; });
  if (!candidates.empty()) return candidates;
  std::ranges::copy_if(feasible, std::back_inserter(candidates),
                       [&](DeviceId device) { return machine_.device(device).is_gpu(); });
  return candidates.empty() ? feasible : candidates;
}

Placement TaskGraph::ToPlacement(const StrategyInput& input, const std::vector<DeviceId>& device_of_group,
                                 const std::vector<int>& priority) const {
  LANESCOPE_CHECK(device_of_group.size() == groups_.size());
  IdVector<NodeId, DeviceId> wish_of_group(colocation_.size());
  for (size_t g = 0; g < groups_.size(); ++g) wish_of_group[groups_[g].number] = device_of_group[g];
  Placement placement =
      PlaceWithWishes(input, FollowNeighbours(graph_, colocation_, std::move(wish_of_group)));
  if (priority.empty()) return placement;
  placement.priority.assign(graph_.num_nodes(), 0);
  for (size_t t = 0; t < tasks_.size(); ++t) placement.priority[tasks_[t].node] = priority[t];
  return placement;
}

std::vector<int> TaskGraph::PrioritiesIn(const Placement& placement) const {
  std::vector<int> priorities;
  if (placement.priority.empty()) return priorities;
  for (const GraphTask& task : tasks_) priorities.push_back(placement.priority[task.node]);
  return priorities;
}

int64_t CopyTimes::Ns(DeviceId src, DeviceId dst, int64_t bytes) {
  const size_t devices = tasks_.machine().devices.size();
  std::vector<int64_t>& of_pair = known_[bytes];
  if (of_pair.empty()) of_pair.assign(devices * devices, -1);
  int64_t& ns = of_pair[src.index() * devices + dst.index()];
  if (ns < 0) ns = tasks_.CopyNs(src, dst, bytes);
  return ns;
}

std::vector<DeviceId> TaskGraph::DevicesIn(const Placement& placement) const {
  std::vector<DeviceId> devices;
  for (const TaskGroup& group : groups_) devices.push_back(placement.device[group.number]);
  return devices;
}

}  // namespace lanescope
