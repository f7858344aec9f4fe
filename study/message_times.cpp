#include "study/message_times.h"

#include <fmt/core.h>

#include <map>
#include <tuple>
#include <utility>

#include "core/base/statistics.h"
#include "core/graph/graph_builder.h"
#include "core/machine/tasks.h"
#include "core/schedule/cost.h"
#include "study/recorded_run.h"

namespace lanescope::study {
namespace {

constexpr int64_t kLongestNs = 20'000'000;
constexpr int kChainSteps = 4;
constexpr int kSignals = 4;
constexpr int kGpuHops = 4;
constexpr int64_t kSmallElements = 256;

class ChainMaker {
 public:
  GraphBuilder builder;
  Placement placement;
  RunSpec step;

  ChainMaker(const Machine& machine, const MachineTasks& tasks) {
    for (size_t other = 1; other < tasks.hosts.size(); ++other) {
      const Route route = machine.RouteBetween(tasks.hosts[0], tasks.hosts[other]);
      for (const int64_t elements :
           {kSmallElements, int64_t{16} << 10, int64_t{128} << 10, int64_t{1} << 20}) {
        if (CopyNs(machine, route, 4 * elements) <= kLongestNs)
          AddMessages(tasks.hosts[0], tasks.hosts[other], elements, 2);
      }
      AddSignals(tasks.hosts[0], tasks.hosts[other]);
      const DeviceId here = GpuOf(machine, tasks, 0), there = GpuOf(machine, tasks, static_cast<int>(other));
      if (here.exists() && there.exists()) AddMessages(here, there, kSmallElements, kGpuHops);
    }
    // What is only waited for would not run.
    for (const NodeId node : builder.graph().node_ids())
      step.targets.push_back(builder.graph().node(node).name);
  }

 private:
  static DeviceId GpuOf(const Machine& machine, const MachineTasks& tasks, int task) {
    for (const DeviceId d : machine.devices.ids()) {
      if (tasks.task_of[d] == task && machine.device(d).kind == DeviceKind::kVirtual) return d;
    }
    return {};
  }

  Endpoint On(Endpoint node, DeviceId device) {
    placement.device.resize(builder.graph().num_nodes(), device);
    placement.device[node.node] = device;
    return node;
  }

  std::string NewName(const char* base) { return fmt::format("{}{}", base, builder.graph().num_nodes()); }

  // A tensor of the first device.
  Endpoint NewTensor(DeviceId here, int64_t elements) {
    const std::string name = NewName("x");
    const Shape shape({elements});
    step.feeds[name].shape = shape;
    step.feeds[name].values = Tensor(DataType::kFloat, shape);
    const Endpoint x = On(builder.Placeholder(name, DataType::kFloat, shape), here);
    NodeBuilder out = builder.Op("Neg", NewName("out"));
    out.Input(x);
    if (last_.node.exists()) out.ControlInput(last_);
    return On(out.Build(), here);
  }

  // There and back, `hops` times in all.
  void AddMessages(DeviceId here, DeviceId there, int64_t elements, int hops) {
    last_ = NewTensor(here, elements);
    for (int hop = 0; hop < hops; ++hop)
      last_ = On(builder.Op("Neg", NewName("hop")).Input(last_).Build(), hop % 2 == 0 ? there : here);
  }

  // Each end has what it works on, and only waits for the other.
  void AddSignals(DeviceId here, DeviceId there) {
    const Endpoint own[] = {NewTensor(there, kSmallElements), NewTensor(here, kSmallElements)};
    last_ = own[1];
    for (int hop = 0; hop < kSignals; ++hop) {
      last_ = On(builder.Op("Neg", NewName("told")).Input(own[hop % 2]).ControlInput(last_).Build(),
                 hop % 2 == 0 ? there : here);
    }
  }

  Endpoint last_;
};

}  // namespace

MessageChain::MessageChain(const Machine& machine, Job* job, Cancellation* cancellation) {
  if (job == nullptr || !job->is_shared()) return;
  const MachineTasks tasks = TasksOf(machine);
  if (tasks.size() < 2) return;
  ChainMaker chain(machine, tasks);
  workload_ = std::make_unique<Workload>("messages", chain.builder.Take(), std::move(chain.step));
  RecordedRunOptions options;
  options.keep_events = true;
  options.cancellation = cancellation;
  options.job = job;
  run_ = std::make_unique<RecordedRun>(PlacedGraph{workload_.get(), "messages", std::move(chain.placement)},
                                       machine, nullptr, options);
}

MessageChain::~MessageChain() = default;

void MessageChain::Run() {
  if (run_ == nullptr) return;
  run_->WarmUp(1);
  run_->RunSteps(kChainSteps);
}

HandoffRun MessageChain::Finish() {
  if (run_ == nullptr) return {};
  run_->Finish();
  return {run_->schedule(), run_->events()};
}

std::vector<exec::LinkTime> TimesOfMessages(const Machine& machine, const HandoffRun& run) {
  if (run.schedule == nullptr) return {};
  std::map<std::tuple<DeviceId, DeviceId, int64_t>, std::vector<int64_t>> taken;
  const Schedule& schedule = *run.schedule;
  for (const Event& event : run.events) {
    if (event.kind != EventKind::kCommand || !event.command.exists()) continue;
    const Command& command = schedule.commands[event.command];
    if (command.kind != CommandKind::kCopy) continue;
    const DeviceId src = schedule.CopySource(command), dst = schedule.CopyDestination(command);
    if (IsMessage(machine, src, dst)) taken[{src, dst, event.bytes}].push_back(event.end_ns - event.start_ns);
  }
  std::vector<exec::LinkTime> times;
  for (auto& [key, ns] : taken)
    times.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), Median(std::move(ns))});
  return times;
}

bool IsMessage(const Machine& machine, DeviceId src, DeviceId dst) {
  return !IsSameAddressSpace(machine.device(src).parsed, machine.device(dst).parsed) &&
         !machine.device(src).is_gpu() && !machine.device(dst).is_gpu();
}

}  // namespace lanescope::study
