// SPDX-License-Identifier: Apache-2.0
#include "gui/document/document_replay.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "gui/document/cancelled.h"
#include "gui/model/activity_scan.h"
#include "gui/model/run_builder.h"
#include "traces/replay/change.h"
#include "traces/replay/replay.h"

namespace lanescope::gui {
namespace {

using Knob = traces::WhatIfKnob;
using Kind = traces::ReplayTask::Kind;

// "kernel:void gemm<...>.speed=2" with many changes would be longer than any title.
std::string TitleOf(const std::vector<std::string>& changes) {
  if (changes.empty()) return "what-if: as it was, replayed";
  std::string title = "what-if: ";
  for (size_t i = 0; i < changes.size(); ++i) title += (i == 0 ? "" : ", ") + changes[i];
  return title;
}

// Copies as the timeline has them: in lanes by their direction, called by where they go.
struct CopyPlace {
  LaneRole role = LaneRole::kCopyOut;
  std::string_view name = "copy";
};
CopyPlace PlaceOfCopy(std::string_view name) {
  if (name.find("HtoD") != std::string_view::npos)
    return {LaneRole::kCopyIn, CopyTitle(CopyClass::kHostToDevice)};
  if (name.find("DtoH") != std::string_view::npos)
    return {LaneRole::kCopyOut, CopyTitle(CopyClass::kDeviceToHost)};
  if (name.find("DtoD") != std::string_view::npos)
    return {LaneRole::kCopyWithin, CopyTitle(CopyClass::kWithinDevice)};
  if (name.find("PtoP") != std::string_view::npos)
    return {LaneRole::kCopyOut, CopyTitle(CopyClass::kDeviceToDevice)};
  return {};
}

// The route that the base's copies of this name take from or to a device; -1: none, or nobody says.
int32_t RouteOf(const RunData& base, std::string_view name, int device) {
  for (size_t r = 0; r < base.routes.size(); ++r) {
    const RunView::Route& route = base.routes[r];
    if (route.name == name && (route.src == device || route.dst == device)) return static_cast<int32_t>(r);
  }
  return -1;
}

// Ops of the replay by the names that they have in the base, so that they are the same ops.
class ReplayOps {
 public:
  ReplayOps(const RunData& base, const traces::ReplayGraph& graph, RunData* run)
      : base_(base), graph_(graph), run_(*run), numbers_(graph.names.size(), -1) {}

  int32_t Of(const traces::ReplayTask& task) {
    if (task.name < 0) return -1;
    int32_t& number = numbers_[static_cast<size_t>(task.name)];
    if (number >= 0) return number;
    number = static_cast<int32_t>(run_.ops.size());
    OpEntry entry;
    entry.name = graph_.names[static_cast<size_t>(task.name)];
    if (task.kind == Kind::kCopy) entry.name = PlaceOfCopy(entry.name).name;
    const int known = base_.FindOp(entry.name);
    if (known >= 0) {
      entry.op = base_.ops[static_cast<size_t>(known)].op;
    } else {
      entry.op = task.kind == Kind::kCall   ? std::string(kCallOp)
                 : task.kind == Kind::kCopy ? "Memcpy"
                                            : entry.name;
    }
    run_.ops.push_back(std::move(entry));
    return number;
  }

