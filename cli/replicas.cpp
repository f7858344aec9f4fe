// SPDX-License-Identifier: Apache-2.0
#include "cli/replicas.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/fetch_files.h"
#include "cli/interrupt.h"
#include "cli/line_width.h"
#include "cli/print.h"
#include "cli/progress.h"
#include "cli/ranks_report.h"
#include "cli/report.h"
#include "cli/tensor_values.h"
#include "core/base/statistics.h"
#include "core/base/text_table.h"
#include "core/base/units.h"
#include "study/base/json_text.h"
#include "study/measure/ensemble.h"
#include "traces/record/trace_writer.h"

namespace lanescope::cli {
namespace {

using nlohmann::json;

Spread StepsOf(const study::Replica& replica) {
  const auto spread = SpreadOf(replica.step_ns);
  return spread.has_value() ? *spread : Spread();
}

// Figures of all networks together, in networks that run alone.
double ScalingOf(const study::Ensemble& ensemble) {
  return ensemble.alone_steps_per_second > 0 ? ensemble.steps_per_second / ensemble.alone_steps_per_second
                                             : 0;
}

void PrintEnsemble(const study::Ensemble& ensemble, const study::Workload& workload, const Machine& machine,
                   const ReplicaOptions& options) {
  TextTable table;
  table.Text("Network")
      .Name("Device")
      .Number("Steps")
      .Number("Median step")
      .Number("Steps/s")
      .Name("Last fetches");
  for (size_t r = 0; r < ensemble.replicas.size(); ++r) {
    const study::Replica& replica = ensemble.replicas[r];
    std::string values;
    for (const Tensor& tensor : replica.fetches) values += (values.empty() ? "" : "; ") + ValuesText(tensor);
    table.Row({std::to_string(r), machine.device(replica.device).local_name(),
               std::to_string(replica.step_ns.size()), TimeText(StepsOf(replica).median),
               fmt::format("{:.4g}", replica.steps_per_second), values});
  }
  table.Row({"0 alone", machine.device(ensemble.replicas.front().device).local_name(), "", "",
             fmt::format("{:.4g}", ensemble.alone_steps_per_second)});
  table.Row({"all", "", "", "", fmt::format("{:.4g}", ensemble.steps_per_second)});
  PrintText(table.Take(LineWidth()));
  const double scaling = ScalingOf(ensemble);
  const size_t count = ensemble.replicas.size();
  Print("\n{} as {}: {} networks get {:.2f} times done what one does alone, {} of {}\n", workload.name(),
        options.in_graph ? "one graph" : "a session each", count, scaling,
        PercentText(scaling / static_cast<double>(count)), count);
  if (options.trace.empty()) return;
  const int first = ensemble.replicas.front().run_id, last = ensemble.replicas.back().run_id;
  const std::string runs =
      first == last ? fmt::format("run {}", first) : fmt::format("runs {} to {}", first, last);
  Print("recorded as {} of {}\n", runs, options.trace);
}

json EnsembleJson(const study::Ensemble& ensemble, const study::Workload& workload, const Machine& machine,
                  const ReplicaOptions& options) {
  const std::vector<std::string> names = FetchTitles(workload.spec());
  json replicas = json::array();
  for (const study::Replica& replica : ensemble.replicas) {
    const Spread spread = StepsOf(replica);
    json fetches = json::array();
    for (size_t i = 0; i < replica.fetches.size(); ++i)
      fetches.push_back(TensorJson(names[i], replica.fetches[i]));
    replicas.push_back({{"device", machine.device(replica.device).local_name()},
                        {"run", options.trace.empty() ? json(nullptr) : json(replica.run_id)},
                        {"steps", replica.step_ns.size()},
                        {"step_ns", study::SpreadJson(spread)},
                        {"steps_per_s", replica.steps_per_second},
                        {"fetches", fetches}});
  }
  return {{"trace", options.trace.empty() ? json(nullptr) : json(options.trace)},
          {"in_graph", options.in_graph},
          {"replicas", replicas},
          {"steps_per_s", ensemble.steps_per_second},
          {"alone_steps_per_s", ensemble.alone_steps_per_second},
          {"scaling", ScalingOf(ensemble)}};
}

// Figures of the networks whose fetches come to this process.
std::map<size_t, FetchFiles> FilesOf(const std::vector<size_t>& replicas, const study::Workload& workload,
                                     const ReplicaOptions& options) {
  std::map<size_t, FetchFiles> files;
  if (options.save_fetches.empty()) return files;
  for (const size_t r : replicas) {
    files.try_emplace(r, fmt::format("{}/replica_{}", options.save_fetches, r), FetchTitles(workload.spec()),
                      options.run.warmup + options.run.steps - 1);
  }
  return files;
}

}  // namespace

void RunReplicas(const study::Workload& workload, const Machine& machine, study::Job* job,
                 const ReplicaOptions& options) {
  const std::vector<size_t> own = study::FetchedReplicas(machine, *job, options.in_graph);
  const auto files = FilesOf(own, workload, options);
  const study::Cancellation::Watch in_order(&Interruption());
  std::unique_ptr<traces::TraceWriter> writer;
  if (!options.trace.empty() && job->is_first())
    writer = std::make_unique<traces::TraceWriter>(options.trace);
  study::EnsembleOptions ensemble_options;
  ensemble_options.run = options.run;
  ensemble_options.in_graph = options.in_graph;
  ensemble_options.wire = options.wire;
  ensemble_options.job = job;
  ensemble_options.settings = options.settings;
  ensemble_options.writer = writer.get();
  ensemble_options.cancellation = &Interruption();
  ensemble_options.note = NoteLine;
  if (!files.empty()) {
    ensemble_options.on_fetches = [&](size_t replica, int64_t step, const std::vector<Tensor>& fetches) {
      files.at(replica).Save(step, fetches);
    };
  }
  study::Ensemble ensemble;
  {
    std::optional<Progress> progress;
    const size_t networks = options.in_graph ? 1 : own.size();
    if (job->is_first() && networks > 0)
      progress.emplace("step", static_cast<int64_t>(networks) * options.run.steps);
    if (progress) ensemble_options.on_step = [&](int64_t done) { progress->Update(done); };
    ensemble = study::RunEnsemble(workload, machine, ensemble_options);
  }
  if (writer != nullptr) writer->Close();
  if (!job->is_first()) return;
  if (options.as_json) {
    json result = EnsembleJson(ensemble, workload, machine, options);
    result["ranks"] = RanksJson(*job, machine, nullptr);
    PrintJson(JsonText(result));
  } else {
    PrintEnsemble(ensemble, workload, machine, options);
    PrintRanks(*job, machine);
  }
}

}  // namespace lanescope::cli
