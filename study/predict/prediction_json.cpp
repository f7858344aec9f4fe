// SPDX-License-Identifier: Apache-2.0
#include "study/predict/prediction_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/units.h"
#include "sims/effects/effect.h"

namespace lanescope::study {
namespace {

using nlohmann::json;

}  // namespace

json CopiesJson(const std::array<sims::CopyTraffic, kNumCopyClasses>& copies) {
  json result;
  for (int c = 0; c < kNumCopyClasses; ++c) {
    const sims::CopyTraffic& traffic = copies[static_cast<size_t>(c)];
    result[std::string(CopyClassName(static_cast<CopyClass>(c)))] = {
        {"count", traffic.count}, {"bytes", traffic.bytes}, {"ns", traffic.ns}};
  }
  return result;
}

std::vector<DeviceId> ShownDevices(const Machine& machine, const sims::Prediction& prediction) {
  std::vector<DeviceId> shown;
  for (const DeviceId d : machine.devices.ids()) {
    if (!machine.cluster || prediction.busy[d] > 0 || prediction.peak_bytes[d] > 0) shown.push_back(d);
  }
  return shown;
}

json PredictionJson(const Machine& machine, const sims::Prediction& prediction) {
  json busy, peak;
  for (const DeviceId d : ShownDevices(machine, prediction)) {
    busy[machine.device(d).local_name()] = prediction.busy[d];
    peak[machine.device(d).local_name()] = prediction.peak_bytes[d];
  }
  const sims::CriticalPath& path = prediction.critical_path;
  json result = {
      {"caveat", prediction.caveat.empty() ? json(nullptr) : json(prediction.caveat)},
      {"step_ns", {{"value", prediction.step_ns}, {"low", prediction.low_ns}, {"high", prediction.high_ns}}},
      {"busy", busy},
      {"peak_bytes", peak},
      {"copies", CopiesJson(prediction.copies)},
      {"critical_path_ns", path.launch_ns + path.copy_ns}};
  if (prediction.input) result["input"] = InputJson(*prediction.input);
  return result;
}

json InputJson(const sims::PipelinePrediction& input) {
  json queues = json::array(), threads = json::array();
  for (size_t q = 0; q < input.pipeline.queues.size(); ++q) {
    const sims::PipelineQueue& queue = input.pipeline.queues[q];
    const sims::PipelineResult::Queue& use = input.result.queues[q];
    queues.push_back({{"name", queue.name},
                      {"capacity", queue.capacity < 0 ? json(nullptr) : json(queue.capacity)},
                      {"kept", queue.kept},
                      {"mean_fill", use.mean_fill},
                      {"starved", use.starved},
                      {"full", use.full}});
  }
  for (size_t s = 1; s < input.pipeline.stages.size(); ++s) {
    const sims::PipelineStage& stage = input.pipeline.stages[s];
    const sims::PipelineResult::Stage& use = input.result.stages[s];
    threads.push_back({{"op", stage.name},
                       {"threads", stage.threads},
                       {"steps_per_second", use.steps_per_second},
                       {"work_ns", std::llround(use.work_ns)},
                       {"waiting", use.waiting + use.turn},
                       {"blocked", use.blocked}});
  }
  return {{"alone_ns", input.alone_ns},
          {"wait_ns", std::llround(input.result.wait_ns)},
          {"queues", queues},
          {"threads", threads}};
}

json PredictionJson(const Machine& machine, const Schedule& schedule, const sims::Prediction& prediction,
                    int64_t wall_ns) {
  json result = PredictionJson(machine, prediction);
  result["commands"] = schedule.commands.size();
  result["wall_ns"] = wall_ns;
  result["uncalibrated_share"] = prediction.uncalibrated_share();
  return result;
}

json AblationJson(const std::vector<int64_t>& without_ns) {
  const std::span<const sims::EffectKind* const> effects = sims::AllEffects();
  json result = json::object();
  for (size_t e = 0; e < without_ns.size(); ++e) result[std::string(effects[e]->name)] = without_ns[e];
  return result;
}

json SweepJson(const sims::Sweep& sweep) {
  json curves = json::array(), crossings = json::array();
  for (const sims::SweepCurve& curve : sweep.curves) {
    curves.push_back({{"name", curve.name},
                      {"step_ns", curve.step_ns},
                      {"asymptote_ns", curve.asymptote_ns},
                      {"bound_by", curve.bound_by},
                      {"bound_share", curve.bound_share}});
  }
  for (const sims::SweepCrossing& crossing : sweep.crossings) {
    crossings.push_back({{"below", sweep.curves[static_cast<size_t>(crossing.below)].name},
                         {"above", sweep.curves[static_cast<size_t>(crossing.above)].name},
                         {"bandwidth", crossing.bandwidth},
                         {"step_ns", crossing.step_ns}});
  }
  return {{"bandwidth", sweep.bandwidth}, {"curves", curves}, {"crossings", crossings}};
}

std::string WideIntervalOf(const sims::Prediction& prediction) {
  constexpr double kWide = 4, kNotable = 0.1;
  const auto low = static_cast<double>(std::max<int64_t>(prediction.low_ns, 1));
  const double factor = static_cast<double>(prediction.high_ns) / low;
  if (factor < kWide) return "";
  // By how little is known of them: what is least known makes most of the width.
  const std::pair<CostBasis, const char*> reasons[] = {
      {CostBasis::kNothing, "commands whose work nobody knows"},
      {CostBasis::kAssumed, "rates that nobody gave"},
      {CostBasis::kExtrapolated, "ops or sizes that no measurement is near"},
      {CostBasis::kRates, "a machine file's rates"}};
  for (const auto& [basis, reason] : reasons) {
    if (prediction.share(basis) >= kNotable) {
      return fmt::format("the interval spans a factor of {:.0f}: {} of the commands' time goes by {}", factor,
                         PercentText(prediction.share(basis), 0), reason);
    }
  }
  return fmt::format("the interval spans a factor of {:.0f}: steps varied as much where they were measured",
                     factor);
}

}  // namespace lanescope::study