 private:
  const RunData& base_;
  const traces::ReplayGraph& graph_;
  RunData& run_;
  std::vector<int32_t> numbers_;
};

int DeviceIndex(const RunData& run, int device) {
  for (size_t i = 0; i < run.devices.size(); ++i) {
    if (run.devices[i].id == device) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

bool IsReplayable(const RunData& run) {
  return (run.kind == RunKind::kHardware || run.kind == RunKind::kLaidOut) && run.commands.empty() &&
         !run.file.empty() && !run.empty();
}

bool HasPlacement(const RunData& run) { return !run.foreign && !(run.graph.empty() && run.commands.empty()); }

std::vector<std::string> ChangesOf(const std::vector<Knob>& knobs,
                                   const std::vector<ReplaySetting>& settings) {
  std::vector<std::string> changes;
  for (size_t i = 0; i < std::min(knobs.size(), settings.size()); ++i) {
    const Knob& knob = knobs[i];
    if (knob.kind == Knob::Kind::kChoice) {
      if (!settings[i].choice.empty()) changes.push_back(knob.ChangeTo(settings[i].choice));
    } else if (settings[i].value != knob.now) {
      changes.push_back(knob.ChangeTo(settings[i].value));
    }
  }
  return changes;
}

std::shared_ptr<const ReplayBase> PrepareReplay(const std::shared_ptr<const RunData>& run,
                                                const std::atomic<bool>& cancelled) {
  auto base = std::make_shared<ReplayBase>();
  base->run = run;
  traces::TraceReader reader(run->file);
  base->graph = traces::ReadReplayGraph(reader, run->id);
  CheckCancelled(cancelled, "the replay");
  base->knobs = traces::FindWhatIfKnobs(base->graph);
  CheckCancelled(cancelled, "the replay");
  base->unchanged = traces::FindWhatIf(base->graph, {});
  return base;
}

ReplayResult SimulateReplay(const ReplayRequest& request, const std::atomic<bool>& cancelled) {
  ReplayResult result;
  result.number = request.number;
  result.what_if = traces::FindWhatIf(request.base->graph, request.changes);
  CheckCancelled(cancelled, "the replay");
  result.run = RunOfReplay(*request.base, request.changes, result.what_if);
  CheckCancelled(cancelled, "the replay");
  return result;
}

std::shared_ptr<const RunData> RunOfReplay(const ReplayBase& base, const std::vector<std::string>& changes,
                                           const traces::WhatIf& what_if) {
  traces::ReplayGraph graph = base.graph;
  for (const std::string& change : changes) traces::ApplyChange(change, &graph);
  const traces::Replayed replayed = traces::Replay(graph);
  RunData run;
  run.kind = RunKind::kWhatIf;
  run.foreign = true;
  run.title = TitleOf(changes);
  run.prediction_of = "replay";
  run.devices = base.run->devices;
  run.processes = base.run->processes;
  run.places = base.run->places;
  run.hosts = base.run->hosts;
  for (RunDevice& device : run.devices) device.peak_bytes = 0;
  run.step_ns = std::llround(what_if.predicted_ns());
  run.unchanged_step_ns = std::llround(what_if.replayed_ns());
  run.measured_step_ns = std::llround(what_if.measured_ns());
  ReplayOps ops(*base.run, graph, &run);
  run.routes = base.run->routes;
  std::map<std::pair<size_t, LaneRole>, RawLane> lanes;  // by queue
  for (size_t t = 0; t < graph.tasks.size(); ++t) {
    const traces::ReplayTask& task = graph.tasks[t];
    if (task.gone || task.kind == Kind::kHostWork) continue;
    const traces::ReplayQueue& queue = graph.queues[static_cast<size_t>(task.queue)];
    const std::string_view name =
        task.name < 0 ? std::string_view() : std::string_view(graph.names[static_cast<size_t>(task.name)]);
    const bool copy = task.kind == Kind::kCopy;
    LaneRole role = queue.device < 0 ? LaneRole::kThread : LaneRole::kCompute;
    if (copy) role = PlaceOfCopy(name).role;
    RawLane& lane = lanes[{static_cast<size_t>(task.queue), role}];
    if (lane.pieces.empty()) {
      lane.role = role;
      lane.device = queue.device < 0 ? -1 : DeviceIndex(run, queue.device);
      lane.process = queue.global_pid;
      lane.label = queue.label + (copy ? " " + std::string(LaneRoleName(role)) : "");
      lane.pieces.emplace_back();
    }
    RawLane::Piece& piece = lane.pieces.front();
    piece.slices.push_back(
        {replayed.start_ns[t], replayed.end_ns[t], ops.Of(task), -1, graph.has_steps ? task.step : -1});
    if (!copy) continue;
    piece.bytes.push_back(0);
    piece.routes.push_back(RouteOf(*base.run, name, lane.device));
  }
  int64_t left_out = 0;
  for (auto& [place, lane] : lanes) run.lanes.push_back(BuildLane(&lane, &left_out));
  if (graph.has_steps) {
    for (const traces::TraceStep& step : traces::StepsOf(graph, replayed))
      run.steps.push_back({step.step, step.start_ns, step.end_ns, step.counts});
  }
  return FinishRun(std::move(run), {});
}

}  // namespace lanescope::gui
