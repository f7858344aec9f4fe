// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <utility>

#include "gui/model/run_frame.h"

namespace lanescope::gui {
namespace {

class InputLaneMaker {
 public:
  InputLaneMaker(const traces::TraceRun& run, RunFrame* frame) : run_(run), data_(frame->data) {
    for (const InputQueue& queue : run.input.queues) queue_names_[queue.number] = queue.name;
  }

  std::vector<RawLane> Make() {
    for (const InputThread& thread : run_.input.threads) {
      RawLane& lane = LaneOf(thread.number);
      lane.label = fmt::format("input {}: {}", thread.number + 1, thread.op);
      fill_[thread.number] = OpOf(thread.op);
    }
    for (const InputStep& step : run_.input.steps)
      Add(step.thread, {step.start_ns, step.end_ns, fill_.at(step.thread), -1, -1});
    for (const InputWait& wait : run_.input.waits)
      Add(wait.thread, {wait.start_ns, wait.end_ns, OpOf("waits for " + queue_names_.at(wait.queue)), -1,
                        wait.thread == kNoInputThread ? wait.step : -1});
    std::vector<RawLane> lanes;
    for (auto& [thread, lane] : lanes_) lanes.push_back(std::move(lane));
    return lanes;
  }

 private:
  RawLane& LaneOf(int thread) {
    const auto [entry, is_new] = lanes_.try_emplace(thread);
    RawLane& lane = entry->second;
    if (!is_new) return lane;
    lane.role = LaneRole::kThread;
    // No thread of a process has such a number.
    lane.thread = -2 - thread;
    lane.label = "steps wait";
    lane.pieces.emplace_back();
    return lane;
  }
  void Add(int thread, const RawSlice& slice) { LaneOf(thread).pieces.front().slices.push_back(slice); }
  int32_t OpOf(const std::string& name) {
    const auto [op, is_new] = ops_.try_emplace(name, static_cast<int32_t>(data_.ops.size()));
    if (is_new) {
      OpEntry entry;
      entry.name = name;
      entry.op = kRangeOp;
      data_.ops.push_back(std::move(entry));
    }
    return op->second;
  }

  const traces::TraceRun& run_;
  RunData& data_;
  std::map<int, std::string> queue_names_;
  std::map<int, RawLane> lanes_;  // by thread; those of the run first
  std::map<int, int32_t> fill_;   // op of a thread's steps
  std::map<std::string, int32_t> ops_;
};

}  // namespace

std::vector<RawLane> InputLanes(const traces::TraceRun& run, RunFrame* frame) {
  return InputLaneMaker(run, frame).Make();
}

std::vector<Lane> FillLanes(const traces::TraceRun& run) {
  std::map<int, std::vector<std::pair<int64_t, int64_t>>> points;
  for (const QueueFill& fill : run.input.fills) points[fill.queue].emplace_back(fill.time_ns, fill.size);
  std::vector<Lane> lanes;
  for (const InputQueue& queue : run.input.queues) {
    const auto found = points.find(queue.number);
    if (found == points.end()) continue;
    Lane lane = BuildCounterLane(-1, std::move(found->second));
    lane.role = LaneRole::kQueueFill;
    lane.label = queue.name;
    if (queue.capacity >= 0) lane.label += fmt::format(" of {}", queue.capacity);
    lanes.push_back(std::move(lane));
  }
  return lanes;
}

}  // namespace lanescope::gui
