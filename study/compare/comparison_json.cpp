// SPDX-License-Identifier: Apache-2.0
#include "study/compare/comparison_json.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/statistics.h"
#include "study/base/json_text.h"
#include "study/predict/prediction_json.h"

namespace lanescope::study {

using nlohmann::json;

std::array<sims::CopyTraffic, kNumCopyClasses> PerStep(const traces::RunStatistics& statistics) {
  std::array<sims::CopyTraffic, kNumCopyClasses> copies{};
  const int64_t steps = std::max<int64_t>(1, statistics.steps);
  for (size_t c = 0; c < copies.size(); ++c) {
    const traces::CopyTotals& total = statistics.copies[c];
    copies[c] = {total.count / steps, total.bytes / steps, total.ns / steps};
  }
  return copies;
}

double ShareOf(int64_t ns, const MeasuredRow& row) {
  return static_cast<double>(ns) / static_cast<double>(std::max<int64_t>(1, row.disturbance.wall_ns));
}

namespace {

json MeasuredJson(const Machine& machine, const Schedule& schedule, const MeasuredRow& row) {
  json busy, peak;
  for (const DeviceId d : machine.devices.ids()) {
    const auto used = row.busy.find(d);
    busy[machine.device(d).local_name()] = used == row.busy.end() ? 0.0 : used->second;
    peak[machine.device(d).local_name()] = schedule.peak_bytes[d];
  }
  json result = {{"step_ns", SpreadJson(*row.statistics.step_ns)},
                 {"steps", row.statistics.steps},
                 {"busy", busy},
                 {"peak_bytes", peak},
                 {"copies", CopiesJson(PerStep(row.statistics))},
                 {"losses", row.losses},
                 {"critical_path_ns", row.critical_path_ns},
                 {"disturbed",
                  {{"quiet", row.quiet},
                   {"steps", row.disturbed_steps},
                   {"all_count", row.all_steps_count},
                   {"of", row.steps},
                   {"other_speed", row.other_speed_steps},
                   {"others", ShareOf(row.disturbance.others_ns, row)},
                   {"stolen", ShareOf(row.disturbance.stolen_ns, row)},
                   {"waited", ShareOf(row.disturbance.waited_ns, row)},
                   {"preempted", row.disturbance.preempted}}}};
  if (row.command_timing != CommandTiming::kThreads) {
    result["timing"] = {{"commands", kCommandTimingNames[static_cast<size_t>(row.command_timing)]},
                        {"pair_ns", row.pair_ns}};
  }
  if (row.summary.input) {
    const traces::InputUse& use = *row.summary.input;
    result["input"] = {{"wait_ns", use.wait_ns}, {"window_ns", use.window_ns}, {"verdict", use.verdict}};
  }
  return result;
}

json RowJson(const Comparison& comparison, const ComparisonRow& row) {
  json result;
  result["graph"] = row.graph;
  result["strategy"] = row.strategy;
  result["wire"] = WireFormatName(row.wire);
  if (row.schedule) {
    const WireTraffic traffic = TrafficBetweenTasks(comparison.machine, *row.schedule);
    result["between_tasks"] = {{"messages", traffic.messages}, {"bytes", traffic.bytes}};
  }
  result["run"] = {{"measured", row.measured ? json(row.measured->run) : json(nullptr)},
                   {"simulated", row.predicted ? json(row.predicted->run) : json(nullptr)}};
  result["in_sample"] = row.predicted && row.predicted->in_sample;
  result["oversubscribed"] = row.measured && row.measured->oversubscribed;
  result["failed"] =
      row.failed ? json{{"code", row.failed->code}, {"message", row.failed->message}} : json(nullptr);
  result["measured"] =
      row.measured ? MeasuredJson(comparison.machine, *row.schedule, *row.measured) : json(nullptr);
  result["predicted"] =
      row.predicted ? PredictionJson(comparison.machine, row.predicted->prediction) : json(nullptr);
  if (row.predicted) result["predicted"]["steps"] = row.predicted->steps;
  if (row.predicted && !row.predicted->without_ns.empty())
    result["predicted"]["without"] = AblationJson(row.predicted->without_ns);
  result["error"] = row.error() ? json(*row.error()) : json(nullptr);
  result["repeats"] = json::array();
  for (const RepeatedRow& repeat : row.repeats)
    result["repeats"].push_back({{"measured_ns", std::llround(repeat.measured_ns)},
                                 {"predicted_ns", repeat.predicted_ns},
                                 {"error", repeat.error()}});
  result["noise"] = row.measured ? json(row.measured->noise) : json(nullptr);
  result["uncalibrated_share"] =
      row.predicted ? json(row.predicted->prediction.uncalibrated_share()) : json(nullptr);
  result["extrapolated_share"] =
      row.predicted ? json(row.predicted->prediction.extrapolated_share()) : json(nullptr);
  return result;
}

}  // namespace

json ComparisonJson(const Comparison& comparison) {
  json rows = json::array();
  for (const ComparisonRow& row : comparison.rows) rows.push_back(RowJson(comparison, row));
  json bounds = json::array();
  for (const GraphBound& bound : comparison.bounds)
    bounds.push_back({{"graph", bound.graph}, {"step_ns", bound.bound.step_ns}, {"by", bound.bound.reason}});
  return {{"trace", comparison.trace.empty() ? json(nullptr) : json(comparison.trace)},
          {"machine", json::parse(MachineToJson(comparison.machine))},
          {"rows", rows},
          {"lower_bounds", bounds},
          {"verdict", comparison.verdict},
          {"prediction_of", comparison.prediction_of},
          {"replay_error", comparison.replay_error ? json(*comparison.replay_error) : json(nullptr)},
          {"link_slowdown", comparison.link_slowdown}};
}

}  // namespace lanescope::study
