#include "cli/prediction.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "cli/command.h"
#include "core/error.h"
#include "core/run_info.h"
#include "core/signature.h"
#include "exec/gpu_machine.h"
#include "sims/interference.h"
#include "sims/simulator.h"

namespace lanescope::cli {

MachineMeasurement MeasureMachine(const Machine& machine) {
  constexpr int64_t kLargestCopy = 8 << 20;
  MachineMeasurement measured;
  measured.host = exec::MeasureHost(machine, 1500, &Interrupted());
  if (exec::HasPhysicalGpus(machine)) {
    Machine filled = machine;
    const exec::GpuMeasurement gpus = exec::MeasureGpus(&filled, kLargestCopy, 7, &Interrupted());
    measured.links = gpus.links;
    if (!gpus.interference.empty()) measured.host.slowdown = gpus.interference.front().slowdown;
    return measured;
  }
  measured.links = exec::MeasureLinks(machine, kLargestCopy, 7, &Interrupted());
  measured.fetches = exec::MeasureFetches(9, &Interrupted());
  measured.handoffs = exec::MeasureHandoffs(machine, &Interrupted());
  return measured;
}

CalibrationInput SamplesOf(const RecordedRun& run, const Machine& machine, StepRange range) {
  const Graph& graph = run.placed().workload->graph();
  const Schedule& schedule = run.schedule();
  struct Known {
    std::string signature;
    OpWork work;
  };
  std::vector<Known> known(schedule.commands.size());
  for (size_t c = 0; c < known.size(); ++c) {
    const Command& command = schedule.commands[c];
    if (command.kind != CommandKind::kLaunch) continue;
    const auto inputs = InputInfos(graph, run.info(), command.node);
    const auto outputs = run.info().outputs(command.node);
    known[c] = {OpSignature(graph.node(command.node), inputs, outputs),
                WorkOf(graph.node(command.node), inputs, outputs)};
  }
  const std::vector<int64_t> fetched = FetchedBytes(schedule, machine);
  std::vector<Event> events;
  std::copy_if(run.events().begin(), run.events().end(), std::back_inserter(events),
               [&](const Event& event) { return event.step >= range.first && event.step < range.end; });
  CalibrationInput input;
  for (const Event& event : events) {
    if (event.kind != EventKind::kCommand) continue;
    const auto c = static_cast<size_t>(event.command);
    const Command& command = schedule.commands[c];
    const int64_t ns = event.end_ns - event.start_ns;
    if (command.kind == CommandKind::kLaunch) {
      const DeviceSpec& device = machine.device(schedule.queues[static_cast<size_t>(command.queue)].device);
      input.ops.push_back({known[c].signature, graph.node(command.node).op, CostDevice(device), known[c].work,
                           ns, event.step, fetched[c]});
    } else if (command.kind == CommandKind::kCopy) {
      input.copies.push_back(
          {schedule.CopySource(command), schedule.CopyDestination(command), event.bytes, ns, event.step});
    }
  }
  const auto steps = GroupSteps(schedule, events, 0);
  input.gaps = EstimateGaps(schedule, machine, steps);
  input.common_spread = EstimateCommonSpread(steps);
  return input;
}

namespace {

// The part of a schedule that gap estimation reads: commands, queues and dependencies.
Schedule ScheduleOf(const TraceRun& run, int number, const Machine& machine) {
  Schedule schedule;
  std::map<int, int> queues;  // the trace's queue number -> its place here
  for (const TraceCommand& from : run.commands) {
    if (from.schedule != number) continue;
    const TraceDevice* device = run.FindDevice(from.device);
    const int number_here = device == nullptr ? -1 : machine.FindDevice(device->name);
    if (number_here < 0)
      Throw(Code::kDataLoss, "command {} is on a device that the run's machine lacks", from.id);
    Command command;
    command.kind = static_cast<CommandKind>(from.kind);
    const auto [queue, added] = queues.try_emplace(from.queue, static_cast<int>(schedule.queues.size()));
    if (added) {
      Queue lane;
      lane.device = number_here;
      lane.kind = from.kind == TraceCommand::Kind::kCopy ? QueueKind::kCopyOut : QueueKind::kCompute;
      schedule.queues.push_back(lane);
    }
    command.queue = queue->second;
    command.node = from.node;
    command.rank = from.rank;
    command.bytes = from.bytes;
    schedule.commands.push_back(command);
  }
  std::vector<std::vector<int>> successors(schedule.commands.size());
  schedule.num_predecessors.assign(schedule.commands.size(), 0);
  for (const TraceDependency& edge : run.dependencies) {
    if (edge.schedule != number) continue;
    const auto count = static_cast<int>(schedule.commands.size());
    if (edge.from < 0 || edge.from >= count || edge.to <= edge.from || edge.to >= count)
      Throw(Code::kDataLoss, "a dependency of the run names a command that it lacks");
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

std::vector<Event> EventsOf(const TraceRun& run, int number) {
  std::vector<Event> events;
  for (const TraceLaunch& launch : run.launches) {
    if (launch.schedule == number && launch.command >= 0)
      events.push_back(
          {launch.start_ns, launch.end_ns, 0, launch.command, launch.step, number, EventKind::kCommand});
  }
  for (const TraceCopy& copy : run.copies) {
    if (copy.schedule == number && copy.command >= 0)
      events.push_back(
          {copy.start_ns, copy.end_ns, copy.bytes, copy.command, copy.step, number, EventKind::kCommand});
  }
  for (const TraceStep& step : run.steps)
    events.push_back({step.start_ns, step.end_ns, 0, -1, step.step, number, EventKind::kStep});
  return events;
}

}  // namespace

CalibrationInput SamplesOf(const TraceRun& run, const Machine& machine, int warmup_steps) {
  CalibrationInput input;
  // The trace numbers devices in its own way; names tell which is which.
  std::map<int, int> device_of{{kHostDevice, machine.host()}};
  for (const TraceDevice& device : run.devices) device_of[device.id] = machine.FindDevice(device.name);
  const auto known = [&](int id) { return device_of.count(id) > 0 && device_of[id] >= 0; };
  const Schedule schedule = ScheduleOf(run, 0, machine);
  const std::vector<int64_t> fetched = FetchedBytes(schedule, machine);
  std::map<std::pair<int, int>, const TraceCommand*> commands;
  for (const TraceCommand& command : run.commands) commands[{command.schedule, command.id}] = &command;
  for (const TraceLaunch& launch : run.launches) {
    const auto command = commands.find({launch.schedule, launch.command});
    if (launch.step < warmup_steps || launch.signature < 0 || command == commands.end() ||
        !known(launch.device))
      continue;
    const OpWork work{command->second->flops, command->second->bytes};
    const auto number = static_cast<size_t>(launch.command);
    const int64_t brought = launch.schedule == 0 && number < fetched.size() ? fetched[number] : 0;
    input.ops.push_back({run.Text(launch.signature), run.Text(launch.op),
                         CostDevice(machine.device(device_of[launch.device])), work,
                         launch.end_ns - launch.start_ns, launch.step, brought});
  }
  for (const TraceCopy& copy : run.copies) {
    if (copy.step < warmup_steps || !known(copy.src) || !known(copy.dst)) continue;
    input.copies.push_back(
        {device_of[copy.src], device_of[copy.dst], copy.bytes, copy.end_ns - copy.start_ns, copy.step});
  }
  const auto steps = GroupSteps(schedule, EventsOf(run, 0), warmup_steps);
  input.gaps = EstimateGaps(schedule, machine, steps);
  input.common_spread = EstimateCommonSpread(steps);
  return input;
}

Interference InterferenceOf(const exec::HostMeasurement& host) {
  Interference interference;
  for (size_t v = 0; v < static_cast<size_t>(kNumCommandClasses); ++v) {
    for (size_t n = 0; n < static_cast<size_t>(kNumCommandClasses); ++n)
      interference.host.slowdown[v][n] = host.slowdown[v][n];
  }
  interference.host.cores = host.cores;
  interference.host.copy_cores = host.copy_cores;
  interference.host.slice_ns = host.slice_ns;
  interference.host.bytes_per_second = host.bytes_per_second;
  return interference;
}

CostTable FitCosts(const CalibrationInput& input, const MachineMeasurement* measured, const Machine& machine,
                   const std::string& calibrated_on) {
  static const MachineMeasurement kNothing;
  const MachineMeasurement& about = measured != nullptr ? *measured : kNothing;
  std::vector<FetchCurve::Point> points;
  for (const exec::FetchTime& time : about.fetches) points.push_back({time.bytes, time.extra_ns});
  const FetchCurve fetches(std::move(points));
  auto copies = input.copies;
  for (const exec::LinkTime& link : about.links)
    copies.push_back({link.src, link.dst, link.bytes, link.ns, 0});
  CostTable table = CalibrateCosts(WithoutFetches(input.ops, fetches), copies, machine, 0);
  table.calibrated_on = calibrated_on;
  table.gaps = input.gaps;
  table.common_spread = input.common_spread;
  table.fetches = fetches;
  if (about.handoffs.schedule != nullptr) {
    const Schedule& chain = *about.handoffs.schedule;
    table.gaps.handoff_ns =
        EstimateGaps(chain, machine, GroupSteps(chain, about.handoffs.events, 0)).handoff_ns;
  }
  if (measured != nullptr) {
    table.has_interference = true;
    table.interference = InterferenceOf(about.host);
  }
  return table;
}

CompiledStep CompileStep(const PlacedGraph& placed, const Machine& machine) {
  const Workload& workload = *placed.workload;
  return {&placed, Compile(workload.graph(), workload.info(), workload.StepCompileRequest(), placed.placement,
                           machine)};
}

SimulationResult AsSimulation(const Schedule& schedule, const MeasuredStep& step) {
  SimulationResult result;
  result.step_ns = step.end_ns - step.start_ns;
  result.times.resize(schedule.commands.size());
  const Predecessors before = PredecessorsOf(schedule);
  std::vector<int> by_start(schedule.commands.size());
  for (size_t c = 0; c < by_start.size(); ++c) by_start[c] = static_cast<int>(c);
  std::sort(by_start.begin(), by_start.end(), [&](int a, int b) {
    return step.command_start_ns[static_cast<size_t>(a)] < step.command_start_ns[static_cast<size_t>(b)];
  });
  std::vector<int> last_on_queue(schedule.queues.size(), -1);
  for (const int c : by_start) {
    const auto i = static_cast<size_t>(c);
    CommandTime& time = result.times[i];
    time.start_ns = step.command_start_ns[i] - step.start_ns;
    time.end_ns = step.command_end_ns[i] - step.start_ns;
    int& last = last_on_queue[static_cast<size_t>(schedule.commands[i].queue)];
    time.previous = last;
    last = c;
    for (const int p : before.of(c)) {
      const auto end = [&](int command) { return step.command_end_ns[static_cast<size_t>(command)]; };
      if (time.released < 0 || end(p) > end(time.released)) time.released = p;
    }
  }
  return result;
}

int WritePrediction(TraceWriter* writer, const CompiledStep& step, const Machine& machine,
                    const Prediction& prediction, int steps, const std::string& prediction_of,
                    bool in_sample) {
  const Workload& workload = *step.placed->workload;
  RunInfo info;
  info.simulated = true;
  info.emulated = IsEmulated(machine);
  info.strategy = step.placed->strategy;
  info.graph_name = workload.name();
  info.prediction_of = prediction_of;
  info.in_sample = in_sample;
  info.graph = &workload.graph();
  info.machine = &machine;
  info.placement = &step.placed->placement;
  info.info = &workload.info();
  const int run = writer->BeginRun(info);
  writer->AddSchedule(run, step.schedule);
  PublishSteps(step.schedule, prediction.simulation, steps, 0, writer->Sink(run));
  writer->EndRun(run, {});
  return run;
}

}  // namespace lanescope::cli
