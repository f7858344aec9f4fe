// SPDX-License-Identifier: Apache-2.0
#include "study/compare/placement_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/stop_point.h"
#include "core/strategies/strategy.h"
#include "sims/predict/caveat.h"
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

// A name that is no strategy's is a file's or a program's, which may take any time.
Effort EffortOf(const std::string& name) {
  if (name.starts_with('@')) return Effort::kRules;
  const auto known = std::ranges::find(Strategies(), name, &Strategy::name);
  return known != Strategies().end() ? known->effort : Effort::kTimes;
}

// Placements by strategies, the quick ones first. What cannot be placed is noted.
class StartMaker {
 public:
  StartMaker(const Workload& workload, const Predictor& predictor, const PlacementSearchRequest& request)
      : workload_(workload), predictor_(predictor), request_(request), names_(request.starts) {
    if (names_.empty()) {
      for (const Strategy& strategy : Strategies()) names_.emplace_back(strategy.name);
    }
    std::ranges::stable_sort(names_, {}, &EffortOf);
  }

  // The next one; nothing: there is no more. Throws why the first cannot be placed where none can.
  std::optional<sims::SearchStart> Next() {
    while (next_ < names_.size()) {
      const std::string& name = names_[next_++];
      try {
        StopPoint();
        sims::SearchStart start = Make(name);
        any_ = true;
        return start;
      } catch (const Error& error) {
        if (MustStop() || error.code() == Code::kCancelled || error.code() == Code::kNotFound) throw;
        refusals_.push_back(fmt::format("{} places nothing here: {}", name, error.message()));
        if (!code_) code_ = error.code();
      }
    }
    if (!any_ && code_) Throw(*code_, "{}", refusals_.front());
    return std::nullopt;
  }

  const std::vector<std::string>& refusals() const { return refusals_; }

 private:
  sims::SearchStart Make(const std::string& name) const {
    PlacedGraph placed = Place(workload_, name, predictor_.machine(), predictor_.costs(), request_.place);
    if (placed.written) {
      Throw(Code::kInvalidArgument,
            "it writes another graph; save that with `place --strategy {} -o FILE.pb` and search it", name);
    }
    if (HeedsMemory(name) && !FitsMemory(placed, predictor_.machine())) {
      if (auto smaller = PlaceInLess(workload_, predictor_, name, request_.place)) return *std::move(smaller);
    }
    return {name, std::move(placed.placement)};
  }

  const Workload& workload_;
  const Predictor& predictor_;
  const PlacementSearchRequest& request_;
  std::vector<std::string> names_;
  size_t next_ = 0;
  bool any_ = false;
  std::vector<std::string> refusals_;
  std::optional<Code> code_;  // of the first refusal
};

StrategyInput InputOf(const Workload& workload, const Predictor& predictor) {
  return {workload.graph(),  workload.info(),   predictor.machine(),
          predictor.costs(), workload.placer(), &workload.request()};
}

// At most a quarter of the budget goes into it; empty: that was not enough.
std::optional<sims::LowerBound> BoundWithin(const Workload& workload, const Predictor& predictor,
                                            const sims::SearchOptions& options) {
  const StopScope scope(options.interrupted, NowNs() + options.budget_ns / 4);
  try {
    return predictor.BoundOf(workload);
  } catch (const Error& error) {
    if (!MustStop() || error.code() == Code::kCancelled) throw;
    return std::nullopt;
  }
}

}  // namespace

std::optional<double> FoundPlacements::gap() const {
  if (!bound || bound->step_ns <= 0) return std::nullopt;
  return static_cast<double>(result.best.front().step_ns - bound->step_ns) /
         static_cast<double>(bound->step_ns);
}

FoundPlacements SearchPlacements(const Workload& workload, const Predictor& predictor,
                                 const PlacementSearchRequest& request) {
  const int64_t begin_ns = NowNs();
  FoundPlacements found;
  found.bound = BoundWithin(workload, predictor, request.options);
  StartMaker starts(workload, predictor, request);
  sims::SearchOptions options = request.options;
  options.enough_ns = found.bound ? found.bound->step_ns : 0;
  options.budget_ns -= NowNs() - begin_ns;
  found.result = sims::SearchPlacements(
      InputOf(workload, predictor), predictor.settings(), [&] { return starts.Next(); }, options);
  for (const std::string& refusal : starts.refusals()) Tell(request.note, "note: " + refusal);
  found.caveat = CaveatOf(found.result.best.front().basis, predictor.machine());
  return found;
}

std::string SearchChains(const Workload& workload, const Predictor& predictor,
                         const sims::SearchOptions& options, const std::string& state, int first, int count) {
  return sims::SearchChains(InputOf(workload, predictor), predictor.settings(), options, state, first, count);
}

json FoundPlacementsJson(const FoundPlacements& found, const Graph& graph, const Machine& machine) {
  const sims::SearchResult& result = found.result;
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
          {"lower_bound_ns", found.bound ? json(found.bound->step_ns) : json(nullptr)},
          {"lower_bound_by", found.bound ? json(found.bound->reason) : json(nullptr)},
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
