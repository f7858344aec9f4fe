// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "cli/command.h"
#include "cli/line_width.h"
#include "cli/print.h"
#include "cli/report.h"
#include "cli/run_pair.h"
#include "core/base/csv.h"
#include "core/base/printable.h"
#include "core/base/text_table.h"
#include "core/base/units.h"
#include "core/runs/run_diff.h"
#include "traces/report/operator_identity.h"

namespace lanescope::cli {
namespace {

using Json = nlohmann::ordered_json;

struct DiffOptions {
  std::vector<std::string> runs;
  std::string by = "op";
  int step = -1;
  int top = 20;
  bool as_json = false, as_csv = false;
};

constexpr char kByKernel[] = "kernel", kByOperator[] = "operator", kByRange[] = "nvtx",
               kByModule[] = "module";
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

Json RunJson(const RunReference& reference, const traces::TraceRunInfo& info, int64_t steps,
             const StepParts& parts) {
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

void PrintDiffJson(const RunPair& pair, const ProfiledRun& run_a, const ProfiledRun& run_b,
                   const traces::MatchedRuns& matched, const std::string& by) {
  const RunDiff& diff = matched.diff;
  Json ops = Json::array();
  for (const OpDiff& op : diff.ops) {
    ops.push_back({{"name", op.name},
                   {"kind", WorkKindName(op.kind)},
                   {"change", ChangeName(op.change)},
                   {"a", SideJson(op.a)},
                   {"b", SideJson(op.b)}});
  }
  const Json a = RunJson(pair.a, run_a.info, diff.steps_a, diff.parts_a);
  const Json b = RunJson(pair.b, run_b.info, diff.steps_b, diff.parts_b);
  const Json result = {{"a", a},
                       {"b", b},
                       {"difference", DifferenceJson(a["parts"], b["parts"])},
                       {"by", by},
                       {"matched", matched.share},
                       {"ops", ops},
                       {"verdict", DiffVerdict(diff)}};
  PrintJson(result.dump(2, ' ', false, Json::error_handler_t::replace));
}

void PrintDiffCsv(const RunDiff& diff, size_t shown) {
  PrintText(CsvLine({"name", "kind", "change", "devices_a", "devices_b", "count_a", "count_b", "ns_a", "ns_b",
                     "path_ns_a", "path_ns_b", "wait_ns_a", "wait_ns_b"}));
  const auto number = [](double value) { return fmt::format("{}", value); };
  const auto time = [](double ns) { return fmt::format("{}", Rounded(ns)); };
  for (size_t i = 0; i < shown; ++i) {
    const OpDiff& op = diff.ops[i];
    PrintText(CsvLine({Printable(op.name), std::string(WorkKindName(op.kind)),
                       std::string(ChangeName(op.change)), Printable(op.a.devices), Printable(op.b.devices),
                       number(op.a.count), number(op.b.count), time(op.a.ns), time(op.b.ns),
                       time(op.a.path_ns), time(op.b.path_ns), time(op.a.wait_ns), time(op.b.wait_ns)}));
  }
}

void PrintParts(const RunDiff& diff) {
  const StepParts &a = diff.parts_a, &b = diff.parts_b;
  TextTable table;
  table.Text(diff.whole ? "Whole run" : "Mean step").Number("A").Number("B").Number("B - A");
  const std::tuple<const char*, double, double> lines[] = {
      {"whole", a.step_ns, b.step_ns},
      {"  compute", a.compute_ns, b.compute_ns},
      {"  transfer", a.transfer_ns, b.transfer_ns},
      {"  waiting", a.waiting_ns, b.waiting_ns},
      {"  contention", a.contention_ns, b.contention_ns}};
  for (const auto& [name, of_a, of_b] : lines)
    table.Row({name, TimeText(of_a), TimeText(of_b), SignedTimeText(of_b - of_a)});
  PrintText("\n" + table.Take(LineWidth()));
  PrintText(
      "Each moment of a step is on its path once. Contention: what the same work took longer than in the\n"
      "other run, as far as competing work ran beside it.\n");
}

std::string DevicesOf(const OpDiff& op) {
  switch (op.change) {
    case OpDiff::Change::kMoved:
      return op.a.devices + " -> " + op.b.devices;
    case OpDiff::Change::kOnlyA:
      return op.a.devices + ", only A";
    case OpDiff::Change::kOnlyB:
      return op.b.devices + ", only B";
    case OpDiff::Change::kSame:
      break;
  }
  // Ranks of a job see other devices.
  return op.a.devices == op.b.devices ? op.a.devices : op.a.devices + " / " + op.b.devices;
}

// "4", or "4 / 2" where A and B differ.
std::string CountsOf(const OpDiff& op) {
  const std::string a = fmt::format("{:.4g}", op.a.count), b = fmt::format("{:.4g}", op.b.count);
  return a == b ? a : a + " / " + b;
}

size_t ShownOps(const RunDiff& diff, int top) {
  return top > 0 ? std::min(diff.ops.size(), static_cast<size_t>(top)) : diff.ops.size();
}

void PrintOps(const RunDiff& diff, const std::string& by, int top) {
  TextTable table;
  const size_t shown = ShownOps(diff, top);
  const bool counts = std::any_of(diff.ops.begin(), diff.ops.begin() + static_cast<ptrdiff_t>(shown),
                                  [](const OpDiff& op) { return CountsOf(op) != "1"; });
  table.Group("On the path").Number("B - A").Number("B").Group("Time").Number("A").Number("B").Group("");
  if (counts) table.Number("Count");
  table.Text("Device").Name(by == kByModule ? "Module" : diff.by_ranges ? "NVTX range" : "Op");
  for (size_t i = 0; i < shown; ++i) {
    const OpDiff& op = diff.ops[i];
    std::vector<std::string> cells = {SignedTimeText(op.PathChange()), TimeText(op.b.path_ns + op.b.wait_ns),
                                      TimeText(op.a.ns), TimeText(op.b.ns)};
    if (counts) cells.push_back(CountsOf(op));
    cells.push_back(DevicesOf(op));
    cells.push_back(op.name);
    table.Row(std::move(cells));
  }
  PrintText("\n" + table.Take(LineWidth()));
  if (shown < diff.ops.size()) Print("{} more; --top 0 shows all\n", diff.ops.size() - shown);
}

// Rows as asked for, and by what they are.
std::pair<traces::MatchedRuns, std::string> RowsOf(const DiffOptions& options, const RunPair& pair,
                                                   ProfiledRun* a, ProfiledRun* b) {
  if (options.by == "op") {
    traces::MatchedRuns matched = MatchRuns(pair, a, b, options.step);
    return {std::move(matched), MatchedBy(matched)};
  }
  if (options.by == kByOperator) {
    traces::MatchedRuns matched = MatchByOperators(pair, a->profile, b->profile, options.step);
    return {std::move(matched), kByOperator};
  }
  if (options.by == kByModule) {
    traces::MatchedRuns matched{DiffByModules(pair, options.step)};
    matched.share = matched.share_of_kernels = traces::MatchedShare(matched.diff);
    return {std::move(matched), options.by};
  }
  traces::MatchedRuns matched{DiffRuns(a->profile, b->profile, options.by == kByRange),
                              options.by == kByKernel};
  matched.share = matched.share_of_kernels = traces::MatchedShare(matched.diff);
  return {std::move(matched), options.by};
}

void ShowDiff(const DiffOptions& options) {
  const RunPair pair = ParseRunPair(options.runs);
  ProfiledRun a = ReadProfile(pair.a, options.step), b = ReadProfile(pair.b, options.step);
  const auto [matched, by] = RowsOf(options, pair, &a, &b);
  const RunDiff& diff = matched.diff;
  if (options.as_json) return PrintDiffJson(pair, a, b, matched, by);
  if (options.as_csv) return PrintDiffCsv(diff, ShownOps(diff, options.top));
  const auto print_run = [](char name, const RunReference& reference, const ProfiledRun& run) {
    if (run.profile.whole) return Print("{}: {} (without steps)\n", name, Describe(reference, run.info));
    Print("{}: {} ({} of {} steps)\n", name, Describe(reference, run.info), run.profile.steps,
          run.profile.all_steps);
  };
  print_run('A', pair.a, a);
  print_run('B', pair.b, b);
  PrintParts(diff);
  PrintOps(diff, by, options.top);
  PrintMatched(matched);
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
  command
      ->add_option(
          "--by", options->by,
          "Rows: op (nodes; kernels, or where two runs have few of those in common operators), kernel, "
          "operator, nvtx (ranges) or module (of PyTorch)")
      ->check(CLI::IsMember({"op", kByKernel, kByOperator, kByRange, kByModule}))
      ->capture_default_str();
  command->add_option("--step", options->step, kStepHelp)->check(CLI::Range(0, 1'000'000'000));
  command->add_option("--top", options->top, "Rows to print; 0: all")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  auto* json = command->add_flag("--json", options->as_json, "Print JSON, with all rows");
  command->add_flag("--csv", options->as_csv, "Print the rows as comma-separated values")->excludes(json);
  AddLineWidth(command);
  AddExample(command, "lanescope diff t.db 1 2 --top 10");
  command->callback([options] { ShowDiff(*options); });
}

}  // namespace lanescope::cli
