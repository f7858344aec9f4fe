// SPDX-License-Identifier: Apache-2.0
#include "traces/replay/what_if_knobs.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/base/printable.h"
#include "core/base/statistics.h"
#include "traces/read/collectives.h"
#include "traces/replay/change.h"
#include "traces/replay/refusals.h"
#include "traces/store/kernel_name.h"
#include "traces/store/saturating.h"

namespace lanescope::traces {
namespace {

using Kind = ReplayTask::Kind;

constexpr double kFactor = 10;  // as much slower and faster
constexpr double kMoreRanks = 64;
constexpr int64_t kLeastOverheadNs = 20'000;  // that a slider of launches reaches at least
constexpr size_t kMostKernels = 8, kMostCopies = 4;
constexpr size_t kLongestLabel = 60;

// The tasks that a change concerns.
struct Concerned {
  int64_t count = 0, ns = 0;
  void Add(const ReplayTask& task) {
    ++count;
    ns = AddSaturating(ns, task.ns);
  }
};

// All parts of the trace in one pass.
struct Parts {
  Concerned host, moving, collectives, all_collectives;
  std::set<std::string> kinds;               // of collectives
  std::map<int, Concerned> gpus;             // by device: kernels that do not wait for others
  std::map<int, Concerned> kernels, copies;  // by name
  std::vector<int> launching;                // calls

