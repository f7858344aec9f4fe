// SPDX-License-Identifier: Apache-2.0
#include "traces/replay/replay_graph.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>

#include "core/base/error.h"
#include "traces/read/synchronizations.h"
#include "traces/replay/collective_tasks.h"
#include "traces/replay/device_operations.h"
#include "traces/replay/full_queues.h"
#include "traces/replay/host_tasks.h"
#include "traces/replay/usual.h"

namespace lanescope::traces {
namespace {

using Why = ReplayHold::Why;
using Kind = ReplayTask::Kind;

constexpr int64_t kUsualNs = 10'000;   // gaps up to here are the device's own
constexpr int64_t kLaunchNs = 20'000;  // so long before its turn an operation waits for the one before alone
constexpr int64_t kLongestLaunchNs = 1'000'000;  // from a call to the start on an idle stream
constexpr int64_t kOften = 4;                    // samples of a pair
constexpr int64_t kDigitNs = 2'000;              // times of some traces are whole microseconds

class GraphBuilder {
 public:
  GraphBuilder(const TraceRun& run, std::span<const TraceSynchronization> synchronizations)
      : run_(run),
        operations_(run),
        waits_(operations_.FindHostWaits(synchronizations)),
        event_waits_(operations_.FindEventWaits(synchronizations)) {
    FindFullQueues(run_, operations_, &waits_, &graph_.facts);
  }

  ReplayGraph Build() {
    if (operations_.all().empty())
      Throw(Code::kFailedPrecondition, "the trace has nothing that ran on a GPU; there is nothing to replay");
    FindBegin();
    AddTasks();
    FindUsual();
    AddHostHolds();
    AddDeviceHolds();
    LinkCollectives(run_, operations_, task_of_operation_, &graph_);
    SettleHolds();
    FillSteps();
    graph_.names = operations_.TakeNames();
    graph_.devices = run_.devices;
    graph_.ranges = run_.ranges;
    return std::move(graph_);
  }

 private:
  const DeviceOperation& Operation(int number) const {
    return operations_.all()[static_cast<size_t>(number)];
  }
  const TraceApiCall& Call(int number) const { return run_.api_calls[static_cast<size_t>(number)]; }
  int TaskOf(int operation) const { return task_of_operation_[static_cast<size_t>(operation)]; }
  ReplayTask& Task(int number) { return graph_.tasks[static_cast<size_t>(number)]; }
  // The task that launched the operation, which a call inside it may have done; -1: nobody says.
  int LauncherOf(const DeviceOperation& operation) const {
    return operation.call < 0 ? -1 : host_.of_call[static_cast<size_t>(operation.call)];
  }

  void FindBegin() {
    graph_.begin_ns = operations_.all().front().start_ns;
    for (const TraceApiCall& call : run_.api_calls)
      graph_.begin_ns = std::min(graph_.begin_ns, call.start_ns);
  }

  // By their measured start, a thread's before a device's.
  void AddTasks() {
    for (const DeviceStream& stream : operations_.streams()) {
      graph_.queues.push_back({stream.device, stream.global_pid,
                               run_.DeviceLabel(stream.device) + " stream " + std::to_string(stream.number),
                               0, stream.number});
    }
    host_ =
        MakeHostTasks(run_, waits_, graph_.begin_ns, static_cast<int>(graph_.queues.size()), &operations_);
    graph_.queues.insert(graph_.queues.end(), host_.queues.begin(), host_.queues.end());
    std::vector<ReplayTask> tasks = host_.tasks;
    for (const DeviceOperation& operation : operations_.all()) {
      ReplayTask task{operation.kind, operation.stream,   operation.name,
                      operation.step, operation.start_ns, operation.end_ns};
      task.ns = operation.end_ns - operation.start_ns;
      task.call = LauncherOf(operation);
      task.crosses = operation.crosses;
      task.bytes = operation.bytes;
      tasks.push_back(task);
    }
    std::vector<int> order(tasks.size()), position(tasks.size());
    std::iota(order.begin(), order.end(), 0);
    // Tasks of a thread that follow another thread's call come after it, if both are at one time.
    std::vector<char> later(tasks.size(), 0);
    for (const HostTasks::HandOver& hand_over : host_.hand_overs) {
      const auto task = static_cast<size_t>(hand_over.task);
      later[task] = tasks[task].ns > 0 ? 1 : 0;
    }
    std::ranges::stable_sort(order, {}, [&](int task) {
      return std::pair(tasks[static_cast<size_t>(task)].start_ns, later[static_cast<size_t>(task)]);
    });
    for (size_t i = 0; i < order.size(); ++i) {
      position[static_cast<size_t>(order[i])] = static_cast<int>(i);
      graph_.tasks.push_back(tasks[static_cast<size_t>(order[i])]);
    }
    const auto moved = [&](int task) { return task < 0 ? -1 : position[static_cast<size_t>(task)]; };
    for (int& task : host_.of_call) task = moved(task);
    for (int& task : host_.after_call) task = moved(task);
    for (HostTasks::HandOver& hand_over : host_.hand_overs) hand_over.task = moved(hand_over.task);
    for (ReplayTask& task : graph_.tasks) task.call = moved(task.call);
    for (size_t i = 0; i < operations_.all().size(); ++i)
      task_of_operation_.push_back(position[host_.tasks.size() + i]);
    holds_.resize(graph_.tasks.size());
    graph_.facts.operations = static_cast<int64_t>(operations_.all().size());
    graph_.facts.calls = static_cast<int64_t>(run_.api_calls.size());
  }

