// SPDX-License-Identifier: Apache-2.0
#include "cli/what_if.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/line_width.h"
#include "cli/print.h"
#include "cli/trace_files.h"
#include "core/base/error.h"
#include "core/base/statistics.h"
#include "core/base/text_table.h"
#include "core/base/units.h"
#include "study/predict/run_replay.h"
#include "traces/read/trace_reader.h"
#include "traces/replay/what_if.h"

namespace lanescope::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kFaithful = 0.02;  // a replay that is further off says little
constexpr size_t kShownOps = 10;

Json PathPartsJson(const traces::ReplayPath& path) {
  return {{"kernels_ns", path.kernels_ns}, {"collectives_ns", path.collectives_ns},
          {"copies_ns", path.copies_ns},   {"calls_ns", path.calls_ns},
          {"host_ns", path.host_ns},       {"waiting_ns", path.waiting_ns}};
}

Json WhatIfJson(const traces::WhatIf& what_if, const std::string& trace, int run) {
  const traces::ReplayFacts& facts = what_if.facts;
  Json changes = Json::array(), steps = Json::array(), ops = Json::array();
  for (const auto& change : what_if.changes)
    changes.push_back({{"set", change.text}, {"count", change.count}});
  for (const auto& step : what_if.steps) {
    steps.push_back({{"step", step.number},
                     {"measured_ns", step.measured_ns},
                     {"replayed_ns", step.replayed_ns},
                     {"predicted_ns", step.predicted_ns}});
  }
  for (const auto& op : what_if.ops) {
    ops.push_back({{"name", op.name}, {"replayed_ns", op.replayed_ns}, {"predicted_ns", op.predicted_ns}});
  }
  Json answer = {{"trace", trace},
                 {"run", run},
                 {"measured_ns", std::llround(what_if.measured_ns())},
                 {"replayed_ns", std::llround(what_if.replayed_ns())},
                 {"error", what_if.error()},
                 {"predicted_ns", std::llround(what_if.predicted_ns())},
                 {"changes", changes},
                 {"steps", steps},
                 {"path",
                  {{"replayed", PathPartsJson(what_if.replayed)},
                   {"predicted", PathPartsJson(what_if.predicted)},
                   {"ops", ops}}},
                 {"facts",
                  {{"gpus", what_if.gpus},
                   {"streams", what_if.streams},
                   {"threads", what_if.threads},
                   {"operations", facts.operations},
                   {"calls", facts.calls},
                   {"launched", facts.launched},
                   {"waits", facts.waits},
                   {"waits_by_time", facts.waits_by_time},
                   {"hand_overs", facts.hand_overs},
                   {"synchronizations", facts.synchronizations},
                   {"collectives", facts.collectives},
                   {"collectives_alone", facts.alone},
                   {"full_queues", facts.full_queues},
                   {"frozen", facts.frozen},
                   {"frozen_ns", facts.frozen_ns},
                   {"kept", facts.kept},
                   {"kept_ns", facts.kept_ns}}}};
  if (what_if.range)
    answer["range"] = {{"low_ns", what_if.range->low_ns}, {"high_ns", what_if.range->high_ns}};
  return answer;
}

