// SPDX-License-Identifier: Apache-2.0
// Runs made by hand and at random, for tests of the timeline.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gui/model/run_builder.h"
#include "gui/model/timeline_data.h"

namespace lanescope::gui::test {

inline RunDevice Device(const std::string& label) {
  RunDevice device;
  device.label = label;
  device.full_name = label;
  device.is_host = label.starts_with("CPU");
  device.kind = device.is_host ? "host" : "virtual";
  return device;
}

inline OpEntry Op(const std::string& name, const std::string& op, int node) {
  OpEntry entry;
  entry.name = name;
  entry.op = op;
  entry.node = node;
  return entry;
}

inline RawLane MakeRawLane(LaneRole role, int device, std::vector<RawSlice> slices) {
  RawLane raw;
  raw.role = role;
  raw.device = device;
  raw.label = std::string(LaneRoleName(role));
  raw.pieces.push_back({std::move(slices), {}});
  return raw;
}

inline Lane MakeLane(LaneRole role, int device, std::vector<RawSlice> slices) {
  RawLane raw = MakeRawLane(role, device, std::move(slices));
  int64_t left_out = 0;
  return BuildLane(&raw, &left_out);
}

// `count` slices of random length with random gaps; `overlap`: the chance that one begins before the last
// ends.
inline std::vector<RawSlice> RandomSlices(std::mt19937* rng, int count, int ops, double overlap = 0) {
  std::vector<RawSlice> slices;
  int64_t time = 0;
  const auto pick = [&](int64_t n) { return static_cast<int64_t>((*rng)() % static_cast<uint64_t>(n)); };
  for (int i = 0; i < count; ++i) {
    const bool burst = pick(20) == 0;
    const int64_t length = burst ? pick(5000) : pick(60);
    RawSlice slice{time, time + length, static_cast<int32_t>(pick(ops)), -1, -1};
    slices.push_back(slice);
    const bool beside = static_cast<double>(pick(1000)) < 1000 * overlap;
    time += beside ? pick(length + 1) : length + (pick(50) == 0 ? pick(3000) : pick(20));
  }
  return slices;
}

// A run with `lanes` compute lanes of random slices and no commands.
inline std::shared_ptr<const RunData> RandomRun(unsigned seed, int lanes, int count, double overlap = 0) {
  std::mt19937 rng(seed);
  RunData run;
  run.title = "random " + std::to_string(seed);
  constexpr int kOps = 12;
  for (int i = 0; i < kOps; ++i) {
    run.ops.push_back(
        Op("scope" + std::to_string(i % 3) + "/op" + std::to_string(i), i % 2 ? "MatMul" : "Relu", i));
  }
  for (int lane = 0; lane < lanes; ++lane) {
    run.devices.push_back(Device("GPU:" + std::to_string(lane)));
    run.lanes.push_back(MakeLane(LaneRole::kCompute, lane, RandomSlices(&rng, count, kOps, overlap)));
  }
  return FinishRun(std::move(run), {});
}

// Two GPUs and a step of 1000 ns: a on GPU:0 100-300, copy out of GPU:0 320-400, b on GPU:1 430-700, c on
// GPU:0 300-500 (waits for a), d on GPU:1 700-950 (waits for b and c). Twice.
inline std::shared_ptr<const RunData> TwoDeviceRun() {
  RunData run;
  run.title = "two devices";
  run.graph = "g.pbtxt";
  run.devices = {Device("GPU:0"), Device("GPU:1")};
  run.devices[0].memory_limit = 1000;
  run.devices[0].peak_bytes = 1200;
  run.devices[1].memory_limit = 1000;
  run.devices[1].peak_bytes = 950;
  run.ops = {Op("m/a", "MatMul", 0), Op("m/b", "MatMul", 1), Op("c", "Relu", 2), Op("d", "Add", 3)};
  const auto command = [&](int id, CommandKind role, int op, int device) {
    RunCommand made;
    made.kind = role;
    made.id = id;
    made.op = op;
    made.device = device;
    made.src = role == CommandKind::kCopy ? 0 : -1;
    made.dst = role == CommandKind::kCopy ? 1 : -1;
    made.signature = id;
    run.signatures.push_back("work " + std::to_string(id));
    run.commands.push_back(made);
  };
  command(0, CommandKind::kLaunch, 0, 0);
  command(1, CommandKind::kCopy, 0, 0);
  command(2, CommandKind::kLaunch, 1, 1);
  command(3, CommandKind::kLaunch, 2, 0);
  command(4, CommandKind::kLaunch, 3, 1);
  std::vector<RawSlice> gpu0, gpu1, copies;
  for (int step = 0; step < 2; ++step) {
    const int64_t at = 1000 * step;
    gpu0.push_back({at + 100, at + 300, 0, 0, step});
    gpu0.push_back({at + 300, at + 500, 2, 3, step});
    copies.push_back({at + 320, at + 400, 0, 1, step});
    gpu1.push_back({at + 430, at + 700, 1, 2, step});
    gpu1.push_back({at + 700, at + 950, 3, 4, step});
    run.steps.push_back({step, at, at + 1000});
  }
  run.lanes.push_back(MakeLane(LaneRole::kCompute, 0, gpu0));
  run.lanes.push_back(MakeLane(LaneRole::kCompute, 1, gpu1));
  run.lanes.push_back(MakeLane(LaneRole::kCopyOut, 0, copies));
  return FinishRun(std::move(run), {{0, 1}, {1, 2}, {0, 3}, {2, 4}, {3, 4}});
}

}  // namespace lanescope::gui::test
