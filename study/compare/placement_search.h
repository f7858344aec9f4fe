// SPDX-License-Identifier: Apache-2.0
// A search for the best placement of a workload, from all strategies that place it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sims/search/lower_bound.h"
#include "sims/search/search.h"
#include "study/base/notes.h"
#include "study/predict/predictor.h"
#include "study/workload/placing.h"

namespace lanescope::study {

struct PlacementSearchRequest {
  std::vector<std::string> starts;  // strategies; empty: all that have names
  PlaceOptions place;               // without `order`
  sims::SearchOptions options;      // `enough_ns` is the lower bound; the budget is that of all
  Notes note;                       // of starts that place nothing
};

struct FoundPlacements {
  sims::SearchResult result;
  std::optional<sims::LowerBound> bound;  // empty: there was no time for it
  std::string caveat;                     // of the best's prediction (CaveatOf); empty: none
  // How much longer the best takes than the bound, as a fraction of it. Empty: without a bound.
  std::optional<double> gap() const;
};

// Throws what SearchPlacements of sims throws; NotFound for a strategy that there is not, and what the first
// start throws where none places anything.
FoundPlacements SearchPlacements(const Workload& workload, const Predictor& predictor,
                                 const PlacementSearchRequest& request);

// Serves as a process that helps (SearchOptions::elsewhere): runs chains [first, first + count) of the round
// that `state` describes, on this many threads. Same input, same text.
std::string SearchChains(const Workload& workload, const Predictor& predictor,
                         const sims::SearchOptions& options, const std::string& state, int first, int count);

}  // namespace lanescope::study
