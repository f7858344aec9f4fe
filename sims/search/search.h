// SPDX-License-Identifier: Apache-2.0
// Looks for the placement with the shortest step.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/ranks.h"
#include "core/place/placement.h"
#include "core/strategies/strategy.h"
#include "sims/predict/predict.h"

namespace lanescope::sims {

struct SearchStart {
  std::string name;
  Placement placement;
};
// Makes the next placement to start from; nothing: there is no more. Its StopPoints end the search.
using StartSource = std::function<std::optional<SearchStart>()>;

struct SearchProgress {
  int64_t wall_ns = 0;
  int64_t evaluations = 0;
  int64_t best_ns = 0;
  std::string origin;  // of the best
};

struct SearchOptions {
  uint64_t seed = 1;
  int threads = 1;
  int restarts = 1;  // times the chains of a round, of every rank
  Ranks ranks = {};  // that share the search: the same answer as of one with `size` times the restarts
  int64_t budget_ns = 60'000'000'000;
  int rounds = 40;        // at most
  int patience = 4;       // rounds without a better placement that end the search
  int keep = 3;           // placements in the result
  int64_t enough_ns = 0;  // a placement this good ends the search (a lower bound)
  // Asked often, as the budget is: in starts, moves and compilations alike. Ends the search with what it has.
  const std::atomic<bool>* interrupted = nullptr;
  std::function<void(const SearchProgress&)> progress = nullptr;  // after every round, on the caller's thread
  // Not null: runs the chains of a round, 0 to `chains`, wherever it likes, by SearchChains with `state`, and
  // returns what that gave, in the order of the chains. On the caller's thread, for one rank.
  std::function<std::vector<std::string>(const std::string& state, int chains)> elsewhere = nullptr;
};

struct FoundPlacement {
  std::string origin;  // the strategy, or "search from STRATEGY"
  Placement placement;
  int64_t step_ns = 0;  // simulated
  BasisShares basis;    // of that time
};

struct SearchResult {
  std::vector<FoundPlacement> starts;  // in the order given, without those that do not fit
  std::vector<std::pair<std::string, Error>> failed;
  std::vector<FoundPlacement> best;  // different step by step, best first; never worse than a start
  int64_t evaluations = 0;           // by PlacementModel
  int64_t simulations = 0;           // compiled and simulated in full
  int64_t wall_ns = 0;
  int rounds = 0;
  bool settled = false;  // ended by itself, not by the budget or an interrupt: then the seed alone decides

  double evaluations_per_s() const {
    return wall_ns > 0 ? static_cast<double>(evaluations) * 1e9 / static_cast<double>(wall_ns) : 0;
  }
};

// Local search with restarts: rounds of simulated annealing chains over devices of colocation groups, of name
// scopes, and priorities. Chains judge by PlacementModel and start from the best that is known; the best few
// of each are compiled and simulated, which alone decides. A round's chains are the same however many threads
// and ranks run them, so that the result depends on the seed, and on time only where the budget ends it;
// every rank has it, unless time ends it before the first round. `input.step` is needed; devices' memory
// limits hold. The first start that fits may take longer than the budget, nothing else may. Throws what
// Compile throws for the first start if no start fits; Cancelled if it is interrupted before one does.
SearchResult SearchPlacements(const StrategyInput& input, const PredictionSettings& settings,
                              const StartSource& starts, const SearchOptions& options);
SearchResult SearchPlacements(const StrategyInput& input, const PredictionSettings& settings,
                              const std::vector<SearchStart>& starts, const SearchOptions& options);

// Chains [first, first + count) of the round that `state` describes, as text: for SearchOptions::elsewhere.
// Seed, threads and restarts count of the options. Same input, same text. Throws InvalidArgument for a state
// that is none of this input.
std::string SearchChains(const StrategyInput& input, const PredictionSettings& settings,
                         const SearchOptions& options, const std::string& state, int first, int count);

}  // namespace lanescope::sims
