// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/pipeline_passes.h"

#include <algorithm>

#include "core/base/error.h"

namespace lanescope {
namespace {

bool IsInRounds(PipelineSchedule schedule) {
  return schedule == PipelineSchedule::kInterleaved || schedule == PipelineSchedule::kZeroBubble;
}

int RoundsOf(const PipelineOrder& order) { return std::max(1, order.micro_batches / order.stages); }

// The micro-batches of a round pass through the first part, then through the second one, and so on; then
// those of the next round. Backward it is the last part first.
struct Round {
  int size = 1;
  int parts = 1;

  PipelinePass At(PassKind kind, int step) const {
    const int part = step / size % parts;
    return {kind, step / (size * parts) * size + step % size,
            kind == PassKind::kForward ? part : parts - 1 - part};
  }
};

// So many passes forward, then one forward and one backward in turn. `weights_behind`: passes for weights
// come so many behind those for inputs; -1: they are one pass.
std::vector<PipelinePass> Alternate(const Round& round, int passes, int ahead, int weights_behind) {
  const PassKind backward = weights_behind < 0 ? PassKind::kBackward : PassKind::kInputs;
  std::vector<PipelinePass> order;
  for (int k = 0; k < ahead; ++k) order.push_back(round.At(PassKind::kForward, k));
  int weights = 0;
  for (int k = 0; k < passes; ++k) {
    if (ahead + k < passes) order.push_back(round.At(PassKind::kForward, ahead + k));
    order.push_back(round.At(backward, k));
    if (weights_behind >= 0 && k >= weights_behind) order.push_back(round.At(PassKind::kWeights, weights++));
  }
  while (weights_behind >= 0 && weights < passes) order.push_back(round.At(PassKind::kWeights, weights++));
  return order;
}

}  // namespace

bool MakesRounds(const PipelineOrder& order) {
  return !IsInRounds(order.schedule) || order.micro_batches % RoundsOf(order) == 0;
}

std::vector<PipelinePass> PassesOf(const PipelineOrder& order, int stage) {
  const int behind = order.stages - 1 - stage;
  if (!IsInRounds(order.schedule)) {
    const bool gpipe = order.schedule == PipelineSchedule::kGPipe;
    return Alternate({order.micro_batches, 1}, order.micro_batches,
                     gpipe ? order.micro_batches : std::min(order.micro_batches, behind), -1);
  }
  const Round round{order.micro_batches / RoundsOf(order), order.parts};
  const bool splits = order.schedule == PipelineSchedule::kZeroBubble;
  const int passes = order.micro_batches * order.parts;
  const int ahead = (order.parts - 1) * round.size + (splits ? behind : 2 * behind);
  return Alternate(round, passes, std::min(passes, ahead), splits ? stage : -1);
}

std::vector<std::vector<int>> PassStarts(const PipelineOrder& order) {
  const int parts = order.stages * order.parts;
  std::vector<std::vector<PipelinePass>> passes;
  for (int stage = 0; stage < order.stages; ++stage) passes.push_back(PassesOf(order, stage));
  std::vector<std::vector<int>> starts(passes.size());
  std::vector<int> free(passes.size(), 0);
  // By part of the model and micro-batch: when they are through, -1: not yet.
  const std::vector<int> none(static_cast<size_t>(parts * order.micro_batches), -1);
  std::vector<int> forward = none, backward = none;
  for (bool more = true; more;) {
    more = false;
    for (size_t s = 0; s < passes.size(); ++s) {
      if (starts[s].size() == passes[s].size()) continue;
      const PipelinePass& pass = passes[s][starts[s].size()];
      const int part = pass.part * order.stages + static_cast<int>(s);
      const auto at = [&](int of) {
        return static_cast<size_t>(of * order.micro_batches + pass.micro_batch);
      };
      int ready = 0;
      if (pass.kind == PassKind::kForward && part > 0) ready = forward[at(part - 1)];
      if (pass.is_backward()) ready = part + 1 < parts ? backward[at(part + 1)] : forward[at(part)];
      if (ready < 0) continue;
      starts[s].push_back(std::max(free[s], ready));
      free[s] = starts[s].back() + (pass.kind == PassKind::kBackward ? 2 : 1);
      if (pass.kind != PassKind::kWeights)
        (pass.kind == PassKind::kForward ? forward : backward)[at(part)] = free[s];
      more = true;
    }
  }
  for (size_t s = 0; s < passes.size(); ++s) LANESCOPE_CHECK(starts[s].size() == passes[s].size());
  return starts;
}

int PassesAhead(const PipelineOrder& order, int stage, int part) {
  if (!IsInRounds(order.schedule)) {
    return order.schedule == PipelineSchedule::kGPipe ? order.micro_batches
                                                      : std::min(order.micro_batches, order.stages - stage);
  }
  int now = 0, most = 0;
  for (const PipelinePass& pass : PassesOf(order, stage)) {
    if (pass.part != part || pass.kind == PassKind::kInputs) continue;
    now += pass.kind == PassKind::kForward ? 1 : -1;
    most = std::max(most, now);
  }
  return most;
}

}  // namespace lanescope
