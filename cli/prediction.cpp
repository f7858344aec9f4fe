#include "cli/prediction.h"

#include <algorithm>
#include <iterator>

#include "cli/interrupt.h"
#include "core/error.h"
#include "core/run_info.h"
#include "core/signature.h"
#include "exec/gpu_machine.h"
#include "sims/interference.h"
#include "sims/simulator.h"
#include "traces/recorded_schedule.h"

namespace lanescope::cli {

namespace {

// Throws Cancelled after a signal instead of handing on.
class UntilInterrupted : public EventSink {
 public:
  explicit UntilInterrupted(EventSink* to) : to_(to) {}
  void Consume(std::span<const Event> events) override {
    ThrowIfInterrupted();
    to_->Consume(events);
  }
  void CountDropped(int64_t records) override { to_->CountDropped(records); }

 private:
  EventSink* to_;
};

}  // namespace

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
  std::vector<SignedWork> known(schedule.commands.size());
  for (size_t c = 0; c < known.size(); ++c) {
    const Command& command = schedule.commands[c];
    if (command.kind != CommandKind::kLaunch) continue;
    const Node& node = graph.node(command.node);
    const auto inputs = InputInfos(graph, run.info(), command.node);
    const auto outputs = run.info().outputs(command.node);
    known[c] = {OpSignature(node, inputs, outputs), node.op, WorkOf(node, inputs, outputs)};
  }
  std::vector<Event> events;
  std::copy_if(run.events().begin(), run.events().end(), std::back_inserter(events),
               [&](const Event& event) { return event.step >= range.first && event.step < range.end; });
  return SamplesOf(schedule, known, events, machine);
}

CalibrationInput SamplesOf(const TraceRun& run, const Machine& machine, int warmup_steps) {
  CalibrationInput input;
  for (int number = 0; number < NumSchedules(run); ++number) {
    const RecordedSchedule recorded = ReadSchedule(run, number, machine);
    CalibrationInput found =
        SamplesOf(recorded.schedule, recorded.work, recorded.events, machine, warmup_steps);
    if (number == 0) {
      input = std::move(found);
    } else {
      AddSamples(found, &input);
    }
  }
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
  CalibrationInput all = input;
  for (const exec::LinkTime& link : about.links)
    all.copies.push_back({link.src, link.dst, link.bytes, link.ns, 0});
  CostTable table = FitCosts(all, FetchCurve(std::move(points)), machine, calibrated_on);
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
                    const Prediction& prediction, int steps, const CostTable* costs,
                    const std::string& prediction_of, bool in_sample) {
  const Workload& workload = *step.placed->workload;
  RunInfo info;
  info.simulated = true;
  info.emulated = IsEmulated(machine);
  info.strategy = step.placed->strategy;
  info.graph_name = workload.name();
  info.prediction_of = prediction_of;
  if (costs != nullptr) info.cost_model = CostTableToJson(*costs);
  info.in_sample = in_sample;
  info.graph = &workload.graph();
  info.machine = &machine;
  info.placement = &step.placed->placement;
  info.info = &workload.info();
  const int run = writer->BeginRun(info);
  writer->AddSchedule(run, step.schedule);
  UntilInterrupted sink(writer->Sink(run));
  try {
    PublishSteps(step.schedule, prediction.simulation, steps, 0, &sink);
  } catch (const Error& error) {
    writer->EndRun(run, {false, error.what()});
    throw;
  }
  writer->EndRun(run, {});
  return run;
}

}  // namespace lanescope::cli
