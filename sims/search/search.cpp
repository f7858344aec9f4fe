// SPDX-License-Identifier: Apache-2.0
#include "sims/search/search.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "core/base/error.h"
#include "core/base/split_mix.h"
#include "core/base/stop_point.h"
#include "core/base/thread.h"
#include "core/record/recorder.h"
#include "core/strategies/task_graph.h"
#include "sims/engine/simulation_model.h"
#include "sims/search/annealing.h"

namespace lanescope::sims {
namespace {

constexpr int kChains = 8;  // a round; not the number of threads, or the result would depend on it
constexpr int64_t kFewestEvaluations = 2'000, kMostEvaluations = 40'000;
constexpr int64_t kEvaluationsPerGroup = 100;
constexpr size_t kElites = 4;         // that chains start from
constexpr double kMemoryStep = 0.97;  // when the model fits what compiling does not

// Compiles and simulates a placement as `simulate` does.
FoundPlacement SimulateInFull(const StrategyInput& input, const PredictionSettings& settings,
                              std::string origin, Placement placement) {
  const Schedule schedule = Compile(input.graph, input.info, *input.step, placement, input.machine);
  const CommandEstimates estimates =
      EstimateCommands(input.graph, input.info, schedule, input.machine, input.costs, settings);
  const SimulationResult result =
      Simulate(schedule, input.machine, estimates.costs, settings.effects.Model());
  return {std::move(origin), std::move(placement), result.step_ns, SharesOf(estimates, result)};
}

// The model by which placements are tried. It takes a while to make of a large graph.
struct SearchModel {
  SearchModel(const StrategyInput& input, const PredictionSettings& settings)
      : tasks(input), model(tasks, settings.effects.Model().delays), space(tasks) {}

  const TaskGraph tasks;
  const PlacementModel model;
  const MoveSpace space;
};

struct Elite {
  FoundPlacement found;
  PlacementState state;
};

struct ChainOutcome {
  std::vector<Elite> elites;
  int64_t evaluations = 0, simulations = 0;
  bool out_of_memory = false;
};

class PlacementSearch {
 public:
  PlacementSearch(const StrategyInput& input, const PredictionSettings& settings,
                  const SearchOptions& options)
      : input_(input), settings_(settings), options_(options), begin_ns_(NowNs()) {}

  SearchResult Run(const StartSource& starts) {
    TakeStarts(starts);
    if (result_.starts.empty()) {
      RefuseAll();
      Throw(Code::kInvalidArgument, "a search needs a placement to start from");
    }
    Prepare();
    Report();
    int idle = 0;
    while (!over_ && idle < options_.patience && result_.rounds < options_.rounds &&
           BestNs() > options_.enough_ns && !model_->space.movable().empty()) {
      const int64_t before = BestNs();
      RunRound();
      idle = BestNs() < before ? 0 : idle + 1;
    }
    result_.settled = !over_;
    for (const Elite& elite : elites_) {
      if (result_.best.size() < static_cast<size_t>(std::max(1, options_.keep)))
        result_.best.push_back(elite.found);
    }
    result_.wall_ns = NowNs() - begin_ns_;
    return std::move(result_);
  }

  std::string ChainsText(const std::string& state, int first, int count) {
    const nlohmann::json json = nlohmann::json::parse(state);
    result_.rounds = json.at("round");
    memory_share_ = json.at("memory_share");
    model_.emplace(input_, settings_);
    elites_ = ElitesOf(json.at("elites"));
    if (elites_.empty() || first < 0 || count < 1 || first + count > ChainsOfRound())
      Throw(Code::kInvalidArgument, "chains {} to {} are none of a round", first, first + count);
    return OutcomesText(RunChains(first, count));
  }

 private:
  // Where no start can be simulated: one alone says why, of several the first does.
  void RefuseAll() const {
    if (result_.failed.empty()) return;
    const auto& [name, error] = result_.failed.front();
    if (result_.failed.size() == 1) throw error;
    Throw(error.code(), "none of {} placements to start from can be simulated; {}: {}", result_.failed.size(),
          name, error.message());
  }

  int64_t BestNs() const { return elites_.front().found.step_ns; }
  int64_t DeadlineNs() const {
    return options_.budget_ns < StopScope::kNoDeadline - begin_ns_ ? begin_ns_ + options_.budget_ns
                                                                   : StopScope::kNoDeadline;
  }
  bool IsInterrupted() const {
    return options_.interrupted != nullptr && options_.interrupted->load(std::memory_order_relaxed);
  }
  // Chains end so early that the best of each can still be simulated in full.
  bool IsOver() const {
    const int64_t reserve_ns = std::min(2 * simulation_ns_, options_.budget_ns / 4);
    return NowNs() >= DeadlineNs() - reserve_ns || IsInterrupted();
  }

  // Until time is over, but for the first.
  void TakeStarts(const StartSource& next) {
    while (!over_) {
      const bool any = !result_.starts.empty();
      const StopScope scope(options_.interrupted, any ? DeadlineNs() : StopScope::kNoDeadline);
      try {
        std::optional<SearchStart> start = next();
        if (!start) return;
        AddStart(std::move(*start));
      } catch (const Error&) {
        if (!any || !MustStop()) throw;
        over_ = true;
      }
      over_ |= !result_.starts.empty() && IsOver();
    }
  }

