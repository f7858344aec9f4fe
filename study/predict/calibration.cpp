// SPDX-License-Identifier: Apache-2.0
#include "study/predict/calibration.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "core/base/processors.h"
#include "core/graph/signature.h"
#include "core/schedule/fused_cost.h"
#include "sims/effects/machine_figures.h"
#include "sims/fit/fit_chain.h"
#include "sims/fit/step_samples.h"
#include "sims/steps/measured_steps.h"
#include "study/job/this_machine.h"
#include "study/measure/measure_machine.h"
#include "study/measure/message_times.h"
#include "study/measure/recorded_run.h"

namespace lanescope::study {
namespace {

// Empty for a number that is no node's.
std::string OpOfNode(const Graph& graph, int node) {
  return node >= 0 && static_cast<size_t>(node) < graph.num_nodes() ? graph.node(NodeId(node)).op : "";
}

sims::MachineFigures FiguresOf(const MachineMeasurement& measured, const Machine& machine) {
  sims::MachineFigures figures;
  figures.cores = measured.host.cores;
  figures.other_computers = measured.other_computers;
  figures.copy_cores = measured.host.copy_cores;
  figures.slice_ns = measured.host.slice_ns;
  // The first GPU's stand for all.
  if (!measured.gpus.empty()) figures.gpu_slowdown = measured.gpus.front().slowdown;
  for (const exec::FetchTime& time : measured.fetches) figures.fetches.push_back({time.bytes, time.extra_ns});
  if (measured.messages.schedule != nullptr) {
    const MessageOverhead overhead = OverheadOfMessages(machine, measured.small_messages, measured.messages);
    figures.message = {overhead.end_ns, overhead.byte_ns};
  }
  return figures;
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
    if (command.fused >= 0) {
      const FusedDescription fused = DescribeFused(graph, run.info(), schedule, command);
      known[c] = {OpSignature(fused.node, fused.inputs, fused.outputs), fused.node.op,
                  WorkOf(fused.node, fused.inputs, fused.outputs)};
      continue;
    }
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
  sims::CalibrationInput all = input;
  if (measured == nullptr) return lanescope::sims::FitCosts(all, {}, machine, calibrated_on);
  for (const exec::LinkTime& link : measured->links)
    all.copies.push_back({link.src, link.dst, link.bytes, link.ns, 0});
  sims::CostTable table =
      lanescope::sims::FitCosts(all, sims::EffectsOf(FiguresOf(*measured, machine)), machine, calibrated_on);
  if (measured->handoffs.schedule != nullptr) {
    const Schedule& chain = *measured->handoffs.schedule;
    sims::FitChain(chain, machine, sims::GroupSteps(chain, measured->handoffs.events, 0), &table.effects);
  }
  if (measured->messages.schedule != nullptr) {
    const Schedule& chain = *measured->messages.schedule;
    sims::FitMessageChain(chain, machine, sims::GroupSteps(chain, measured->messages.events, 0),
                          &table.effects);
  }
  return table;
}

}  // namespace lanescope::study
