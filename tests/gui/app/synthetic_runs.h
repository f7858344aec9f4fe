// SPDX-License-Identifier: Apache-2.0
// Two small runs of one graph, the same everywhere: measured on virtual devices, and predicted.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gui/model/run_builder.h"
#include "gui/model/run_data.h"

namespace lanescope::gui {

// Three ops on GPU:0, one on GPU:1, a copy in between; two steps of 100 us (times 1 + `slower`).
inline std::shared_ptr<const RunData> SyntheticRun(RunKind kind, double slower, const std::string& title) {
  RunData run;
  run.kind = kind;
  run.emulated = true;
  run.graph = "towers.pbtxt";
  run.strategy = "tower-split";
  run.id = kind == RunKind::kEmulated ? 1 : 2;
  run.devices.resize(2);
  for (size_t i = 0; i < 2; ++i) {
    run.devices[i].id = static_cast<int>(i);
    run.devices[i].label = "GPU:" + std::to_string(i);
    run.devices[i].full_name = "/job:localhost/replica:0/task:0/device:GPU:" + std::to_string(i);
    run.devices[i].kind = "virtual";
    run.devices[i].memory_limit = int64_t{1} << 20;
  }
  const std::vector<std::pair<std::string, std::string>> ops = {{"tower_0/conv", "Conv2D"},
                                                                {"tower_0/relu", "Relu"},
                                                                {"tower_1/matmul", "MatMul"},
                                                                {"loss/add", "AddV2"}};
  for (size_t i = 0; i < ops.size(); ++i) {
    OpEntry entry;
    entry.name = ops[i].first;
    entry.op = ops[i].second;
    entry.node = static_cast<int>(i);
    entry.color = OpColor(entry.op);
    run.ops.push_back(entry);
    RunCommand command;
    command.kind = CommandKind::kLaunch;
    command.id = static_cast<int>(i);
    command.op = static_cast<int>(i);
    command.device = i == 2 ? 1 : 0;
    run.commands.push_back(command);
  }
  RunCommand copy;
  copy.kind = CommandKind::kCopy;
  copy.id = 4;
  copy.op = 2;
  copy.device = 0;
  copy.src = 1;
  copy.dst = 0;
  copy.bytes = 65536;
  run.commands.push_back(copy);

  const auto at = [&](int step, int64_t us) {
    return static_cast<int64_t>((step * 110000 + us * 1000) * (1 + slower));
  };
  RawLane first, second, in;
  first.role = second.role = LaneRole::kCompute;
  first.device = 0;
  first.label = "GPU:0 compute";
  second.device = 1;
  second.label = "GPU:1 compute";
  in.role = LaneRole::kCopyIn;
  in.device = 0;
  in.label = "GPU:0 copy in";
  first.pieces.resize(1);
  second.pieces.resize(1);
  in.pieces.resize(1);
  for (int step = 0; step < 2; ++step) {
    run.steps.push_back({step, at(step, 0), at(step, 100)});
    first.pieces[0].slices.push_back({at(step, 0), at(step, 40), 0, 0, step});
    first.pieces[0].slices.push_back({at(step, 42), at(step, 50), 1, 1, step});
    second.pieces[0].slices.push_back({at(step, 5), at(step, 60), 2, 2, step});
    in.pieces[0].slices.push_back({at(step, 62), at(step, 75), 2, 4, step});
    in.pieces[0].bytes.push_back(65536);
    first.pieces[0].slices.push_back({at(step, 78), at(step, 100), 3, 3, step});
  }
  int64_t left_out = 0;
  run.lanes.push_back(BuildLane(&first, &left_out));
  run.lanes.push_back(BuildLane(&in, &left_out));
  run.lanes.push_back(BuildCounterLane(0, {{at(0, 0), 300000}, {at(0, 50), 700000}, {at(0, 80), 200000}}));
  run.lanes.push_back(BuildLane(&second, &left_out));
  std::shared_ptr<const RunData> done = FinishRun(std::move(run), {{0, 1}, {1, 3}, {2, 4}, {4, 3}});
  if (title.empty()) return done;
  auto titled = std::make_shared<RunData>(*done);
  titled->title = title;
  return titled;
}

inline std::shared_ptr<const RunData> MeasuredRun() {
  return SyntheticRun(RunKind::kEmulated, 0, "1: towers tower-split");
}
inline std::shared_ptr<const RunData> PredictedRun() {
  return SyntheticRun(RunKind::kSimulated, 0.1, "2: towers tower-split");
}

}  // namespace lanescope::gui
