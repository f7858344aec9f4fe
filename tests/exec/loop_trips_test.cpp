// SPDX-License-Identifier: Apache-2.0
// How often loops ran, as TensorFlow's own count says.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/expand/functions.h"
#include "core/graph/graph_io.h"
#include "tests/exec/session_harness.h"
#include "tests/support/recorded_cases.h"

namespace lanescope::exec::test {
namespace {

using Json = nlohmann::json;

// The recorded loop adds a vector until its sum is large, six times at most, and counts.
TEST(LoopTrips, AreCountedWhereDataSayTheEnd) {
  const Json cases = lanescope::test::RecordedCases("ops/control_flow");
  const auto found =
      std::ranges::find_if(cases, [](const Json& each) { return each.at("name") == "until data say"; });
  ASSERT_NE(found, cases.end());
  const Graph graph = InlineFunctions(ParseGraphText(found->at("graph").get<std::string>()),
                                      {.needed = {"while/trips", "count"}});
  const Machine machine = FastMachine(1);
  const Placement placement = PlaceAll(graph, machine.host());
  Session session(graph, placement, machine);
  std::vector<int32_t> counts;
  for (const Json& step : found->at("steps")) {
    const auto x = step.at("feeds").at("x").at("values").get<std::vector<float>>();
    const Tensor fed = Tensor::FromValues(Shape{3}, x);
    const RunResult result = session.Run({{{"x", fed}}, {"while/trips", "count"}, {}});
    EXPECT_EQ(result.fetches[0].data<int32_t>()[0], result.fetches[1].data<int32_t>()[0]);
    counts.push_back(result.fetches[0].data<int32_t>()[0]);
  }
  EXPECT_EQ(counts, (std::vector<int32_t>{3, 0, 6}));
}

}  // namespace
}  // namespace lanescope::exec::test
