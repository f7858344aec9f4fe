#include "gui/document_calibration.h"

#include <algorithm>
#include <map>
#include <vector>

#include "core/error.h"
#include "sims/calibrate.h"
#include "sims/measured_steps.h"
#include "traces/trace_reader.h"

namespace lanescope::gui {
namespace {

// Numbers of one run's devices on the machine.
class DeviceMap {
 public:
  DeviceMap(const TraceRun& run, const Machine& machine) {
    numbers_[kHostDevice] = machine.host();
    for (const TraceDevice& device : run.devices) numbers_[device.id] = machine.FindDevice(device.name);
  }
  // -1: the machine lacks it.
  int Of(int device) const {
    const auto found = numbers_.find(device);
    return found == numbers_.end() ? -1 : found->second;
  }

 private:
  std::map<int, int> numbers_;
};

struct Samples {
  std::vector<OpSample> ops;
  std::vector<CopySample> copies;
};

void AddSamples(const TraceRun& run, const Machine& machine, Samples* samples) {
  const DeviceMap devices(run, machine);
  std::map<std::pair<int, int>, const TraceCommand*> commands;
  for (const TraceCommand& command : run.commands) commands[{command.schedule, command.id}] = &command;
  for (const TraceLaunch& launch : run.launches) {
    const auto command = commands.find({launch.schedule, launch.command});
    const int device = devices.Of(launch.device);
    if (command == commands.end() || launch.signature < 0 || device < 0) continue;
    OpSample sample;
    sample.signature = run.Text(launch.signature);
    sample.op = run.Text(launch.op);
    sample.device = CostDevice(machine.device(device));
    sample.work = {command->second->flops, command->second->bytes};
    sample.ns = launch.end_ns - launch.start_ns;
    sample.step = launch.step;
    samples->ops.push_back(std::move(sample));
  }
  for (const TraceCopy& copy : run.copies) {
    const int src = devices.Of(copy.src), dst = devices.Of(copy.dst);
    if (src < 0 || dst < 0 || copy.command < 0) continue;
    samples->copies.push_back({src, dst, copy.bytes, copy.end_ns - copy.start_ns, copy.step});
  }
}

// The part of a run's first schedule that gaps are estimated from. Empty when the trace's numbers make no
// sense.
Schedule ScheduleOf(const TraceRun& run, const Machine& machine) {
  const DeviceMap devices(run, machine);
  Schedule schedule;
  std::map<int, int> queues;
  for (const TraceCommand& from : run.commands) {
    if (from.schedule != 0) continue;
    const int device = devices.Of(from.device);
    if (device < 0 || from.id != static_cast<int>(schedule.commands.size())) return {};
    const auto [queue, added] = queues.try_emplace(from.queue, static_cast<int>(schedule.queues.size()));
    if (added) {
      Queue made;
      made.device = device;
      made.kind = from.kind == TraceCommand::Kind::kCopy ? QueueKind::kCopyOut : QueueKind::kCompute;
      schedule.queues.push_back(made);
    }
    Command command;
    command.kind = static_cast<CommandKind>(from.kind);
    command.queue = queue->second;
    command.node = from.node;
    command.rank = from.rank;
    command.bytes = from.bytes;
    schedule.commands.push_back(command);
  }
  const size_t size = schedule.commands.size();
  std::vector<std::vector<int>> successors(size);
  schedule.num_predecessors.assign(size, 0);
  for (const TraceDependency& edge : run.dependencies) {
    if (edge.schedule != 0) continue;
    if (edge.from < 0 || edge.to <= edge.from || static_cast<size_t>(edge.to) >= size) return {};
    successors[static_cast<size_t>(edge.from)].push_back(edge.to);
    ++schedule.num_predecessors[static_cast<size_t>(edge.to)];
  }
  schedule.first_successor.push_back(0);
  for (const auto& list : successors) {
    schedule.successors.insert(schedule.successors.end(), list.begin(), list.end());
    schedule.first_successor.push_back(static_cast<int>(schedule.successors.size()));
  }
  return schedule;
}

std::vector<Event> EventsOf(const TraceRun& run, size_t commands) {
  std::vector<Event> events;
  const auto add = [&](const auto& activity, int64_t bytes) {
    const bool known =
        activity.schedule == 0 && activity.command >= 0 && static_cast<size_t>(activity.command) < commands;
    if (!known) return;
    Event event;
    event.start_ns = activity.start_ns;
    event.end_ns = activity.end_ns;
    event.bytes = bytes;
    event.command = activity.command;
    event.step = activity.step;
    events.push_back(event);
  };
  for (const TraceLaunch& launch : run.launches) add(launch, 0);
  for (const TraceCopy& copy : run.copies) add(copy, copy.bytes);
  for (const TraceStep& step : run.steps) {
    Event event;
    event.start_ns = step.start_ns;
    event.end_ns = step.end_ns;
    event.step = step.step;
    event.kind = EventKind::kStep;
    events.push_back(event);
  }
  return events;
}

}  // namespace

Calibration CalibrateFromTrace(const std::string& path, const std::string& graph, int preferred,
                               const Machine& machine, const std::atomic<bool>& cancelled) {
  Calibration calibration;
  TraceReader reader(path);
  std::vector<int> measured;
  for (const TraceRunInfo& info : reader.Runs()) {
    if (!info.simulated && info.graph == graph && info.error.empty()) measured.push_back(info.id);
  }
  if (measured.empty()) {
    calibration.note = fmt::format("uncalibrated: the trace has no measured run of {}", graph);
    calibration.costs = std::make_shared<const CalibratedCost>(CostTable());
    return calibration;
  }
  const bool has_preferred = std::find(measured.begin(), measured.end(), preferred) != measured.end();
  const int gaps_from = has_preferred ? preferred : measured.front();
  Samples samples;
  GapModel gaps;
  double common_spread = 0;
  for (const int id : measured) {
    if (cancelled.load(std::memory_order_relaxed)) Throw(Code::kCancelled, "calibration was cancelled");
    const TraceRun run = reader.ReadRun(id);
    AddSamples(run, machine, &samples);
    calibration.note += fmt::format("{}{}", calibration.note.empty() ? "" : ", ", id);
    if (id != gaps_from) continue;
    const Schedule schedule = ScheduleOf(run, machine);
    if (schedule.commands.empty()) continue;
    const auto steps = GroupSteps(schedule, EventsOf(run, schedule.commands.size()), 0);
    gaps = EstimateGaps(schedule, machine, steps);
    common_spread = EstimateCommonSpread(steps);
  }
  CostTable table = CalibrateCosts(samples.ops, samples.copies, machine, 0);
  table.gaps = gaps;
  table.common_spread = common_spread;
  calibration.note = fmt::format("calibrated on run{} {}", measured.size() > 1 ? "s" : "", calibration.note);
  table.calibrated_on = calibration.note;
  calibration.costs = std::make_shared<const CalibratedCost>(std::move(table));
  calibration.calibrated = true;
  return calibration;
}

}  // namespace lanescope::gui
