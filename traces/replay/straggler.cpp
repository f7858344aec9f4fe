// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "traces/replay/change.h"

namespace lanescope::traces {
namespace {

// A GPU's time until it is at a collective.
struct Approach {
  int64_t from_ns = 0, until_ns = 0;
  double factor = 1;
};

using Approaches = std::map<int, std::vector<Approach>>;  // by device, by time

Approaches FindApproaches(const ReplayGraph& graph) {
  const auto task = [&](int number) -> const ReplayTask& { return graph.tasks[static_cast<size_t>(number)]; };
  const auto all_there = [&](const std::vector<int>& parts) {
    int64_t last = INT64_MIN;
    for (const int part : parts) last = std::max(last, task(part).start_ns);
    return last;
  };
  std::vector<const std::vector<int>*> collectives;
  for (const std::vector<int>& parts : graph.collectives) collectives.push_back(&parts);
  std::ranges::stable_sort(collectives, {}, [&](const std::vector<int>* parts) { return all_there(*parts); });
  Approaches found;
  // By GPU the last collective that it took part in: ranks may be in several groups.
  std::map<int, int64_t> since;
  const auto gpu_of = [&](int part) { return graph.queues[static_cast<size_t>(task(part).queue)].device; };
  const auto from_of = [&](int part) {
    return since.try_emplace(gpu_of(part), graph.begin_ns).first->second;
  };
  for (const std::vector<int>* parts : collectives) {
    std::vector<int64_t> lengths;
    for (const int part : *parts) lengths.push_back(task(part).start_ns - from_of(part));
    std::ranges::sort(lengths);
    const int64_t usual = lengths[(lengths.size() - 1) / 2];
    for (const int part : *parts) {
      const int64_t from = from_of(part), until = task(part).start_ns;
      if (usual <= 0 || until - from <= usual) continue;
      found[gpu_of(part)].push_back(
          {from, until, static_cast<double>(usual) / static_cast<double>(until - from)});
    }
    for (const int part : *parts) since[gpu_of(part)] = all_there(*parts);
  }
  return found;
}

// By queue the GPU that it is of: a thread's where its process has but one; -1: none.
std::vector<int> GpusOf(const ReplayGraph& graph) {
  std::map<int64_t, std::set<int>> of_process;
  for (const ReplayQueue& queue : graph.queues) {
    if (queue.device >= 0) of_process[queue.global_pid].insert(queue.device);
  }
  std::vector<int> gpus;
  for (const ReplayQueue& queue : graph.queues) {
    const std::set<int>& gpus_of = of_process[queue.global_pid];
    gpus.push_back(queue.device >= 0 ? queue.device : gpus_of.size() == 1 ? *gpus_of.begin() : -1);
  }
  return gpus;
}

}  // namespace

void RemoveStragglers(ReplayGraph* graph) {
  const Approaches approaches = FindApproaches(*graph);
  const std::vector<int> gpus = GpusOf(*graph);
  for (size_t i = 0; i < graph->tasks.size(); ++i) {
    ReplayTask& task = graph->tasks[i];
    const auto of_gpu = approaches.find(gpus[static_cast<size_t>(task.queue)]);
    if (of_gpu == approaches.end() || task.collective >= 0) continue;
    const auto after = std::ranges::upper_bound(of_gpu->second, task.start_ns, {}, &Approach::from_ns);
    if (after == of_gpu->second.begin() || task.start_ns >= (after - 1)->until_ns) continue;
    const double factor = (after - 1)->factor;
    task.ns = std::llround(static_cast<double>(task.ns) * factor);
    for (int h = graph->holds.first[i]; h < graph->holds.first[i + 1]; ++h) {
      int64_t& lag = graph->holds.items[static_cast<size_t>(h)].lag_ns;
      lag = std::llround(static_cast<double>(lag) * factor);
    }
  }
}

}  // namespace lanescope::traces