std::string Counted(int64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

void PrintFacts(const traces::WhatIf& what_if, const std::string& trace) {
  const traces::ReplayFacts& facts = what_if.facts;
  Print("{}: {} on {} in {}, {} of {}\n", trace, Counted(facts.operations, "operation", "operations"),
        Counted(what_if.gpus, "GPU", "GPUs"), Counted(what_if.streams, "stream", "streams"),
        Counted(facts.calls, "call", "calls"), Counted(what_if.threads, "thread", "threads"));
  Print("Recorded: {}, {} of streams for each other, {}, {}\n", Counted(facts.launched, "launch", "launches"),
        Counted(facts.waits, "wait", "waits"),
        Counted(facts.synchronizations, "synchronisation", "synchronisations"),
        Counted(facts.collectives, "collective", "collectives"));
  Print("From times: {} of streams for each other, {} between threads, {} held up by a full queue\n",
        Counted(facts.waits_by_time, "wait", "waits"), Counted(facts.hand_overs, "hand-over", "hand-overs"),
        Counted(facts.full_queues, "launch", "launches"));
  if (facts.frozen > 0) {
    Print("Frozen: {} that took long, nothing in the trace says why; predictions keep {} of that\n",
          Counted(facts.frozen, "call", "calls"), TimeText(facts.frozen_ns));
  }
  if (facts.kept > 0) {
    Print("Kept: {} that nothing in the trace explains, {} in all\n", Counted(facts.kept, "delay", "delays"),
          TimeText(facts.kept_ns));
  }
  if (facts.alone > 0) {
    Print("Alone: {} of NCCL, whose other ranks the trace does not have; they last as long as they did\n",
          Counted(facts.alone, "kernel", "kernels"));
  }
}

void PrintTimes(const traces::WhatIf& what_if) {
  TextTable table;
  table.Text(what_if.has_steps ? fmt::format("Mean of {}", Counted(static_cast<int64_t>(what_if.steps.size()),
                                                                   "step", "steps"))
                               : "Whole trace");
  table.Number("Time").Number("Change").Group("On its path");
  for (const char* part : {"kernels", "collectives", "copies", "calls", "host", "waiting"})
    table.Number(part);
  const auto add = [&](std::string name, double ns, std::string change, const traces::ReplayPath* path) {
    std::vector<std::string> cells = {std::move(name), TimeText(ns), std::move(change)};
    for (const auto part : {&traces::ReplayPath::kernels_ns, &traces::ReplayPath::collectives_ns,
                            &traces::ReplayPath::copies_ns, &traces::ReplayPath::calls_ns,
                            &traces::ReplayPath::host_ns, &traces::ReplayPath::waiting_ns})
      cells.push_back(path == nullptr ? "" : TimeText(path->*part));
    table.Row(std::move(cells));
  };
  add("measured", what_if.measured_ns(), "", nullptr);
  add("replayed", what_if.replayed_ns(), SignedPercentText(what_if.error()), &what_if.replayed);
  if (!what_if.changes.empty()) {
    add("predicted", what_if.predicted_ns(),
        SignedPercentText(what_if.predicted_ns() / std::max(1.0, what_if.replayed_ns()) - 1),
        &what_if.predicted);
  }
  PrintText("\n" + table.Take(LineWidth()));
}

void PrintPathOps(const traces::WhatIf& what_if) {
  TextTable table;
  table.Group("On the path").Number("replayed");
  if (!what_if.changes.empty()) table.Number("predicted");
  table.Group("").Name("Name");
  for (size_t i = 0; i < std::min(kShownOps, what_if.ops.size()); ++i) {
    const traces::WhatIf::PathOp& op = what_if.ops[i];
    std::vector<std::string> cells = {TimeText(op.replayed_ns)};
    if (!what_if.changes.empty()) cells.push_back(TimeText(op.predicted_ns));
    cells.push_back(op.name);
    table.Row(std::move(cells));
  }
  PrintText("\n" + table.Take(LineWidth()));
}

// A run of ours has its schedule: it is replayed by that, and not by what a stream or a thread had to wait
// for.
void ReplayOurs(traces::TraceReader* reader, const WhatIfArguments& arguments, int run) {
  const sims::ReplayReport report = study::ReplayRun(reader, run);
  std::vector<double> measured(report.measured_ns.begin(), report.measured_ns.end()),
      replayed(report.replayed_ns.begin(), report.replayed_ns.end());
  if (measured.empty()) Throw(Code::kFailedPrecondition, "run {} has no complete step to replay", run);
  const double measured_ns = Median(std::move(measured)), replayed_ns = Median(std::move(replayed));
  if (arguments.as_json) {
    Json steps = Json::array();
    for (size_t i = 0; i < report.measured_ns.size(); ++i)
      steps.push_back({{"measured_ns", report.measured_ns[i]}, {"replayed_ns", report.replayed_ns[i]}});
    const Json answer = {{"trace", arguments.trace},
                         {"run", run},
                         {"measured_ns", std::llround(measured_ns)},
                         {"replayed_ns", std::llround(replayed_ns)},
                         {"error", report.error},
                         {"steps", steps}};
    PrintJson(answer.dump(2, ' ', false, Json::error_handler_t::replace));
    return;
  }
  const traces::TraceRunInfo info = reader->RunInfoOf(run);
  Print("Run {} ({} {}): its schedule with the durations that its commands had\n", run, info.graph,
        info.strategy);
  TextTable table;
  table.Text(
      fmt::format("Median of {}", Counted(static_cast<int64_t>(report.measured_ns.size()), "step", "steps")));
  table.Number("Time").Number("Off by");
  table.Row({"measured", TimeText(measured_ns), ""});
  table.Row({"replayed", TimeText(replayed_ns), SignedPercentText(report.error)});
  PrintText("\n" + table.Take(LineWidth()));
}

}  // namespace

void SimulateTrace(const WhatIfArguments& arguments) {
  traces::TraceReader reader(AsTrace(arguments.trace));
  const int run = arguments.run > 0 ? arguments.run : reader.Runs().back().id;
  if (reader.is_ours() && arguments.set.empty() && !reader.RunInfoOf(run).graph.empty())
    return ReplayOurs(&reader, arguments, run);
  const traces::WhatIf what_if = traces::FindWhatIf(traces::ReadReplayGraph(reader, run), arguments.set);
  if (arguments.as_json) {
    PrintJson(WhatIfJson(what_if, arguments.trace, run).dump(2, ' ', false, Json::error_handler_t::replace));
    return;
  }
  PrintFacts(what_if, arguments.trace);
  PrintTimes(what_if);
  for (const auto& change : what_if.changes) Print("{}: changes {}\n", change.text, change.count);
  if (what_if.range) {
    Print("By ratios of 5% and 95% of what was measured: {} to {}\n", TimeText(what_if.range->low_ns),
          TimeText(what_if.range->high_ns));
  }
  PrintPathOps(what_if);
  if (std::abs(what_if.error()) > kFaithful) {
    Print(
        "\nThe replay is off by {}: what this trace records does not explain its time, and predictions are "
        "no better than that.\n",
        SignedPercentText(what_if.error()));
  }
}

}  // namespace lanescope::cli
