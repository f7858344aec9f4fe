// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <span>

#include "traces/replay/change.h"

namespace lanescope::traces {
namespace {

using Why = ReplayHold::Why;

// A thread no longer waits for the copies that its own calls made.
void ReleaseCallers(const std::vector<char>& copies, ReplayGraph* changed) {
  ReplayGraph& graph = *changed;
  for (size_t i = 0; i < graph.tasks.size(); ++i) {
    if (graph.tasks[i].on_device()) continue;
    const auto first = static_cast<size_t>(graph.holds.first[i]),
               end = static_cast<size_t>(graph.holds.first[i + 1]);
    int before = -1;
    for (size_t h = first; h < end; ++h) {
      if (graph.holds.items[h].why == Why::kThread) before = graph.holds.items[h].from;
    }
    for (size_t h = first; h < end; ++h) {
      ReplayHold& hold = graph.holds.items[h];
      if (hold.why != Why::kSync || hold.from < 0 || copies[static_cast<size_t>(hold.from)] == 0) continue;
      if (graph.tasks[static_cast<size_t>(hold.from)].call == before) hold.from = -1;
    }
  }
}

}  // namespace

void RemoveCopies(const std::vector<char>& copies, ReplayGraph* changed) {
  ReplayGraph& graph = *changed;
  ReleaseCallers(copies, changed);
  for (size_t i = 0; i < copies.size(); ++i) {
    if (copies[i] == 0) continue;
    ReplayTask& task = graph.tasks[i];
    task.ns = 0;
    task.gone = true;
    if (task.call >= 0) graph.tasks[static_cast<size_t>(task.call)].ns = 0;
  }
  // The gap before a copy goes with it.
  for (size_t i = 0; i < copies.size(); ++i) {
    for (auto h = static_cast<size_t>(graph.holds.first[i]);
         copies[i] != 0 && h < static_cast<size_t>(graph.holds.first[i + 1]); ++h) {
      ReplayHold& hold = graph.holds.items[h];
      if (hold.why == Why::kStream) hold.lag_ns = std::min<int64_t>(hold.lag_ns, 0);
      if (hold.why == Why::kLaunch) hold.from = -1;
    }
  }
}

void OverlapTasks(const std::vector<char>& chosen, ReplayGraph* changed) {
  ReplayGraph& graph = *changed;
  ReleaseCallers(chosen, changed);
  // By task chosen: what was before it on its stream and is not set apart itself; -1: nothing.
  std::map<int, int> before;
  for (size_t i = 0; i < chosen.size(); ++i) {
    const auto holds = std::span(graph.holds.items)
                           .subspan(static_cast<size_t>(graph.holds.first[i]),
                                    static_cast<size_t>(graph.holds.first[i + 1] - graph.holds.first[i]));
    if (chosen[i] != 0) {
      graph.tasks[i].apart = true;
      int& of_chosen = before.try_emplace(static_cast<int>(i), -1).first->second;
      for (const ReplayHold& hold : holds) {
        if (hold.why != Why::kStream || hold.from < 0) continue;
        const auto earlier = before.find(hold.from);
        of_chosen = earlier == before.end() ? hold.from : earlier->second;
      }
      continue;
    }
    for (ReplayHold& hold : holds) {
      if (hold.from < 0 || chosen[static_cast<size_t>(hold.from)] == 0 || !graph.tasks[i].on_device())
        continue;
      hold.from = hold.why == Why::kStream ? before.at(hold.from) : -1;
    }
  }
}

}  // namespace lanescope::traces
