// SPDX-License-Identifier: Apache-2.0
// Placing and predicting.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/set.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "python/binding/calls.h"
#include "python/binding/handles.h"
#include "python/binding/interruption.h"
#include "study/base/json_text.h"
#include "study/compare/module_search.h"
#include "study/compare/placement_search.h"
#include "study/compare/placement_search_json.h"
#include "study/predict/prediction_json.h"
#include "study/predict/recorded_prediction.h"
#include "study/workload/machine_change.h"
#include "traces/record/trace_writer.h"

namespace lanescope::python {
namespace {

study::Predictor MakePredictor(const Machine& machine, const std::string& costs,
                               const std::vector<std::string>& changes) {
  Machine changed = machine;
  IdVector<DeviceId, double> speed(changed.devices.size(), 1.0);
  for (const std::string& change : changes) study::ApplyMachineChange(change, &changed, &speed);
  const study::Predictor predictor =
      costs.empty() ? study::Predictor(changed) : study::Predictor(changed, sims::ParseCostTable(costs));
  return predictor.At(std::move(changed), speed);
}

PlacementHandle PlaceBy(const study::Predictor& predictor, const GraphHandle& graph,
                        const std::string& strategy, int64_t program_timeout_s) {
  PlacementHandle handle{graph.workload(), std::make_shared<const Machine>(predictor.machine()), {}};
  RunInterruptibly([&](study::Cancellation& cancellation) {
    handle.placed = study::Place(*handle.read, strategy, *handle.machine, predictor.costs(),
                                 {.program_timeout_s = program_timeout_s, .cancellation = &cancellation});
  });
  return handle;
}

std::string Simulate(const study::Predictor& predictor, const PlacementHandle& placement, bool ablate,
                     const std::string& trace, int steps) {
  nlohmann::json result;
  RunInterruptibly([&](study::Cancellation& cancellation) {
    const int64_t start = NowNs();
    const Schedule schedule = CompileStep(placement.placed, predictor.machine());
    const sims::Prediction prediction =
        predictor.Predict(placement.workload(), schedule, {.cancelled = &cancellation.flag()});
    result = study::PredictionJson(predictor.machine(), schedule, prediction, NowNs() - start);
    if (ablate)
      result["without"] =
          study::AblationJson(predictor.Ablate(placement.workload(), schedule, &cancellation.flag()));
    if (trace.empty()) return;
    traces::TraceWriter writer(trace, traces::NewTrace::kWhenClosed);
    result["run"] = study::RecordPrediction(&writer, placement.placed, schedule, predictor, prediction,
                                            {.steps = steps, .cancellation = &cancellation});
    writer.Close();
  });
  return study::JsonText(result);
}

sims::SweepRange RangeOf(const study::Predictor& predictor, double low, double high, int points) {
  return {sims::LinksBetweenGpus(predictor.machine()), {}, low, high, points};
}

std::string Sweep(const study::Predictor& predictor,
                  const std::vector<std::tuple<std::string, const PlacementHandle*>>& rows, double low,
                  double high, int points, const std::optional<nb::callable>& elsewhere) {
  sims::SweepElsewhere ask;
  if (elsewhere) {
    ask = [&](int candidate, const std::vector<double>& bandwidth) {
      const nb::gil_scoped_acquire locked;
      return nb::cast<std::vector<int64_t>>((*elsewhere)(candidate, bandwidth));
    };
  }
  std::string json;
  RunInterruptibly([&](study::Cancellation&) {
    std::vector<Schedule> schedules;
    for (const auto& [name, placement] : rows)
      schedules.push_back(CompileStep(placement->placed, predictor.machine()));
    std::vector<study::SweptStep> steps;
    for (size_t i = 0; i < rows.size(); ++i)
      steps.push_back({std::get<0>(rows[i]), &std::get<1>(rows[i])->workload(), &schedules[i]});
    json = study::JsonText(
        study::SweepJson(predictor.SweepLinks(steps, RangeOf(predictor, low, high, points), {}, ask)));
  });
  return json;
}

std::vector<int64_t> SweepSteps(const study::Predictor& predictor, const PlacementHandle& placement,
                                double low, double high, int points, const std::vector<double>& bandwidth) {
  const Schedule schedule = CompileStep(placement.placed, predictor.machine());
  return predictor.SweepSteps({"", &placement.workload(), &schedule}, RangeOf(predictor, low, high, points),
                              bandwidth);
}

sims::SearchOptions SearchOptionsOf(uint64_t seed, int threads, int restarts) {
  sims::SearchOptions options;
  options.seed = seed;
  options.threads = threads;
  options.restarts = restarts;
  return options;
}

// The best map of the model's whole modules; null: none fits, or there was no time for one.
nlohmann::json MapsOf(const study::Predictor& predictor, const GraphHandle& graph,
                      const study::ModuleTree& modules, const std::set<std::string>& whole,
                      const study::FoundPlacements& found, const sims::SearchOptions& options) {
  study::ModuleSearchRequest maps;
  maps.whole = whole;
  for (const sims::FoundPlacement& one : found.result.best) maps.also.push_back(one.placement);
  maps.budget_ns = std::max<int64_t>(1, options.budget_ns / 4);
  maps.interrupted = options.interrupted;
  try {
    return study::ModuleMapsJson(study::SearchModuleMaps(*graph.workload(), predictor, modules, maps),
                                 graph.workload()->graph(), predictor.machine());
  } catch (const Error& error) {
    if (error.code() != Code::kResourceExhausted && error.code() != Code::kDeadlineExceeded) throw;
    return nullptr;
  }
}

std::string Search(const study::Predictor& predictor, const GraphHandle& graph,
                   const std::vector<std::string>& starts, double budget_s, int rounds, int restarts,
                   uint64_t seed, int threads, int keep, const std::optional<nb::callable>& elsewhere,
                   const std::optional<nb::callable>& note, const std::string& modules,
                   const std::set<std::string>& whole) {
  study::PlacementSearchRequest request;
  request.starts = starts;
  request.options = SearchOptionsOf(seed, threads, restarts);
  request.options.budget_ns = static_cast<int64_t>(budget_s * 1e9);
  request.options.rounds = rounds;
  request.options.keep = keep;
  if (note) {
    request.note = [&](const std::string& line) {
      const nb::gil_scoped_acquire locked;
      (*note)(line);
    };
  }
  if (elsewhere) {
    request.options.elsewhere = [&](const std::string& state, int chains) {
      const nb::gil_scoped_acquire locked;
      return nb::cast<std::vector<std::string>>((*elsewhere)(state, chains));
    };
  }
  std::string json;
  RunInterruptibly([&](study::Cancellation& cancellation) {
    request.place.cancellation = &cancellation;
    request.options.interrupted = &cancellation.flag();
    const study::FoundPlacements found = study::SearchPlacements(*graph.workload(), predictor, request);
    nlohmann::json answer = study::FoundPlacementsJson(found, graph.workload()->graph(), predictor.machine());
    if (!modules.empty())
      answer["modules"] = MapsOf(predictor, graph, study::ModuleTree(modules), whole, found, request.options);
    json = study::JsonText(answer);
  });
  return json;
}

std::string SearchChains(const study::Predictor& predictor, const GraphHandle& graph, uint64_t seed,
                         int restarts, const std::string& state, int first, int count) {
  sims::SearchOptions options = SearchOptionsOf(seed, 1, restarts);
  options.budget_ns = INT64_MAX;  // who asked for it watches the time
  return study::SearchChains(*graph.workload(), predictor, options, state, first, count);
}

void AddPlacement(nb::module_& module) {
  nb::class_<PlacementHandle>(module, "Placement", "Which device runs each node of a graph.")
      .def_prop_ro("strategy", [](const PlacementHandle& placement) { return placement.placed.strategy; })
      .def_prop_ro(
          "writes_graph",
          [](const PlacementHandle& placement) { return placement.placed.written != nullptr; },
          "Whether the strategy made another graph, whose nodes these are.")
      .def(
          "to_json",
          [](const PlacementHandle& placement) {
            return PlacementToJson(placement.placed.placement, placement.workload().graph(),
                                   *placement.machine);
          },
          nb::call_guard<Unlocked>(), "As a placement file.");
}

}  // namespace

void AddPredictor(nb::module_& module) {
  AddPlacement(module);
  nb::class_<study::Predictor>(module, "Predictor", "What steps would take on a machine.")
      .def(
          "__init__",
          [](study::Predictor* self, const Machine& machine, const std::string& costs,
             const std::vector<std::string>& changes) {
            new (self) study::Predictor(MakePredictor(machine, costs, changes));
          },
          nb::arg("machine"), nb::arg("costs"), nb::arg("changes"))
      .def_prop_ro("origin", &study::Predictor::origin)
      .def("machine_json",
           [](const study::Predictor& predictor) { return MachineToJson(predictor.machine()); })
      .def("place", &PlaceBy, nb::arg("graph"), nb::arg("strategy"), nb::arg("program_timeout_s"))
      .def("simulate", &Simulate, nb::arg("placement"), nb::arg("ablate"), nb::arg("trace"), nb::arg("steps"))
      .def("sweep", &Sweep, nb::arg("rows"), nb::arg("low"), nb::arg("high"), nb::arg("points"),
           nb::arg("elsewhere").none())
      .def("sweep_steps", &SweepSteps, nb::arg("placement"), nb::arg("low"), nb::arg("high"),
           nb::arg("points"), nb::arg("bandwidth"), nb::call_guard<Unlocked>())
      .def("search", &Search, nb::arg("graph"), nb::arg("starts"), nb::arg("budget_s"), nb::arg("rounds"),
           nb::arg("restarts"), nb::arg("seed"), nb::arg("threads"), nb::arg("keep"),
           nb::arg("elsewhere").none(), nb::arg("note").none(), nb::arg("modules"), nb::arg("whole"))
      .def("search_chains", &SearchChains, nb::arg("graph"), nb::arg("seed"), nb::arg("restarts"),
           nb::arg("state"), nb::arg("first"), nb::arg("count"), nb::call_guard<Unlocked>());
}

}  // namespace lanescope::python
