// SPDX-License-Identifier: Apache-2.0
#include "study/measure/measuring_turns.h"

#include <algorithm>
#include <map>
#include <utility>

namespace lanescope::study {
namespace {

// Turns of measuring: who does it for each process, and when. Those of different hosts are at the same time.
struct Turns {
  std::vector<int> by, turn;  // by rank
  int count = 0;
};

// A computer's name has no line break; a kind may.
std::string TextOf(const Measurer& measurer) { return measurer.computer + "\n" + measurer.kind; }

std::string ComputerOf(const std::string& measurer) { return measurer.substr(0, measurer.find('\n')); }

Turns TurnsOf(const std::vector<std::string>& measurers) {
  Turns turns;
  std::map<std::string, int> first, taken;  // rank by measurer; turns by computer
  for (const std::string& measurer : measurers) {
    const auto rank = static_cast<int>(turns.by.size());
    const auto [found, added] = first.try_emplace(measurer, rank);
    turns.by.push_back(found->second);
    turns.turn.push_back(added ? taken[ComputerOf(measurer)]++
                               : turns.turn[static_cast<size_t>(found->second)]);
    turns.count = std::max(turns.count, turns.turn.back() + 1);
  }
  return turns;
}

}  // namespace

std::vector<MeasuredText> MeasureInTurns(exec::Transport* transport, const Measurer& own,
                                         const std::function<std::string()>& measure) {
  const std::vector<std::string> measurers = transport->Share(TextOf(own));
  const Turns turns = TurnsOf(measurers);
  const auto rank = static_cast<size_t>(transport->rank());
  std::vector<std::string> measured(measurers.size());
  for (int turn = 0; turn < turns.count; ++turn) {
    const bool is_mine = turns.by[rank] == transport->rank() && turns.turn[rank] == turn;
    const std::vector<std::string> texts = transport->Share(is_mine ? measure() : "");
    for (size_t r = 0; r < texts.size(); ++r) measured[r] += texts[r];
  }
  std::vector<MeasuredText> all;
  for (size_t r = 0; r < measurers.size(); ++r)
    all.push_back({turns.by[r], ComputerOf(measurers[r]), measured[static_cast<size_t>(turns.by[r])]});
  return all;
}

}  // namespace lanescope::study
