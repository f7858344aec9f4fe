#include "study/predict/calibration.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "core/graph/signature.h"
#include "sims/cost/interference.h"
#include "sims/fit/measured_steps.h"
#include "study/job/this_machine.h"
#include "study/measure/message_times.h"

namespace lanescope::study {
namespace {

// Measured factors below 1 are noise.
void TakeSlowdown(const SlowdownMatrix& measured, sims::InterferenceMatrix* matrix) {
  for (size_t v = 0; v < static_cast<size_t>(kNumWorkClasses); ++v) {
    for (size_t n = 0; n < static_cast<size_t>(kNumWorkClasses); ++n)
      matrix->slowdown[v][n] = std::max(1.0, measured[v][n]);
  }
}

// Empty for a number that is no node's.
std::string OpOfNode(const Graph& graph, int node) {
  return node >= 0 && static_cast<size_t>(node) < graph.num_nodes() ? graph.node(NodeId(node)).op : "";
}

// As the simulator takes it. One matrix stands for all GPUs: the first one's.
sims::Interference InterferenceOf(const MachineMeasurement& measured) {
  sims::Interference interference;
  interference.host.cores = measured.host.cores;
  interference.host.copy_cores = measured.host.copy_cores;
  interference.host.slice_ns = measured.host.slice_ns;
  interference.other_computers = measured.other_computers;
  if (!measured.gpus.empty()) TakeSlowdown(measured.gpus.front().slowdown, &interference.gpu);
  return interference;
}

}  // namespace

sims::InputRun InputRunOf(const RecordedRun& run, const Machine& machine, std::span<const Event> events) {
  return {run.input(), events, NumProcessors(),
          [&run, &machine](CommandId command) { return sims::TakesCore(*run.schedule(), machine, command); },
          [&run](int node) { return OpOfNode(run.placed().workload->graph(), node); }};
}

sims::CalibrationInput SamplesOf(const RecordedRun& run, const Machine& machine,
                                 const std::vector<char>& counts) {
  const Graph& graph = run.placed().workload->graph();
  const Schedule& schedule = *run.schedule();
  IdVector<CommandId, SignedWork> known(schedule.commands.size());
  std::vector<TensorInfo> inputs;
  for (const CommandId c : known.ids()) {
    const Command& command = schedule.commands[c];
    if (command.kind != CommandKind::kLaunch) continue;
    const Node& node = graph.node(command.node);
    inputs.clear();
    for (const Endpoint& input : node.inputs) inputs.push_back(run.info().of(input));
    const auto outputs = run.info().outputs(command.node);
    known[c] = {OpSignature(node, inputs, outputs), node.op, WorkOf(node, inputs, outputs)};
  }
  std::vector<Event> events;
  std::copy_if(run.events().begin(), run.events().end(), std::back_inserter(events), [&](const Event& event) {
    const auto step = static_cast<size_t>(event.step);
    return event.step >= 0 && step < counts.size() && counts[step] != 0;
  });
  const sims::InputRun input = InputRunOf(run, machine, events);
  sims::CalibrationInput samples =
      lanescope::sims::SamplesOf(schedule, known, sims::WithoutInput(input), machine);
  samples.input = sims::FitInput(input);
  return samples;
}

sims::CostTable FitCosts(const sims::CalibrationInput& input, const MachineMeasurement* measured,
                         const Machine& machine, const std::string& calibrated_on) {
  static const MachineMeasurement kNothing;
  const MachineMeasurement& about = measured != nullptr ? *measured : kNothing;
  std::vector<sims::FetchCurve::Point> points;
  for (const exec::FetchTime& time : about.fetches) points.push_back({time.bytes, time.extra_ns});
  sims::CalibrationInput all = input;
  for (const exec::LinkTime& link : about.links)
    all.copies.push_back({link.src, link.dst, link.bytes, link.ns, 0});
  const sims::Interference interference = InterferenceOf(about);
  sims::CostTable table =
      lanescope::sims::FitCosts(all, sims::FetchCurve(std::move(points)),
                                measured != nullptr ? &interference : nullptr, machine, calibrated_on);
  if (about.handoffs.schedule != nullptr) {
    const Schedule& chain = *about.handoffs.schedule;
    sims::TakeGapsOfChain(chain, machine, sims::GroupSteps(chain, about.handoffs.events, 0), &table.gaps);
  }
  if (about.messages.schedule != nullptr) {
    const Schedule& chain = *about.messages.schedule;
    sims::TakeGapsOfMessages(chain, machine, sims::GroupSteps(chain, about.messages.events, 0), &table.gaps);
    const MessageOverhead overhead = OverheadOfMessages(machine, about.small_messages, about.messages);
    table.gaps.message_overhead_ns = overhead.end_ns;
    table.gaps.message_byte_ns = overhead.byte_ns;
  }
  return table;
}

}  // namespace lanescope::study
