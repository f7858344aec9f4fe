// SPDX-License-Identifier: Apache-2.0
// Comparisons.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "python/binding/handles.h"
#include "python/binding/interruption.h"
#include "study/base/json_text.h"
#include "study/compare/comparer.h"
#include "study/compare/comparison_json.h"
#include "study/measure/run_capture.h"
#include "study/predict/prediction_json.h"

namespace lanescope::python {
namespace {

// A graph, the strategies that it is placed by and what tables call each.
using Compared = std::tuple<const GraphHandle*, std::vector<std::string>, std::vector<std::string>>;

// Steps, rounds, repeats and steps of warm-up.
using Counts = std::tuple<int, int, int, int>;

std::string Compare(const std::vector<Compared>& graphs, const Machine& machine, const std::string& costs,
                    const std::string& trace, bool run, const Counts& counts, bool ablate,
                    std::optional<uint64_t> seed, int64_t reference_step_ns, bool any_algorithm,
                    const std::optional<nb::callable>& note) {
  study::ComparisonRequest request;
  for (const auto& [graph, strategies, names] : graphs)
    request.graphs.push_back(
        {graph->workload()->path(), strategies, run ? graph->Runnable() : graph->workload(), names});
  request.machine = machine;
  if (!costs.empty()) request.costs = sims::ParseCostTable(costs);
  request.trace = trace;
  request.run = run;
  std::tie(request.steps, request.rounds, request.repeats, request.warmup) = counts;
  request.ablate = ablate;
  request.settings.seed = seed;
  request.settings.devices.any_algorithm = any_algorithm;
  request.reference_step_ns = reference_step_ns;
  if (note) {
    request.note = [&](const std::string& line) {
      const nb::gil_scoped_acquire locked;
      (*note)(line);
    };
  }
  std::string json;
  study::RunCapture capture(study::CaptureWishOf(study::kAutomaticCapture, run));
  request.capture = &capture;
  RunInterruptibly([&](study::Cancellation& cancellation) {
    request.cancellation = &cancellation;
    request.place.cancellation = &cancellation;
    study::Comparer comparer(std::move(request));
    const study::Comparison comparison = comparer.Run();
    nlohmann::json result = study::ComparisonJson(comparison);
    result["sweep"] = comparison.sweep ? study::SweepJson(*comparison.sweep) : nlohmann::json(nullptr);
    json = study::JsonText(result);
  });
  return json;
}

}  // namespace

void AddComparison(nb::module_& module) {
  module.def("compare", &Compare, nb::arg("graphs"), nb::arg("machine"), nb::arg("costs"), nb::arg("trace"),
             nb::arg("run"), nb::arg("counts"), nb::arg("ablate"), nb::arg("seed").none(),
             nb::arg("reference_step_ns"), nb::arg("any_algorithm"), nb::arg("note").none());
}

}  // namespace lanescope::python
