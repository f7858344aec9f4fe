// SPDX-License-Identifier: Apache-2.0
// Records a run and its prediction into a trace, and reads both back:
//   record_run TRACE.db
#include <cstdio>
#include <map>
#include <string>

#include "core/base/error.h"
#include "core/graph/graph_builder.h"
#include "core/machine/machine.h"
#include "study/measure/recorded_run.h"
#include "study/predict/predictor.h"
#include "study/predict/recorded_prediction.h"
#include "study/workload/placing.h"
#include "study/workload/workload.h"
#include "traces/read/trace_reader.h"
#include "traces/record/trace_writer.h"
#include "traces/report/statistics.h"

namespace {

namespace study = lanescope::study;
namespace traces = lanescope::traces;

constexpr int kSteps = 20;

// y = relu(x * x) * x, as a graph with its step.
study::Workload Products() {
  lanescope::GraphBuilder builder;
  const auto x = builder.Placeholder("x", lanescope::DataType::kFloat, lanescope::Shape{256, 256});
  const auto square = builder.Op("MatMul", "square").Input(x).Input(x).Build();
  const auto relu = builder.Op("Relu", "relu").Input(square).Build();
  builder.Op("MatMul", "y").Input(relu).Input(x).Build();
  lanescope::RunSpec spec;
  spec.feeds["x"].shape = lanescope::Shape{256, 256};
  spec.feeds["x"].generator = "uniform";
  spec.fetches = {"y"};
  return {"products", builder.Take(), spec};
}

void Record(const std::string& trace) {
  const study::Workload workload = Products();
  const study::Predictor predictor(lanescope::VirtualMachine(2, 1));
  const study::PlacedGraph placed =
      study::Place(workload, "alternating", predictor.machine(), predictor.costs());
  traces::TraceWriter writer(trace);

  // The predicted step. The machine says nothing of its rates, so the figure comes with a caveat.
  const lanescope::Schedule schedule = study::CompileStep(placed, predictor.machine());
  const lanescope::sims::Prediction prediction = predictor.Predict(workload, schedule);
  if (!prediction.caveat.empty()) std::printf("caveat: %s\n", prediction.caveat.c_str());
  study::RecordPrediction(&writer, placed, schedule, predictor, prediction, {.steps = kSteps});

  // The measured steps.
  study::RecordedRun run(placed, predictor.machine(), &writer, {});
  run.RunToEnd(/*warmup_steps=*/2, kSteps);
  std::printf("recorded as run %d of %s\n", run.run_id(), trace.c_str());
  writer.Close();
}

void Read(const std::string& trace) {
  traces::TraceReader reader(trace);
  for (const traces::TraceRunInfo& info : reader.Runs()) {
    const traces::TraceRun run = reader.ReadRun(info.id);
    const traces::RunStatistics statistics = traces::ComputeStatistics(run);
    std::printf("run %d, %s placed by %s, %s: %lld steps, %.3f ms median\n", info.id, info.graph.c_str(),
                info.strategy.c_str(), info.simulated ? "simulated" : "measured",
                static_cast<long long>(statistics.steps),
                statistics.step_ns ? statistics.step_ns->median / 1e6 : 0);
    std::map<std::string, int64_t> ns;  // by node and device
    for (const traces::TraceLaunch& launch : run.launches)
      ns[run.Text(launch.name) + " on " + run.DeviceLabel(launch.device)] += launch.end_ns - launch.start_ns;
    for (const auto& [what, sum] : ns)
      std::printf("  %-20s %10.3f us a step\n", what.c_str(),
                  static_cast<double>(sum) / 1e3 / static_cast<double>(statistics.steps));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: record_run TRACE.db\n");
    return 2;
  }
  try {
    Record(argv[1]);
    Read(argv[1]);
    return 0;
  } catch (const lanescope::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