  void AddStart(SearchStart start) {
    const int64_t begin_ns = NowNs();
    try {
      ++result_.simulations;
      result_.starts.push_back(SimulateInFull(input_, settings_, start.name, std::move(start.placement)));
    } catch (const Error& error) {
      if (MustStop()) throw;
      result_.failed.emplace_back(start.name, error);
    }
    simulation_ns_ = std::max(simulation_ns_, NowNs() - begin_ns);
  }

  // Where there is no time for it, the starts are all that is found. On all ranks, when it is so on one.
  void Prepare() {
    if (!over_) {
      const StopScope scope(options_.interrupted, DeadlineNs());
      try {
        model_.emplace(input_, settings_);
      } catch (const Error&) {
        if (!MustStop()) throw;
        over_ = true;
      }
    }
    for (const std::string& over : options_.ranks.Share(over_ ? "over" : "")) over_ |= !over.empty();
    for (const FoundPlacement& start : result_.starts) {
      PlacementState state;
      if (!over_)
        state = {model_->tasks.DevicesIn(start.placement), model_->tasks.PrioritiesIn(start.placement)};
      AddElite({start, std::move(state)});
    }
  }

  // The first of placements that take the same time stays: they mostly are each other with devices swapped.
  void AddElite(Elite elite) {
    const auto at =
        std::lower_bound(elites_.begin(), elites_.end(), elite,
                         [](const Elite& a, const Elite& b) { return a.found.step_ns < b.found.step_ns; });
    if (at != elites_.end() && at->found.step_ns == elite.found.step_ns) return;
    elites_.insert(at, std::move(elite));
    const size_t keep = std::max(kElites, static_cast<size_t>(std::max(1, options_.keep)));
    if (elites_.size() > keep) elites_.pop_back();
  }

  int ChainsOfRound() const { return kChains * options_.restarts; }

  void RunRound() {
    std::vector<ChainOutcome> outcomes;
    if (options_.elsewhere) {
      outcomes = OutcomesOf(options_.elsewhere(StateText(), ChainsOfRound()));
      if (outcomes.size() != static_cast<size_t>(ChainsOfRound()))
        Throw(Code::kInternal, "{} of {} chains came back", outcomes.size(), ChainsOfRound());
    } else {
      outcomes = RunChains(ChainsOfRound() * options_.ranks.rank, ChainsOfRound());
    }
    ++result_.rounds;
    over_ |= IsOver();
    if (options_.ranks.size > 1) outcomes = OutcomesOf(options_.ranks.Share(OutcomesText(outcomes)));
    for (ChainOutcome& outcome : outcomes) {
      result_.evaluations += outcome.evaluations;
      result_.simulations += outcome.simulations;
      if (outcome.out_of_memory) memory_share_ *= kMemoryStep;
      for (Elite& elite : outcome.elites) AddElite(std::move(elite));
    }
    Report();
  }

