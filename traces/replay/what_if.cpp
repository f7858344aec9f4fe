// SPDX-License-Identifier: Apache-2.0
#include "traces/replay/what_if.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/base/error.h"
#include "core/runs/step_path.h"
#include "traces/read/synchronizations.h"
#include "traces/replay/change.h"
#include "traces/replay/replay.h"

namespace lanescope::traces {
namespace {

using Kind = ReplayTask::Kind;

// By step number.
std::map<int, int64_t> LengthsOf(const std::vector<TraceStep>& steps) {
  std::map<int, int64_t> lengths;
  for (const TraceStep& step : steps) {
    if (step.counts) lengths[step.step] = step.end_ns - step.start_ns;
  }
  return lengths;
}

int64_t ReplayPath::*PartOf(Kind kind) {
  switch (kind) {
    case Kind::kKernel:
    case Kind::kMemset:
      return &ReplayPath::kernels_ns;
    case Kind::kCollective:
      return &ReplayPath::collectives_ns;
    case Kind::kCopy:
      return &ReplayPath::copies_ns;
    case Kind::kCall:
      return &ReplayPath::calls_ns;
    case Kind::kHostWork:
      return &ReplayPath::host_ns;
  }
  return &ReplayPath::host_ns;
}

struct MeanPath {
  ReplayPath parts;
  std::map<std::string, int64_t> ops;
};

MeanPath PathOf(const ReplayGraph& graph, const Replayed& replayed) {
  const RunView view = ViewOfReplay(graph, replayed);
  std::vector<size_t> counting;
  for (size_t s = 0; s < view.steps.size(); ++s) {
    if (view.steps[s].counts) counting.push_back(s);
  }
  const StepPathFinder finder(view, counting);
  MeanPath mean;
  for (const size_t step : counting) {
    const StepPath path = finder.Find(step);
    for (const PathSegment& segment : path.segments) {
      const int64_t ns = segment.end_ns - segment.start_ns;
      if (segment.waiting || segment.item < 0) {
        mean.parts.waiting_ns += ns;
        continue;
      }
      const WorkItem& item = path.items[static_cast<size_t>(segment.item)];
      const int32_t number = view.lanes[static_cast<size_t>(item.lane)].slices->command[item.slice];
      const ReplayTask& task = graph.tasks[static_cast<size_t>(number)];
      mean.parts.*PartOf(task.kind) += ns;
      mean.ops[task.name < 0 ? "no name" : graph.names[static_cast<size_t>(task.name)]] += ns;
    }
  }
  const auto count = static_cast<int64_t>(std::max<size_t>(1, counting.size()));
  for (const auto part : {&ReplayPath::kernels_ns, &ReplayPath::collectives_ns, &ReplayPath::copies_ns,
                          &ReplayPath::calls_ns, &ReplayPath::host_ns, &ReplayPath::waiting_ns})
    mean.parts.*part /= count;
  for (auto& [name, ns] : mean.ops) ns /= count;
  return mean;
}

void FillPaths(const MeanPath& replayed, const MeanPath& predicted, WhatIf* what_if) {
  what_if->replayed = replayed.parts;
  what_if->predicted = predicted.parts;
  std::map<std::string, WhatIf::PathOp> ops;
  for (const auto& [name, ns] : replayed.ops) ops[name].replayed_ns = ns;
  for (const auto& [name, ns] : predicted.ops) ops[name].predicted_ns = ns;
  for (auto& [name, op] : ops) {
    op.name = name;
    what_if->ops.push_back(op);
  }
  std::ranges::stable_sort(what_if->ops, [](const WhatIf::PathOp& a, const WhatIf::PathOp& b) {
    return std::max(a.replayed_ns, a.predicted_ns) > std::max(b.replayed_ns, b.predicted_ns);
  });
}

int64_t MeanPredicted(const ReplayGraph& graph, const std::vector<std::string>& changes, RatioQuantile spread,
                      const std::vector<WhatIf::Step>& steps) {
  ReplayGraph changed = graph;
  for (const std::string& change : changes) ApplyChange(change, &changed, spread);
  const auto lengths = LengthsOf(StepsOf(changed, Replay(changed)));
  int64_t sum = 0;
  for (const WhatIf::Step& step : steps) {
    if (const auto found = lengths.find(step.number); found != lengths.end()) sum += found->second;
  }
  return steps.empty() ? 0 : sum / std::ssize(steps);
}

}  // namespace

double WhatIf::Mean(int64_t Step::*part) const {
  double sum = 0;
  for (const Step& step : steps) sum += static_cast<double>(step.*part);
  return steps.empty() ? 0 : sum / static_cast<double>(steps.size());
}

WhatIf FindWhatIf(const ReplayGraph& graph, const std::vector<std::string>& changes) {
  WhatIf what_if;
  what_if.facts = graph.facts;
  what_if.has_steps = graph.has_steps;
  std::set<int> gpus;
  for (const ReplayQueue& queue : graph.queues) {
    ++(queue.device < 0 ? what_if.threads : what_if.streams);
    if (queue.device >= 0) gpus.insert(queue.device);
  }
  what_if.gpus = static_cast<int64_t>(gpus.size());
  ReplayGraph changed = graph;
  for (const std::string& change : changes)
    what_if.changes.push_back({change, ApplyChange(change, &changed)});
  const Replayed replayed = Replay(graph), predicted = Replay(changed);
  const auto measured = LengthsOf(graph.steps), before = LengthsOf(StepsOf(graph, replayed)),
             after = LengthsOf(StepsOf(changed, predicted));
  for (const auto& [number, ns] : measured) {
    if (before.contains(number) && after.contains(number))
      what_if.steps.push_back({number, ns, before.at(number), after.at(number)});
  }
  FillPaths(PathOf(graph, replayed), PathOf(changed, predicted), &what_if);
  if (std::ranges::any_of(changes, [](const std::string& change) { return change.starts_with("gpu="); })) {
    what_if.range = {MeanPredicted(graph, changes, RatioQuantile::kLow, what_if.steps),
                     MeanPredicted(graph, changes, RatioQuantile::kHigh, what_if.steps)};
  }
  return what_if;
}

WhatIfProfiles ProfileWhatIf(const ReplayGraph& graph, const std::vector<std::string>& changes, int step) {
  ReplayGraph changed = graph;
  for (const std::string& change : changes) ApplyChange(change, &changed);
  const Replayed before = Replay(graph), after = Replay(changed);
  return {ProfileRun(ViewOfReplay(graph, before), step), ProfileRun(ViewOfReplay(changed, after), step)};
}

ReplayGraph ReadReplayGraph(TraceReader& reader, int run) {
  const TraceRunInfo info = reader.RunInfoOf(run);
  const TraceRun read = reader.ReadRun(run);
  if (info.simulated || !read.commands.empty()) {
    Throw(Code::kFailedPrecondition,
          "run {} ran a graph ({}), whose schedule is known: simulate the graph, with --cost of calibrate, "
          "for a "
          "change of it",
          run, info.graph);
  }
  return BuildReplayGraph(read, ReadSynchronizations(reader, run));
}

}  // namespace lanescope::traces
