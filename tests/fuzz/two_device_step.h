// SPDX-License-Identifier: Apache-2.0
// A small training-like step on several devices, for targets that need something to place, compile and
// simulate.
#pragma once

#include <string>

#include "core/base/error.h"
#include "core/graph/graph_builder.h"
#include "core/place/placer.h"
#include "core/schedule/schedule.h"
#include "core/strategies/strategy.h"

namespace lanescope {

// Two towers of a product each on half of a fed batch, joined on the host; one variable, updated.
class TwoDeviceStep {
 public:
  TwoDeviceStep() {
    GraphBuilder builder;
    const Shape batch{4, 8}, weights{8, 8};
    const Endpoint x = builder.Placeholder("x", DataType::kFloat, batch);
    const Endpoint w =
        builder.Op("VariableV2", "w").Attr("dtype", DataType::kFloat).Attr("shape", weights).Build();
    const Endpoint read = builder.Op("Identity", "w/read").Input(w).Build();
    Endpoint towers[2];
    for (int i = 0; i < 2; ++i) {
      const std::string name = "tower_" + std::to_string(i);
      const std::string device = "/device:GPU:" + std::to_string(i);
      const Endpoint product =
          builder.Op("MatMul", name + "/product").Input(x).Input(read).Device(device).Build();
      towers[i] = builder.Op("Relu", name + "/relu").Input(product).Device(device).Build();
    }
    const Endpoint sum = builder.Op("AddV2", "sum").Input(towers[0]).Input(towers[1]).Build();
    const Endpoint square =
        builder.Op("MatMul", "square").Input(sum).Input(sum).Attr("transpose_a", true).Build();
    const Endpoint update = builder.Op("AssignAdd", "update").Input(w).Input(square).Build();
    graph = builder.Take();
    TensorInfo fed;
    fed.dtype = DataType::kFloat;
    fed.shape = batch;
    request.feeds = {{x, fed}};
    request.fetches = {sum, {update.node, -1}};
    info = InferGraph(graph, request.feeds);
  }

  StrategyInput Input(const Machine& machine, const CostModel& costs) const {
    return {graph, info, machine, costs, placer};
  }
  // Compiles and checks the laws of schedules.
  Schedule CompileOn(const Machine& machine, const Placement& placement) const {
    Schedule schedule = Compile(graph, info, request, placement, machine);
    VerifySchedule(graph, schedule);
    return schedule;
  }

  Graph graph;
  CompileRequest request;
  GraphInfo info;
  PlacerOptions placer;
};

}  // namespace lanescope
