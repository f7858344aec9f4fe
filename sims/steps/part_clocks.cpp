// SPDX-License-Identifier: Apache-2.0
#include "sims/steps/part_clocks.h"

#include <algorithm>
#include <cstdint>
#include <map>

namespace lanescope::sims {
namespace {

// A command on a stream of a logical device, and one on another device of its GPU that it waits for.
struct Crossing {
  CommandId before, after;
  DeviceId from, to;
};

// Whether its commands lie on streams of a part of a GPU.
bool IsPart(const Machine& machine, const Queue& queue) {
  return queue.in_order && machine.device(queue.device).kind == DeviceKind::kLogical;
}

std::vector<Crossing> CrossingsOf(const Schedule& schedule, const Machine& machine) {
  const auto predecessors = PredecessorsOf(schedule);
  const auto waited = WaitedFor(schedule, predecessors);
  std::vector<Crossing> crossings;
  for (const CommandId c : schedule.commands.ids()) {
    const Queue& to = schedule.queues[schedule.commands[c].queue];
    if (!schedule.commands[c].is_work() || !IsPart(machine, to)) continue;
    const auto add = [&](CommandId p) {
      const Queue& from = schedule.queues[schedule.commands[p].queue];
      if (!schedule.commands[p].is_work() || !IsPart(machine, from) || from.device == to.device) return;
      if (machine.device(from.device).physical == machine.device(to.device).physical)
        crossings.push_back({p, c, from.device, to.device});
    };
    for (const CommandId p : predecessors[c]) add(p);
    for (const CommandId p : waited[c]) add(p);
  }
  return crossings;
}

// By device: how much later than the first of its GPU it was read, of those that can be told.
std::map<DeviceId, int64_t> LatenessOf(const std::vector<Crossing>& crossings, const MeasuredStep& step) {
  std::map<DeviceId, int64_t> late;
  for (const Crossing& of : crossings) {
    if (late.empty()) late.emplace(std::min(of.from, of.to), 0);
  }
  for (size_t known = 0; known < late.size();) {
    known = late.size();
    struct Least {
      int64_t in = INT64_MAX, out = INT64_MAX;
    };
    std::map<DeviceId, Least> least;
    for (const Crossing& of : crossings) {
      const auto from = late.find(of.from), to = late.find(of.to);
      const int64_t ns = step.command_start_ns[of.after] - step.command_end_ns[of.before];
      if (from != late.end() && to == late.end()) {
        int64_t& in = least[of.to].in;
        in = std::min(in, ns + from->second);
      } else if (from == late.end() && to != late.end()) {
        int64_t& out = least[of.from].out;
        out = std::min(out, ns - to->second);
      }
    }
    for (const auto& [device, of] : least) {
      if (of.in != INT64_MAX && of.out != INT64_MAX) late.emplace(device, (of.in - of.out) / 2);
    }
  }
  return late;
}

}  // namespace

void AlignParts(const Schedule& schedule, const Machine& machine, std::vector<MeasuredStep>* steps) {
  std::map<int, std::vector<Crossing>> by_gpu;
  for (const Crossing& of : CrossingsOf(schedule, machine))
    by_gpu[machine.device(of.from).physical].push_back(of);
  for (MeasuredStep& step : *steps) {
    for (const auto& [gpu, crossings] : by_gpu) {
      const std::map<DeviceId, int64_t> late = LatenessOf(crossings, step);
      int64_t earliest = 0;
      for (const auto& [device, ns] : late) earliest = std::min(earliest, ns);
      for (const CommandId c : schedule.commands.ids()) {
        const Queue& queue = schedule.queues[schedule.commands[c].queue];
        const auto found = late.find(queue.device);
        if (!queue.in_order || found == late.end()) continue;
        step.command_start_ns[c] -= found->second - earliest;
        step.command_end_ns[c] -= found->second - earliest;
      }
    }
  }
}

}  // namespace lanescope::sims