  // Finds what usually passes between a call and what it launched on an idle stream, and between two
  // operations of a stream of which the second was launched before the first had ended.
  void FindUsual() {
    for (const DeviceOperation& operation : operations_.all()) {
      const int launcher = LauncherOf(operation);
      if (launcher >= 0) AddSamples(operation, Task(launcher));
    }
    latency_.Settle(LowerQuartile, 5'000);
    gap_.Settle(MiddleMean, 1'000);
    node_gap_.Settle(MiddleMean, 1'000);
    for (const auto& [first, second] : event_waits_) {
      const int64_t passed = Operation(second).start_ns - Operation(first).end_ns;
      if (passed >= 0 && passed <= kUsualNs) after_event_.Add(0, passed);
    }
    after_event_.Settle(LowerQuartile, 2'000);
    for (size_t i = 0; i < waits_.size(); ++i) {
      const TraceApiCall& call = run_.api_calls[i];
      if (waits_[i].until_ns <= call.start_ns || waits_[i].full_queue) continue;
      ++graph_.facts.synchronizations;
      back_.Add(call.name, std::max<int64_t>(0, call.end_ns - waits_[i].until_ns));
      samples_.backs.push_back(std::max<int64_t>(0, call.end_ns - waits_[i].until_ns));
    }
    back_.Settle(MiddleOf, 5'000);
    const int device = operations_.StreamOf(operations_.all().front()).device;
    const auto gpu = std::ranges::find(run_.devices, device, &TraceDevice::id);
    graph_.launch = samples_.Settle(gpu == run_.devices.end() ? std::string_view() : gpu->model);
  }

  void AddSamples(const DeviceOperation& operation, const ReplayTask& call) {
    if (operation.after_node >= 0) return AddNodeSample(operation, Operation(operation.after_node));
    const int64_t passed = operation.start_ns - call.start_ns;
    const int64_t free = operation.before < 0 ? INT64_MIN : Operation(operation.before).end_ns;
    const bool usual = !operation.in_graph;
    if (passed >= 0) latency_.Bound(call.name, passed);
    // A stream may still have been at work that began before the trace did.
    const bool idle = operation.before < 0 ? passed <= kLongestLaunchNs : free <= call.start_ns;
    if (passed >= 0 && idle) {
      latency_.Add(call.name, passed);
      if (usual) samples_.latencies.push_back(passed);
    }
    if (usual && call.ns == call.end_ns - call.start_ns) samples_.calls.push_back(call.ns);
    const int64_t gap = operation.before < 0 ? INT64_MAX : operation.start_ns - free;
    if (free <= call.start_ns + kLaunchNs || gap <= -kUsualNs || gap > kUsualNs) return;
    gap_.Add(GapKey(operation), gap);
    if (usual && operation.kind == Kind::kKernel && Operation(operation.before).kind == Kind::kKernel)
      samples_.gaps.push_back(gap);
  }

  void AddNodeSample(const DeviceOperation& node, const DeviceOperation& before) {
    const int64_t gap = node.start_ns - before.end_ns;
    if (gap > kUsualNs) return;
    gap_.Add(GapKey(node), gap);
    node_gap_.Add({before.name, node.name}, gap);
    if (gap < 0) return;  // it began before that had ended
    const auto is_kernel = [](Kind kind) { return kind == Kind::kKernel || kind == Kind::kCollective; };
    (!is_kernel(before.kind) ? samples_.after_others
     : is_kernel(node.kind)  ? samples_.node_gaps
                             : samples_.before_others)
        .push_back(gap);
  }
  using Neighbours = std::tuple<Kind, Kind, bool>;  // kinds of both; whether inside a graph
  Neighbours GapKey(const DeviceOperation& operation) const {
    const bool inside = operation.after_node >= 0;
    return {Operation(inside ? operation.after_node : operation.before).kind, operation.kind, inside};
  }

  // Where the body of a loop begins once more passes longer than inside it: each pair of nodes that came
  // often has its own gap.
  int64_t NodeGap(const DeviceOperation& before, const DeviceOperation& node) const {
    const std::pair<int, int> names(before.name, node.name);
    return node_gap_.count(names) >= kOften ? node_gap_.Of(names) : gap_.Of({before.kind, node.kind, true});
  }

  bool Hold(int task, Why why, int from, int64_t lag_ns) {
    if (from < 0 || from >= task) return false;
    holds_[static_cast<size_t>(task)].push_back({why, from, lag_ns});
    return true;
  }

  void AddHostHolds() {
    std::map<int, int> last;  // by queue
    for (size_t i = 0; i < graph_.tasks.size(); ++i) {
      const ReplayTask& task = graph_.tasks[i];
      if (task.on_device()) continue;
      const auto [before, first] = last.try_emplace(task.queue, -1);
      Hold(static_cast<int>(i), Why::kThread, before->second, 0);
      before->second = static_cast<int>(i);
    }
    for (const HostTasks::HandOver& hand_over : host_.hand_overs) {
      const auto call = static_cast<size_t>(hand_over.call);
      const int from = host_.after_call[call] >= 0 ? host_.after_call[call] : host_.of_call[call];
      if (Hold(hand_over.task, Why::kHandOver, from, 0)) ++graph_.facts.hand_overs;
    }
    for (size_t i = 0; i < waits_.size(); ++i) {
      if (host_.after_call[i] < 0) continue;
      // A stream makes room for some launches at once: a moment that no other call's tells.
      const int64_t lag = waits_[i].full_queue
                              ? std::max<int64_t>(0, run_.api_calls[i].end_ns - waits_[i].until_ns)
                              : back_.Of(run_.api_calls[i].name);
      for (const int operation : waits_[i].operations)
        Hold(host_.after_call[i], Why::kSync, TaskOf(operation), lag);
    }
  }

  // By end, of one device: what another stream may have waited for.
  using Ends = std::vector<std::pair<int64_t, int>>;

  void AddDeviceHolds() {
    std::map<int, Ends> ends;
    for (size_t i = 0; i < operations_.all().size(); ++i) {
      const DeviceOperation& operation = operations_.all()[i];
      ends[operations_.StreamOf(operation).device].emplace_back(operation.end_ns, static_cast<int>(i));
    }
    for (auto& [device, of_device] : ends) std::ranges::sort(of_device);
    std::map<int, std::vector<int>> events;  // by operation that waits
    for (const auto& [first, second] : event_waits_) events[second].push_back(first);
    for (size_t i = 0; i < operations_.all().size(); ++i) {
      const int number = static_cast<int>(i);
      const DeviceOperation& operation = operations_.all()[i];
      int64_t explained = AddOrder(number);
      if (const auto found = events.find(number); found != events.end()) {
        for (const int event : found->second) {
          const int64_t lag = after_event_.Of(0);
          if (!Hold(TaskOf(number), Why::kWait, TaskOf(event), lag)) continue;
          ++graph_.facts.waits;
          explained = std::max(explained, Operation(event).end_ns + lag);
        }
      }
      const bool launched = LauncherOf(operation) >= 0;
      graph_.facts.launched += launched ? 1 : 0;
      if (!launched || explained == INT64_MIN || operation.start_ns - explained <= kUsualNs) continue;
      Explain(number, operation.start_ns - explained, ends[operations_.StreamOf(operation).device]);
    }
  }

  // For its call and the one before. Returns when it could have begun.
  int64_t AddOrder(int number) {
    const DeviceOperation& operation = Operation(number);
    const int task = TaskOf(number), launcher = LauncherOf(operation);
    int64_t explained = INT64_MIN;
    if (operation.after_node >= 0) return AddNodeOrder(number);
    if (launcher >= 0) {
      const int64_t lag = latency_.Of(Task(launcher).name);
      if (Hold(task, Why::kLaunch, launcher, lag)) explained = Task(launcher).start_ns + lag;
    }
    if (operation.before < 0) return explained;
    const DeviceOperation& before = Operation(operation.before);
    const int64_t passed = operation.start_ns - before.end_ns;
    // Operations that overlap, and those that nobody launched, keep what is between them.
    const bool keeps = passed < -kUsualNs || launcher < 0;
    const int64_t lag = keeps ? passed : gap_.Of(GapKey(operation));
    if (Hold(task, Why::kStream, TaskOf(operation.before), lag))
      explained = std::max(explained, before.end_ns + lag);
    return explained;
  }

  // A node of a graph is launched with the first of them, and waits for those before it alone.
  int64_t AddNodeOrder(int number) {
    const DeviceOperation& node = Operation(number);
    int64_t explained = INT64_MIN;
    for (const int from : {node.after_node, node.before}) {
      if (from < 0 || (from == node.before && from == node.after_node && explained != INT64_MIN)) continue;
      const DeviceOperation& before = Operation(from);
      const int64_t passed = node.start_ns - before.end_ns;
      if (from != node.after_node && (before.call != node.call || passed < 0)) continue;
      const int64_t lag = passed < 0 ? passed : NodeGap(before, node);
      if (Hold(TaskOf(number), Why::kStream, TaskOf(from), lag))
        explained = std::max(explained, before.end_ns + lag);
    }
    return explained;
  }

  // Finds what had ended last on another stream of its device, if that was after all that explains it; else
  // the delay stays. Longer than usual after that it began since the device was busy, and keeps that.
  void Explain(int number, int64_t delay_ns, const Ends& ends) {
    const DeviceOperation& operation = Operation(number);
    auto end = std::ranges::upper_bound(ends, std::pair(operation.start_ns + kDigitNs, INT32_MAX));
    while (end != ends.begin() && (end - 1)->first > operation.start_ns - delay_ns) {
      --end;
      const DeviceOperation& other = Operation(end->second);
      if (other.stream == operation.stream) continue;
      const int64_t passed = std::max<int64_t>(0, operation.start_ns - other.end_ns);
      if (!Hold(TaskOf(number), Why::kTimes, TaskOf(end->second), passed)) continue;
      ++graph_.facts.waits_by_time;
      if (passed > kUsualNs) Keep(passed);
      return;
    }
    Keep(delay_ns);
    for (ReplayHold& hold : holds_[static_cast<size_t>(TaskOf(number))]) hold.lag_ns += delay_ns;
  }
  void Keep(int64_t delay_ns) {
    ++graph_.facts.kept;
    graph_.facts.kept_ns += delay_ns;
  }

  void SettleHolds() {
    for (const std::vector<ReplayHold>& holds : holds_) {
      for (const ReplayHold& hold : holds) graph_.holds.Append(hold);
      graph_.holds.EndRow();
    }
  }

  void FillSteps() {
    graph_.has_steps = !run_.steps.empty();
    graph_.steps = run_.steps;
    if (graph_.has_steps) return;
    TraceStep whole{0, operations_.all().front().start_ns, 0};
    for (const DeviceOperation& operation : operations_.all())
      whole.end_ns = std::max(whole.end_ns, operation.end_ns);
    graph_.steps.push_back(whole);
    for (ReplayTask& task : graph_.tasks) task.step = 0;
  }

  const TraceRun& run_;
  DeviceOperations operations_;
  std::vector<HostWait> waits_;
  const std::vector<std::pair<int, int>> event_waits_;
  HostTasks host_;
  ReplayGraph graph_;
  std::vector<std::vector<ReplayHold>> holds_;  // by task
  std::vector<int> task_of_operation_;
  Usual<int> latency_;  // by name of the call
  Usual<Neighbours> gap_;
  Usual<std::pair<int, int>> node_gap_;  // inside graphs, by the names of both
  LaunchSamples samples_;
  Usual<int> after_event_, back_;  // back_: by name of the call
};

}  // namespace

ReplayGraph BuildReplayGraph(const TraceRun& run, std::span<const TraceSynchronization> synchronizations) {
  return GraphBuilder(run, synchronizations).Build();
}

}  // namespace lanescope::traces
