#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/print.h"
#include "cli/report.h"
#include "cli/run_pair.h"
#include "core/error.h"
#include "traces/run_diff.h"
#include "traces/summary.h"

namespace lanescope::cli {
namespace {

using Json = nlohmann::ordered_json;

struct DiffOptions {
  std::vector<std::string> runs;
  std::string by = "op";
  int step = -1;
  int top = 20;
  bool as_json = false;
};

std::string_view KindName(WorkKind kind) {
  switch (kind) {
    case WorkKind::kLaunch:
      return "launch";
    case WorkKind::kCommunication:
      return "communication";
    case WorkKind::kCopy:
      return "copy";
  }
  return "launch";
}

int64_t Rounded(double ns) { return std::llround(ns); }

Json PartsJson(const StepParts& parts) {
  // Rounding must not break the sum: waiting, what no op explains, takes the rest.
  const int64_t step = Rounded(parts.step_ns), compute = Rounded(parts.compute_ns);
  const int64_t transfer = Rounded(parts.transfer_ns), contention = Rounded(parts.contention_ns);
  return {{"step_ns", step},
          {"compute_ns", compute},
          {"transfer_ns", transfer},
          {"waiting_ns", step - compute - transfer - contention},
          {"contention_ns", contention}};
}

Json DifferenceJson(const Json& a, const Json& b) {
  Json difference;
  for (const auto& [key, value] : b.items()) difference[key] = value.get<int64_t>() - a[key].get<int64_t>();
  return difference;
}

Json RunJson(const RunReference& reference, const TraceRunInfo& info, int64_t steps, const StepParts& parts) {
  return {{"trace", reference.path},   {"run", reference.run},        {"graph", info.graph},
          {"strategy", info.strategy}, {"simulated", info.simulated}, {"steps", steps},
          {"parts", PartsJson(parts)}};
}

Json SideJson(const OpDiff::Side& side) {
  return {{"count", side.count},
          {"ns", Rounded(side.ns)},
          {"path_ns", Rounded(side.path_ns)},
          {"wait_ns", Rounded(side.wait_ns)},
          {"devices", side.devices}};
}

void PrintDiffJson(const RunPair& pair, const RunDiff& diff) {
  Json ops = Json::array();
  for (const OpDiff& op : diff.ops) {
    ops.push_back({{"name", op.name},
                   {"kind", KindName(op.kind)},
                   {"change", ChangeName(op.change)},
                   {"a", SideJson(op.a)},
                   {"b", SideJson(op.b)}});
  }
  const Json a = RunJson(pair.a, diff.a, diff.steps_a, diff.parts_a);
  const Json b = RunJson(pair.b, diff.b, diff.steps_b, diff.parts_b);
  const Json result = {{"a", a},
                       {"b", b},
                       {"difference", DifferenceJson(a["parts"], b["parts"])},
                       {"ops", ops},
                       {"verdict", DiffVerdict(diff)}};
  PrintJson(result.dump(2, ' ', false, Json::error_handler_t::replace));
}

std::string Time(double ns) { return FormatNvprofTime(ns); }
std::string Signed(double ns) {
  if (std::abs(ns) < 0.5) return "0ns";
  return fmt::format("{}{}", ns < 0 ? '-' : '+', FormatNvprofTime(std::abs(ns)));
}

void PrintParts(const RunDiff& diff) {
  const StepParts &a = diff.parts_a, &b = diff.parts_b;
  Print("\n{:<14}{:>12}{:>12}{:>12}\n", "Mean step", "A", "B", "B - A");
  const std::tuple<const char*, double, double> lines[] = {
      {"whole", a.step_ns, b.step_ns},
      {"  compute", a.compute_ns, b.compute_ns},
      {"  transfer", a.transfer_ns, b.transfer_ns},
      {"  waiting", a.waiting_ns, b.waiting_ns},
      {"  contention", a.contention_ns, b.contention_ns}};
  for (const auto& [name, of_a, of_b] : lines) {
    Print("{:<14}{:>12}{:>12}{:>12}\n", name, Time(of_a), Time(of_b), Signed(of_b - of_a));
  }
  Print(
      "Each moment of a step is on its path once. Contention: what the same work took longer than in the "
      "other "
      "run, as far as competing work ran beside it.\n");
}

void PrintOps(const RunDiff& diff, int top) {
  Print("\n{:>11}  {:>10} {:>10}  {:>10} {:>10}  {:>7} {:>7}  {:<7} {:<17} {}\n", "Path B - A", "Path A",
        "Path B", "Time A", "Time B", "Count A", "Count B", "Change", "Device",
        diff.by_ranges ? "NVTX range" : "Op");
  int shown = 0;
  for (const OpDiff& op : diff.ops) {
    if (top > 0 && shown++ >= top) {
      Print("{:>11}  {} more; --top 0 shows all\n", "", diff.ops.size() - static_cast<size_t>(top));
      break;
    }
    std::string devices = op.a.devices.empty() ? op.b.devices : op.a.devices;
    if (op.change == OpDiff::Change::kMoved) devices = op.a.devices + " -> " + op.b.devices;
    Print("{:>11}  {:>10} {:>10}  {:>10} {:>10}  {:>7.4g} {:>7.4g}  {:<7} {:<17} {}\n",
          Signed(op.PathChange()), Time(op.a.path_ns + op.a.wait_ns), Time(op.b.path_ns + op.b.wait_ns),
          Time(op.a.ns), Time(op.b.ns), op.a.count, op.b.count, ChangeName(op.change), devices, op.name);
  }
}

void ShowDiff(const DiffOptions& options) {
  const RunPair pair = ParseRunPair(options.runs);
  const RunProfile a = ReadProfile(pair.a, options.step), b = ReadProfile(pair.b, options.step);
  const RunDiff diff = DiffRuns(a, b, options.by == "nvtx");
  if (options.as_json) return PrintDiffJson(pair, diff);
  Print("A: {} ({} of {} steps)\n", Describe(pair.a, diff.a), a.steps, a.all_steps);
  Print("B: {} ({} of {} steps)\n", Describe(pair.b, diff.b), b.steps, b.all_steps);
  PrintParts(diff);
  PrintOps(diff, options.top);
  Print("\n{}\n", DiffVerdict(diff));
}

}  // namespace

void AddDiff(CLI::App* app) {
  auto* command =
      app->add_subcommand("diff", "Match two runs op by op and show what the difference comes from");
  auto options = std::make_shared<DiffOptions>();
  command->add_option("runs", options->runs, "FILE[:RUN] FILE[:RUN], or FILE A B with run numbers")
      ->required()
      ->expected(2, 3);
  command->add_option("--by", options->by, "Rows: op (nodes or kernels), or nvtx (ranges)")
      ->check(CLI::IsMember({"op", "nvtx"}))
      ->capture_default_str();
  command->add_option("--step", options->step, "Only this step; else the mean of the middle half of all")
      ->check(CLI::Range(0, 1'000'000'000));
  command->add_option("--top", options->top, "Rows to print; 0: all")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  command->add_flag("--json", options->as_json, "Print JSON, with all rows");
  AddExample(command, "lanescope diff t.db 1 2 --top 10");
  command->callback([options] { ShowDiff(*options); });
}

}  // namespace lanescope::cli
