// SPDX-License-Identifier: Apache-2.0
// A trace with its graph beside it: measured runs that a simulation made up, so that tests take no time.
#pragma once

#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/file.h"
#include "core/graph/graph_io.h"
#include "core/record/recorder.h"
#include "core/record/run_info.h"
#include "core/strategies/strategy.h"
#include "gui/document/document.h"
#include "sims/predict/predict.h"
#include "tests/support/random_graph.h"
#include "tests/traces/sample_run.h"
#include "traces/record/trace_writer.h"

namespace lanescope::gui::test {

struct SampleTrace {
  // A graph of `ops` random operators, run under these strategies for `steps` steps each.
  // `predicted_with`: a cost file; not empty: a prediction made with it follows.
  explicit SampleTrace(int ops, const std::vector<std::string>& strategies, int steps = 3,
                       const std::string& predicted_with = "")
      : file("trace.db"), machine(VirtualMachine(2, 1)) {
    auto random = lanescope::test::MakeRandomGraph(5, ops, 0, 64);
    graph = std::move(random.graph);
    graph_path = (file.folder() / "random.pbtxt").string();
    WriteGraph(graph, graph_path);
    std::string fetches;
    for (const std::string& fetch : random.fetches)
      fetches += (fetches.empty() ? "\"" : ", \"") + fetch + "\"";
    WriteFile((file.folder() / "random.run.json").string(), "{\"fetches\": [" + fetches + "]}");
    request = lanescope::test::RequestFor(graph, random.fetches, {});
    info = InferGraph(graph, {});
    traces::TraceWriter writer(file.path());
    for (const std::string& strategy : strategies) AddRun(&writer, strategy, steps, "");
    if (!predicted_with.empty()) AddRun(&writer, strategies.front(), steps, predicted_with);
    writer.Close();
  }

  Placement PlaceBy(const std::string& strategy) const {
    const RooflineCost costs;
    return PlaceByStrategy(strategy, {graph, info, machine, costs, PlacerOptions()});
  }

  traces::ScratchFile file;
  Machine machine;
  Graph graph;
  GraphInfo info;
  CompileRequest request;
  std::string graph_path;

 private:
  void AddRun(traces::TraceWriter* writer, const std::string& strategy, int steps,
              const std::string& predicted_with) {
    const Placement placement = PlaceBy(strategy);
    const Schedule schedule = Compile(graph, info, request, placement, machine);
    const RooflineCost costs;
    sims::PredictionSettings settings;
    settings.draws = 0;
    const sims::Prediction prediction = sims::Predict(graph, info, schedule, machine, costs, settings);
    RunInfo run_info;
    run_info.simulated = !predicted_with.empty();
    run_info.cost_model = predicted_with;
    run_info.emulated = true;
    run_info.strategy = strategy;
    run_info.graph_name = "random.pbtxt";
    run_info.graph = &graph;
    run_info.machine = &machine;
    run_info.placement = &placement;
    run_info.info = &info;
    const int run = writer->BeginRun(run_info);
    writer->AddSchedule(run, schedule);
    sims::PublishSteps(schedule, prediction.simulation, steps, NowNs(), writer->Sink(run));
    writer->EndRun(run, {});
  }
};

// Polls until `ready`; false when a minute was not enough.
template <typename Ready>
bool PollUntil(Document* document, Ready ready) {
  for (int i = 0; i < 60000; ++i) {
    document->Poll();
    if (ready()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

}  // namespace lanescope::gui::test
