// SPDX-License-Identifier: Apache-2.0
#include "sims/cost/input_costs_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/json_object.h"
#include "core/time/ticks.h"

namespace lanescope::sims {

using nlohmann::json;

namespace {

constexpr size_t kMostTimesInFile = 65536;

std::vector<int64_t> ParseTimes(const json& value, const JsonObject& entry) {
  if (!value.is_array() || value.size() > kMostTimesInFile)
    entry.Fail("times_ns", "must be a list of at most 65536");
  std::vector<int64_t> times;
  bool any = value.empty();
  for (const json& time : value) {
    if (!time.is_number_integer() || time < 0 || time > kMaxSimulatedNs)
      entry.Fail("times_ns", "must be times of 0 or more");
    times.push_back(time.get<int64_t>());
    any = any || times.back() > 0;
  }
  if (!any) entry.Fail("times_ns", "must not all be 0");
  return times;
}

}  // namespace

InputCosts ParseInputCosts(const json& value) {
  JsonObject object(value, "input");
  InputCosts costs;
  costs.cores = static_cast<int>(object.Integer("cores", 1, 1 << 20));
  const json& threads = object.Require("threads");
  if (!threads.is_array()) object.Fail("threads", "must be a list");
  for (size_t i = 0; i < threads.size(); ++i) {
    JsonObject entry(threads[i], fmt::format("input.threads[{}]", i));
    InputCost cost;
    cost.op = entry.String("op");
    cost.ns = entry.Integer("ns", 0, kMaxSimulatedNs);
    cost.exclusive_ns = entry.Integer("exclusive_ns", 0, cost.ns);
    cost.count = entry.Integer("count", 1, int64_t{1} << 53);
    cost.together_ns = entry.Integer("together_ns", 0, kMaxSimulatedNs);
    cost.together_count = entry.Integer("together_count", 0, int64_t{1} << 53);
    if (const json* times = entry.Find("times_ns")) cost.times = ParseTimes(*times, entry);
    entry.Finish();
    costs.threads.push_back(std::move(cost));
  }
  object.Finish();
  return costs;
}

json InputCostsJson(const InputCosts& costs) {
  json threads = json::array();
  for (const InputCost& cost : costs.threads) {
    threads.push_back({{"op", cost.op},
                       {"ns", cost.ns},
                       {"exclusive_ns", cost.exclusive_ns},
                       {"count", cost.count},
                       {"together_ns", cost.together_ns},
                       {"together_count", cost.together_count}});
    const bool vary = std::ranges::any_of(cost.times, [](int64_t time) { return time > 0; });
    if (vary) threads.back()["times_ns"] = cost.times;
  }
  return {{"cores", costs.cores}, {"threads", threads}};
}

}  // namespace lanescope::sims
