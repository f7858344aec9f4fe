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
constexpr int kSteps = 9;

// One message behind the other.
struct MessageChain {
  GraphBuilder builder;
  Placement placement;
  RunSpec step;
  Endpoint last;

  MessageChain(const Machine& machine, const MachineTasks& tasks) {
    for (size_t other = 1; other < tasks.hosts.size(); ++other) {
      const Route route = machine.RouteBetween(tasks.hosts[0], tasks.hosts[other]);
      for (const int64_t elements : {256, 16 << 10, 128 << 10, 1 << 20}) {
        if (CopyNs(machine, route, 4 * elements) <= kLongestNs)
          Add(tasks.hosts[0], tasks.hosts[other], elements);
      }
    }
  }

 private:
  Endpoint On(Endpoint node, DeviceId device) {
    placement.device.resize(builder.graph().num_nodes(), device);
    placement.device[node.node] = device;
    return node;
  }

  void Add(DeviceId here, DeviceId there, int64_t elements) {
    const size_t number = builder.graph().num_nodes();
    const std::string name = fmt::format("x{}", number);
    const Shape shape({elements});
    const Endpoint x = On(builder.Placeholder(name, DataType::kFloat, shape), here);
    step.feeds[name].shape = shape;
    step.feeds[name].values = Tensor(DataType::kFloat, shape);
    NodeBuilder out = builder.Op("Neg", fmt::format("out{}", number));
    out.Input(x);
    if (last.node.exists()) out.ControlInput(last);
    const Endpoint sent = On(out.Build(), here);
    const Endpoint back = On(builder.Op("Neg", fmt::format("back{}", number)).Input(sent).Build(), there);
    last = On(builder.Op("Neg", fmt::format("home{}", number)).Input(back).Build(), here);
    step.targets = {builder.graph().node(last.node).name};
  }
};

}  // namespace

bool IsMessage(const Machine& machine, DeviceId src, DeviceId dst) {
  return !IsSameAddressSpace(machine.device(src).parsed, machine.device(dst).parsed) &&
         !machine.device(src).is_gpu() && !machine.device(dst).is_gpu();
}

std::vector<exec::LinkTime> MeasureMessages(const Machine& machine, Job* job, Cancellation* cancellation) {
  if (job == nullptr || !job->is_shared()) return {};
  MessageChain chain(machine, TasksOf(machine));
  if (!chain.last.node.exists()) return {};
  const Workload workload("messages", chain.builder.Take(), std::move(chain.step));
  RecordedRunOptions options;
  options.keep_events = true;
  options.cancellation = cancellation;
  options.job = job;
  RecordedRun run({&workload, "messages", std::move(chain.placement)}, machine, nullptr, options);
  run.WarmUp(2);
  run.RunSteps(kSteps);
  run.Finish();
  std::map<std::tuple<DeviceId, DeviceId, int64_t>, std::vector<int64_t>> taken;
  const Schedule& schedule = *run.schedule();
  for (const Event& event : run.events()) {
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

}  // namespace lanescope::study
