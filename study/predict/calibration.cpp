// SPDX-License-Identifier: Apache-2.0
#include "study/predict/calibration.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "core/base/processors.h"
#include "core/graph/signature.h"
#include "core/schedule/fused_cost.h"
#include "sims/effects/copy_cores.h"
#include "sims/effects/core_wait.h"
#include "sims/effects/cores.h"
#include "sims/effects/fetches.h"
#include "sims/effects/messengers.h"
#include "sims/effects/shared_gpu.h"
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

// Effects as microbenchmarks measured them; none where nothing was measured.
sims::EffectSet EffectsOf(const MachineMeasurement& measured, const Machine& machine) {
  sims::EffectSet effects;
  sims::Cores cores;
  cores.cores = measured.host.cores;
  cores.others = measured.other_computers;
  effects.Put(cores);
  sims::CopyCores copies;
  copies.cores = measured.host.copy_cores;
  effects.Put(copies);
  sims::CoreWait wait;
  wait.slice_ns = measured.host.slice_ns;
  effects.Put(wait);
  // One matrix stands for all GPUs: the first one's. Measured factors below 1 are noise.
  sims::SharedGpu gpu;
  for (size_t v = 0; !measured.gpus.empty() && v < kNumWorkClasses; ++v) {
    for (size_t n = 0; n < kNumWorkClasses; ++n)
      gpu.slowdown[v][n] = std::max(1.0, measured.gpus.front().slowdown[v][n]);
  }
  effects.Put(gpu);
  std::vector<sims::FetchCurve::Point> points;
  for (const exec::FetchTime& time : measured.fetches) points.push_back({time.bytes, time.extra_ns});
  sims::Fetches fetches;
  fetches.curve = sims::FetchCurve(std::move(points));
  effects.Put(fetches);
  if (measured.messages.schedule != nullptr) {
    const MessageOverhead overhead = OverheadOfMessages(machine, measured.small_messages, measured.messages);
    sims::Messengers messengers;
    messengers.overhead_ns = overhead.end_ns;
    messengers.byte_ns = overhead.byte_ns;
    effects.Put(messengers);
  }
  return effects;
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
      lanescope::sims::FitCosts(all, EffectsOf(*measured, machine), machine, calibrated_on);
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