  explicit Parts(const ReplayGraph& graph) {
    for (const ReplayTask& task : graph.tasks) {
      if (task.call >= 0) launching.push_back(task.call);
      if (task.kind == Kind::kHostWork) host.Add(task);
      if (task.collective >= 0 || task.crosses) moving.Add(task);
      if (task.kind == Kind::kCollective && task.name >= 0) {
        all_collectives.Add(task);
        kinds.insert(CollectiveKind(graph.names[static_cast<size_t>(task.name)]));
      }
      if (task.kind == Kind::kKernel || task.kind == Kind::kMemset)
        gpus[graph.queues[static_cast<size_t>(task.queue)].device].Add(task);
      if (task.kind == Kind::kKernel || task.kind == Kind::kCollective) kernels[task.name].Add(task);
      if (task.kind == Kind::kCopy) copies[task.name].Add(task);
    }
    for (const std::vector<int>& parts : graph.collectives) {
      ++collectives.count;
      collectives.ns = AddSaturating(collectives.ns, graph.tasks[static_cast<size_t>(parts.front())].ns);
    }
    std::ranges::sort(launching);
    launching.erase(std::ranges::unique(launching).begin(), launching.end());
  }
};

WhatIfKnob Knob(WhatIfKnob::Kind kind, std::string what, std::string label, const Concerned& concerned) {
  WhatIfKnob knob;
  knob.kind = kind;
  knob.what = std::move(what);
  knob.label = std::move(label);
  knob.count = concerned.count;
  knob.ns = concerned.ns;
  if (kind == WhatIfKnob::Kind::kSpeed) {
    knob.low = 1 / kFactor;
    knob.high = kFactor;
    knob.now = 1;
  }
  return knob;
}

// Names that take the most time, the longest first.
std::vector<int> Longest(const std::map<int, Concerned>& named, size_t most) {
  std::vector<int> names;
  for (const auto& [name, concerned] : named) {
    if (name >= 0 && concerned.ns > 0) names.push_back(name);
  }
  std::ranges::stable_sort(names, [&](int a, int b) { return named.at(a).ns > named.at(b).ns; });
  names.resize(std::min(names.size(), most));
  return names;
}

WhatIfKnob LaunchKnob(const ReplayGraph& graph, const Parts& parts) {
  Concerned calls;
  std::vector<int64_t> lengths;
  for (const int call : parts.launching) {
    calls.Add(graph.tasks[static_cast<size_t>(call)]);
    lengths.push_back(graph.tasks[static_cast<size_t>(call)].ns);
  }
  WhatIfKnob knob =
      Knob(WhatIfKnob::Kind::kDuration, "launch.overhead", "what a launch takes the host", calls);
  const int64_t usual = lengths.empty() ? 0 : Median(lengths);
  knob.now = static_cast<double>(usual);
  knob.high = static_cast<double>(std::max(2 * usual, kLeastOverheadNs));
  return knob;
}

WhatIfKnob GraphKnob(const ReplayGraph& graph, const Parts& parts) {
  Concerned calls;
  bool graphs = false;
  for (const int call : parts.launching) {
    const ReplayTask& task = graph.tasks[static_cast<size_t>(call)];
    calls.Add(task);
    graphs = graphs || LaunchesGraph(graph, task);
  }
  WhatIfKnob knob = Knob(WhatIfKnob::Kind::kChoice, "graph", "steps as CUDA graphs", calls);
  knob.choices = {"captured"};
  if (graphs) knob.choices.push_back("none");
  return knob;
}

WhatIfKnob RanksKnob(const ReplayGraph& graph, const Parts& parts) {
  WhatIfKnob knob = Knob(WhatIfKnob::Kind::kCount, "ranks", "ranks of the job", parts.collectives);
  int64_t here = 1;
  for (const int64_t ranks : graph.ranks_of_collectives) here = std::max(here, ranks);
  knob.low = knob.now = static_cast<double>(here);
  knob.high = kMoreRanks * knob.low;
  knob.refused = WhyNotRanks(here, graph);
  return knob;
}

std::string Short(std::string_view name) { return Printable(name.substr(0, kLongestLabel)); }

}  // namespace

std::string WhatIfKnob::ChangeTo(double value) const {
  const double inside = std::clamp(value, low, high);
  switch (kind) {
    case Kind::kSpeed:
      return fmt::format("{}={:.6g}", what, inside);
    case Kind::kDuration:
      return fmt::format("{}={}ns", what, std::llround(inside));
    case Kind::kCount:
    case Kind::kChoice:
      break;
  }
  return fmt::format("{}={}", what, std::llround(inside));
}

std::string WhatIfKnob::ChangeTo(std::string_view choice) const { return fmt::format("{}={}", what, choice); }

std::vector<WhatIfKnob> FindWhatIfKnobs(const ReplayGraph& graph) {
  using Of = WhatIfKnob::Kind;
  const Parts parts(graph);
  std::vector<WhatIfKnob> knobs;
  const auto add = [&](WhatIfKnob knob, std::string refused = "") {
    if (!refused.empty()) knob.refused = std::move(refused);
    knobs.push_back(std::move(knob));
  };
  const std::string no_host = WhyNoHostTimes(graph);
  if (parts.host.count > 0 || !no_host.empty())
    add(Knob(Of::kSpeed, "host.speed", "speed of the host between calls", parts.host), no_host);
  add(LaunchKnob(graph, parts), no_host);
  if (!parts.launching.empty()) add(GraphKnob(graph, parts), no_host);
  if (parts.moving.count > 0 || graph.facts.alone > 0)
    add(Knob(Of::kSpeed, "link.speed", "speed of the links", parts.moving), WhyNoTransferTimes(graph));
  if (parts.collectives.count > 0 || graph.facts.alone > 0) {
    add(RanksKnob(graph, parts));
    add(Knob(Of::kChoice, "straggler", "the GPU that others wait for", parts.collectives),
        WhyNoRankWaits(graph));
    knobs.back().choices = {"removed"};
  }
  if (!parts.kinds.empty()) {
    add(Knob(Of::kChoice, "overlap", "collectives that nothing waits for", parts.all_collectives));
    knobs.back().choices.assign(parts.kinds.begin(), parts.kinds.end());
  }
  for (const auto& [device, kernels] : parts.gpus) {
    const std::string label = DeviceLabel(graph.devices, device);
    add(Knob(Of::kSpeed, label + ".speed", "speed of " + label, kernels));
  }
  for (const int name : Longest(parts.kernels, kMostKernels)) {
    const std::string& full = graph.names[static_cast<size_t>(name)];
    add(Knob(Of::kSpeed, "kernel:" + full + ".speed", "speed of " + Short(ShortKernelName(full)),
             parts.kernels.at(name)));
  }
  for (const int name : Longest(parts.copies, kMostCopies)) {
    const std::string& full = graph.names[static_cast<size_t>(name)];
    add(Knob(Of::kChoice, "copy:" + full, Short(full), parts.copies.at(name)));
    knobs.back().choices = {"removed", "overlapped"};
  }
  return knobs;
}

}  // namespace lanescope::traces
