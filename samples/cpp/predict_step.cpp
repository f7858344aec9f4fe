// SPDX-License-Identifier: Apache-2.0
// Predicts the step time of a graph file on a machine file under every strategy, without running anything:
//   predict_step GRAPH.pbtxt MACHINE.json
#include <cstdio>
#include <string>

#include "core/base/error.h"
#include "core/machine/machine.h"
#include "core/strategies/strategy.h"
#include "study/predict/predictor.h"
#include "study/workload/placing.h"
#include "study/workload/workload.h"

namespace {

namespace study = lanescope::study;

void Predict(const char* graph_path, const char* machine_path) {
  const study::Workload workload(graph_path);
  const study::Predictor predictor(lanescope::ReadMachine(machine_path));
  for (const lanescope::Strategy& strategy : lanescope::Strategies()) {
    const auto placed =
        study::Place(workload, std::string(strategy.name), predictor.machine(), predictor.costs());
    const auto schedule = study::CompileStep(placed, predictor.machine());
    const auto prediction = predictor.Predict(workload, schedule);
    std::printf("%-16s %10.3f ms  (%.3f to %.3f, %zu commands)\n", placed.strategy.c_str(),
                static_cast<double>(prediction.step_ns) / 1e6, static_cast<double>(prediction.low_ns) / 1e6,
                static_cast<double>(prediction.high_ns) / 1e6, schedule.commands.size());
    if (!prediction.caveat.empty()) std::printf("  %s\n", prediction.caveat.c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: predict_step GRAPH.pbtxt MACHINE.json\n");
    return 2;
  }
  try {
    Predict(argv[1], argv[2]);
    return 0;
  } catch (const lanescope::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
