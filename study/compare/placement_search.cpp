#include "study/compare/placement_search.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/error.h"
#include "core/strategies/strategy.h"
#include "study/compare/placement_search_json.h"
#include "study/predict/prediction_json.h"

namespace lanescope::study {
namespace {

using nlohmann::json;

bool FitsMemory(const PlacedGraph& placed, const Machine& machine) {
  try {
    CompileStep(placed, machine);
    return true;
  } catch (const Error& error) {
    if (error.code() == Code::kResourceExhausted) return false;
    throw;
  }
}

// Strategies that heed memory know what tensors take, not how they lie: where the plan of all of them does
// not fit, a placement for devices of less memory may. Empty where none does.
std::optional<sims::SearchStart> PlaceInLess(const Workload& workload, const Predictor& predictor,
                                             const std::string& name, const PlaceOptions& options) {
  constexpr int kLeastPercent = 50, kStep = 10;
  for (int percent = 100 - kStep; percent >= kLeastPercent; percent -= kStep) {
    Machine machine = predictor.machine();
    for (DeviceSpec& device : machine.devices) device.memory_bytes = device.memory_bytes / 100 * percent;
    PlacedGraph placed = Place(workload, name, machine, predictor.costs(), options);
    if (FitsMemory(placed, predictor.machine()))
      return sims::SearchStart{fmt::format("{} in {}% of the memory", name, percent),
                               std::move(placed.placement)};
  }
  return std::nullopt;
}

// Baechi's: the other named ones take what is fastest.
bool HeedsMemory(std::string_view strategy) { return strategy == "m-etf" || strategy == "m-sct"; }

// All that can be placed; what cannot is noted.
std::vector<sims::SearchStart> PlaceStarts(const Workload& workload, const Predictor& predictor,
                                           const PlacementSearchRequest& request) {
  std::vector<std::string> names = request.starts;
  if (names.empty()) {
    for (const Strategy& strategy : Strategies()) names.emplace_back(strategy.name);
  }
  std::vector<sims::SearchStart> starts;
  std::vector<std::string> refusals;
  std::optional<Code> code;
  for (const std::string& name : names) {
    try {
      PlacedGraph placed = Place(workload, name, predictor.machine(), predictor.costs(), request.place);
      if (placed.written) {
        Throw(Code::kInvalidArgument,
              "it writes another graph; save that with `place --strategy {} -o FILE.pb` and search it", name);
      }
      if (HeedsMemory(name) && !FitsMemory(placed, predictor.machine())) {
        if (auto smaller = PlaceInLess(workload, predictor, name, request.place)) {
          starts.push_back(std::move(*smaller));
          continue;
        }
      }
      starts.push_back({name, std::move(placed.placement)});
    } catch (const Error& error) {
      if (error.code() == Code::kCancelled || error.code() == Code::kNotFound) throw;
      refusals.push_back(fmt::format("{} places nothing here: {}", name, error.message()));
      if (!code) code = error.code();
    }
  }
  if (starts.empty() && code) Throw(*code, "{}", refusals.front());
  for (const std::string& refusal : refusals) Tell(request.note, "note: " + refusal);
  return starts;
}

StrategyInput InputOf(const Workload& workload, const Predictor& predictor) {
  return {workload.graph(),  workload.info(),   predictor.machine(),
          predictor.costs(), workload.placer(), &workload.request()};
}

// What the best's step time goes by, where that is little.
std::string CaveatOfBest(const Workload& workload, const Predictor& predictor,
                         const sims::FoundPlacement& best) {
  const Schedule schedule = CompileStep({&workload, best.origin, best.placement}, predictor.machine());
  return predictor.Predict(workload, schedule, {.draws = 0}).caveat;
}

}  // namespace

std::optional<double> FoundPlacements::gap() const {
  if (bound.step_ns <= 0) return std::nullopt;
  return static_cast<double>(result.best.front().step_ns - bound.step_ns) /
         static_cast<double>(bound.step_ns);
}

FoundPlacements SearchPlacements(const Workload& workload, const Predictor& predictor,
                                 const PlacementSearchRequest& request) {
  const std::vector<sims::SearchStart> starts = PlaceStarts(workload, predictor, request);
  FoundPlacements found;
  found.bound = predictor.BoundOf(workload);
  sims::SearchOptions options = request.options;
  options.enough_ns = found.bound.step_ns;
  found.result = sims::SearchPlacements(InputOf(workload, predictor), predictor.settings(), starts, options);
  found.caveat = CaveatOfBest(workload, predictor, found.result.best.front());
  return found;
}

std::string SearchChains(const Workload& workload, const Predictor& predictor,
                         const sims::SearchOptions& options, const std::string& state, int first, int count) {
  return sims::SearchChains(InputOf(workload, predictor), predictor.settings(), options, state, first, count);
}

json FoundPlacementsJson(const FoundPlacements& found, const Graph& graph, const Machine& machine) {
  const sims::SearchResult& result = found.result;
  const sims::LowerBound& bound = found.bound;
  const sims::FoundPlacement& best = result.best.front();
  json starts = json::array(), failed = json::array();
  for (const sims::FoundPlacement& start : result.starts)
    starts.push_back({{"strategy", start.origin}, {"step_ns", start.step_ns}});
  for (const auto& [name, error] : result.failed)
    failed.push_back({{"strategy", name}, {"code", CodeName(error.code())}, {"message", error.message()}});
  const std::optional<double> gap = found.gap();
  return {{"best",
           {{"strategy", best.origin},
            {"step_ns", best.step_ns},
            {"placement", json::parse(PlacementToJson(best.placement, graph, machine))}}},
          {"lower_bound_ns", bound.step_ns},
          {"lower_bound_by", bound.reason},
          {"gap", gap ? json(*gap) : json(nullptr)},
          {"caveat", found.caveat.empty() ? json(nullptr) : json(found.caveat)},
          {"evaluations", result.evaluations},
          {"evaluations_per_s", result.evaluations_per_s()},
          {"simulations", result.simulations},
          {"rounds", result.rounds},
          {"settled", result.settled},
          {"wall_ns", result.wall_ns},
          {"starts", starts},
          {"failed", failed},
          {"verified", json::array()}};
}

}  // namespace lanescope::study
