// SPDX-License-Identifier: Apache-2.0
// Processes that search together tell each other this, written down: whoever changes it raises kJobProtocol.
#include "core/base/protocol.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sims/search/search.h"
#include "tests/sims/placement_world.h"

namespace lanescope::sims {
namespace {

// The kinds of a JSON value and those within.
std::string KindOf(const nlohmann::json& json) {
  if (json.is_string()) return "text";
  if (json.is_boolean()) return "yes";
  if (json.is_number()) return "1";
  std::string kinds;
  for (const auto& [key, value] : json.items())
    kinds += (kinds.empty() ? "" : ", ") + (json.is_object() ? key + ": " : "") + KindOf(value);
  return json.is_object() ? "{" + kinds + "}" : "[" + kinds + "]";
}

// Law: a round of a search is told as what its chains tried and the placements that they found; two processes
// of one answer find what one of them would.
TEST(Protocol, RoundsOfASearchHaveTheLayoutOfTheNumber) {
  ASSERT_EQ(kJobProtocol, 2) << "write the new layout here";
  const PlacementWorld world(7, 4, 2);
  const StrategyInput input = world.input();
  std::vector<std::string> said;
  const Ranks ranks{0, 2, [&](const std::string& mine) {
                      said.push_back(mine);
                      return std::vector<std::string>{mine, mine};
                    }};
  SearchPlacements(input, {}, {{"single", PlaceByStrategy("single", input)}},
                   {.ranks = ranks, .budget_ns = int64_t{3'600'000'000'000}, .rounds = 1});
  ASSERT_EQ(said.size(), 2U) << "whether its time is over, and a round";
  EXPECT_EQ(said[0], "");
  nlohmann::json round = nlohmann::json::parse(said[1]);
  ASSERT_FALSE(round.at("outcomes").empty());
  nlohmann::json& chain = round.at("outcomes").front();
  ASSERT_FALSE(chain.at(3).empty()) << "nothing was found";
  nlohmann::json found = chain.at(3).front();
  EXPECT_EQ(found.at(2).size(), static_cast<size_t>(TaskGraph(input).num_groups())) << "devices";
  found.at(2) = found.at(2).front();
  found.at(3) = found.at(3).empty() ? nlohmann::json(0) : found.at(3).front();
  found.at(4) = found.at(4).front();
  chain.at(3) = found;
  round.at("outcomes") = chain;
  EXPECT_EQ(KindOf(round), "{outcomes: [1, 1, yes, [text, 1, 1, 1, 1, 1]], over: yes}")
      << "raise kJobProtocol (core/base/protocol.h) and write the new layout here";
}

}  // namespace
}  // namespace lanescope::sims
