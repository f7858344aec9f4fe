#include "sims/input_costs_json.h"

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/json_object.h"
#include "sims/ticks.h"

namespace lanescope::sims {

using nlohmann::json;

InputCosts ParseInputCosts(const json& value) {
  JsonObject object(value, "input");
  InputCosts costs;
  costs.cores = static_cast<int>(object.Integer("cores", 1, 1 << 20));
  costs.step_factor = object.Number("step_factor");
  if (!(costs.step_factor > 0 && costs.step_factor <= 1))
    object.Fail("step_factor", "must lie above 0, up to 1");
  const json& threads = object.Require("threads");
  if (!threads.is_array()) object.Fail("threads", "must be a list");
  for (size_t i = 0; i < threads.size(); ++i) {
    JsonObject entry(threads[i], fmt::format("input.threads[{}]", i));
    InputCost cost;
    cost.op = entry.String("op");
    cost.ns = entry.Integer("ns", 0, kMaxSimulatedNs);
    cost.exclusive_ns = entry.Integer("exclusive_ns", 0, cost.ns);
    cost.count = entry.Integer("count", 1, int64_t{1} << 53);
    entry.Finish();
    costs.threads.push_back(std::move(cost));
  }
  object.Finish();
  return costs;
}

json InputCostsJson(const InputCosts& costs) {
  json threads = json::array();
  for (const InputCost& cost : costs.threads) {
    threads.push_back(
        {{"op", cost.op}, {"ns", cost.ns}, {"exclusive_ns", cost.exclusive_ns}, {"count", cost.count}});
  }
  return {{"cores", costs.cores}, {"step_factor", costs.step_factor}, {"threads", threads}};
}

}  // namespace lanescope::sims