  std::vector<ChainOutcome> RunChains(int first, int count) const {
    std::vector<ChainOutcome> outcomes(static_cast<size_t>(count));
    std::atomic<int> next{0};
    std::atomic<bool> stop{false};
    std::atomic<int> ended{0};  // threads
    const auto work = [&] {
      try {
        for (int chain = next++; chain < count && !stop; chain = next++)
          outcomes[static_cast<size_t>(chain)] = RunChain(first + chain, stop);
      } catch (...) {
        stop = true;  // the others need not go on
        ++ended;
        throw;
      }
      ++ended;
    };
    std::vector<Thread> threads;
    try {
      for (int t = 0; t < std::clamp(options_.threads, 1, count); ++t)
        threads.emplace_back("searching", work);
    } catch (...) {
      if (threads.empty()) throw;  // fewer threads find the same
    }
    while (ended < static_cast<int>(threads.size())) {
      if (IsOver()) stop = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    JoinAll(threads);  // what one throws ends the other ranks too
    return outcomes;
  }

  ChainOutcome RunChain(int chain, const std::atomic<bool>& stop) const {
    ChainOutcome outcome;
    const Elite& start = elites_[static_cast<size_t>(chain) % elites_.size()];
    ChainOptions options;
    options.seed =
        options_.seed * kSplitMixStep +
        static_cast<uint64_t>(result_.rounds * kChains * options_.restarts * options_.ranks.size + chain);
    options.evaluations =
        std::clamp(kEvaluationsPerGroup * static_cast<int64_t>(model_->space.movable().size()),
                   kFewestEvaluations, kMostEvaluations);
    options.memory_share = memory_share_;
    options.stop = &stop;
    const StopScope scope(options_.interrupted, DeadlineNs());
    try {
      const ChainResult found = Anneal(model_->space, model_->model, start.state, options);
      outcome.evaluations = found.evaluations;
      for (const auto& [model_ns, state] : found.best) SimulateFound(start.found.origin, state, &outcome);
    } catch (const Error&) {
      if (!MustStop()) throw;
    }
    return outcome;
  }

  void SimulateFound(const std::string& from, const PlacementState& state, ChainOutcome* outcome) const {
    Placement placement = model_->tasks.ToPlacement(input_, state.device, state.priority);
    ++outcome->simulations;
    try {
      outcome->elites.push_back(
          {SimulateInFull(input_, settings_, from.starts_with("search") ? from : "search from " + from,
                          std::move(placement)),
           state});
    } catch (const Error& error) {
      if (error.code() != Code::kResourceExhausted) throw;
      outcome->out_of_memory = true;
    }
  }

  static nlohmann::json ElitesJson(const std::vector<Elite>& elites) {
    nlohmann::json json = nlohmann::json::array();
    for (const Elite& elite : elites)
      json.push_back({elite.found.origin, elite.found.step_ns, elite.state.device, elite.state.priority,
                      elite.found.basis.share, elite.found.basis.unknown_commands});
    return json;
  }
  std::vector<Elite> ElitesOf(const nlohmann::json& json) const {
    std::vector<Elite> elites;
    for (const nlohmann::json& given : json) {
      PlacementState state{{}, given.at(3).get<std::vector<int>>()};
      for (const int device : given.at(2)) state.device.emplace_back(device);
      RequireState(state);
      Placement placement = model_->tasks.ToPlacement(input_, state.device, state.priority);
      BasisShares basis{given.at(4).get<decltype(BasisShares::share)>(), given.at(5).get<int>()};
      elites.push_back(
          {{given.at(0).get<std::string>(), std::move(placement), given.at(1).get<int64_t>(), basis},
           std::move(state)});
    }
    return elites;
  }
  void RequireState(const PlacementState& state) const {
    const auto is_device = [&](DeviceId d) { return input_.machine.devices.Contains(d); };
    const auto groups = static_cast<size_t>(model_->tasks.num_groups()),
               tasks = static_cast<size_t>(model_->tasks.num_tasks());
    if (state.device.size() == groups && (state.priority.empty() || state.priority.size() == tasks) &&
        std::all_of(state.device.begin(), state.device.end(), is_device))
      return;
    Throw(Code::kInvalidArgument, "a placement of another graph or machine came to this search");
  }

  std::string OutcomesText(const std::vector<ChainOutcome>& outcomes) const {
    nlohmann::json json = {{"over", over_}, {"outcomes", nlohmann::json::array()}};
    for (const ChainOutcome& outcome : outcomes)
      json["outcomes"].push_back(
          {outcome.evaluations, outcome.simulations, outcome.out_of_memory, ElitesJson(outcome.elites)});
    return json.dump();
  }
  // The outcomes of all texts in their order. The search is over for all when it is for one.
  std::vector<ChainOutcome> OutcomesOf(const std::vector<std::string>& texts) {
    std::vector<ChainOutcome> all;
    for (const std::string& text : texts) {
      const nlohmann::json json = nlohmann::json::parse(text);
      over_ |= json.at("over").get<bool>();
      for (const nlohmann::json& given : json.at("outcomes"))
        all.push_back({ElitesOf(given.at(3)), given.at(0), given.at(1), given.at(2)});
    }
    return all;
  }

  // The state that the chains of the next round depend on.
  std::string StateText() const {
    return nlohmann::json{
        {"round", result_.rounds}, {"memory_share", memory_share_}, {"elites", ElitesJson(elites_)}}
        .dump();
  }

  void Report() const {
    if (!options_.progress) return;
    options_.progress({NowNs() - begin_ns_, result_.evaluations, BestNs(), elites_.front().found.origin});
  }

  const StrategyInput& input_;
  const PredictionSettings& settings_;
  const SearchOptions& options_;
  const int64_t begin_ns_;
  std::optional<SearchModel> model_;
  int64_t simulation_ns_ = 0;  // that a full simulation takes at most
  double memory_share_ = 1;
  bool over_ = false;          // by budget or interrupt, on any rank
  std::vector<Elite> elites_;  // best first, of different step times
  SearchResult result_;
};

}  // namespace

SearchResult SearchPlacements(const StrategyInput& input, const PredictionSettings& settings,
                              const StartSource& starts, const SearchOptions& options) {
  LANESCOPE_CHECK(input.step != nullptr);
  return PlacementSearch(input, settings, options).Run(starts);
}

SearchResult SearchPlacements(const StrategyInput& input, const PredictionSettings& settings,
                              const std::vector<SearchStart>& starts, const SearchOptions& options) {
  size_t next = 0;
  const auto source = [&] { return next < starts.size() ? std::optional(starts[next++]) : std::nullopt; };
  return SearchPlacements(input, settings, StartSource(source), options);
}

std::string SearchChains(const StrategyInput& input, const PredictionSettings& settings,
                         const SearchOptions& options, const std::string& state, int first, int count) {
  LANESCOPE_CHECK(input.step != nullptr);
  try {
    return PlacementSearch(input, settings, options).ChainsText(state, first, count);
  } catch (const nlohmann::json::exception& error) {
    Throw(Code::kInvalidArgument, "this is no state of a search: {}", error.what());
  }
}

}  // namespace lanescope::sims
