// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "cli/command.h"
#include "cli/line_width.h"
#include "cli/print.h"
#include "cli/run_pair.h"
#include "cli/trace_files.h"
#include "core/base/error.h"
#include "core/base/printable.h"
#include "core/base/text_table.h"
#include "core/base/units.h"
#include "core/runs/run_diff.h"
#include "traces/replay/what_if.h"

namespace lanescope::cli {
namespace {

using Json = nlohmann::ordered_json;

struct ExplainOptions {
  std::vector<std::string> runs, set;
  int step = -1;
  int top = 8;
  bool as_json = false;
};

// The parts of one critical path, of a mean step.
struct PathTotals {
  // Counted as often as they ran. Collectives: NCCL's kernels.
  double launches = 0, copies = 0, collectives = 0;
  double launch_ns = 0, copy_ns = 0, collective_ns = 0, wait_ns = 0;
};

PathTotals TotalsOf(const RunDiff& diff, OpDiff::Side OpDiff::*side, double end_wait_ns) {
  PathTotals totals;
  totals.wait_ns = end_wait_ns;
  for (const OpDiff& op : diff.ops) {
    const OpDiff::Side& on = op.*side;
    totals.wait_ns += on.wait_ns;
    if (on.path_ns <= 0) continue;
    switch (op.kind) {
      case WorkKind::kLaunch:
        totals.launches += on.path_count;
        totals.launch_ns += on.path_ns;
        break;
      case WorkKind::kCommunication:
        totals.collectives += on.path_count;
        totals.collective_ns += on.path_ns;
        break;
      case WorkKind::kCopy:
        totals.copies += on.path_count;
        totals.copy_ns += on.path_ns;
        break;
    }
  }
  return totals;
}

// One reason: time of an op on the path, or waiting before it.
struct Reason {
  double change_ns = 0;
  std::string what, why;
  const OpDiff* op = nullptr;  // null: it is of none
};

// The op that the reasons are of, and where it comes from in either run.
struct Explained {
  RunDiff diff;
  const traces::LaunchOrigins &origins_a, &origins_b;

  const traces::LaunchOrigin* OriginA(const Reason& reason) const {
    return reason.op == nullptr ? nullptr : origins_a.Find(reason.op->a.name);
  }
  const traces::LaunchOrigin* OriginB(const Reason& reason) const {
    return reason.op == nullptr ? nullptr : origins_b.Find(reason.op->b.name);
  }
};

std::string PathText(const OpDiff& op, const OpDiff::Side& on, const OpDiff::Side& other,
                     std::string_view name, std::string_view other_name) {
  if (other.count == 0)
    return fmt::format("{} on the path, not in {} at all", TimeText(on.path_ns), other_name);
  if (other.path_ns <= 0) {
    return fmt::format("{} on the path, off the path in {} ({} there, {} in {})", TimeText(on.path_ns),
                       other_name, TimeText(other.ns), TimeText(on.ns), name);
  }
  std::string text =
      fmt::format("{} on the path, {} in {}", TimeText(on.path_ns), TimeText(other.path_ns), other_name);
  if (op.change == OpDiff::Change::kMoved) text += fmt::format("; {} -> {}", op.a.devices, op.b.devices);
  return text;
}

// Largest first; of those that make B longer, or of those that make it shorter.
std::vector<Reason> ReasonsOf(const RunDiff& diff, bool longer) {
  std::vector<Reason> reasons;
  for (const OpDiff& op : diff.ops) {
    const std::string what = (op.kind == WorkKind::kCopy ? "copy of " : "") + op.name;
    const double path = op.b.path_ns - op.a.path_ns, wait = op.b.wait_ns - op.a.wait_ns;
    if (longer ? path > 0 : path < 0) {
      reasons.push_back({path, what,
                         longer ? PathText(op, op.b, op.a, "B", "A") : PathText(op, op.a, op.b, "A", "B"),
                         &op});
    }
    if (longer ? wait > 0 : wait < 0) {
      reasons.push_back({wait, "waiting before " + what,
                         fmt::format("{}, {} in A", TimeText(op.b.wait_ns), TimeText(op.a.wait_ns)), &op});
    }
  }
  const double end = diff.end_wait_b_ns - diff.end_wait_a_ns;
  if (longer ? end > 0 : end < 0) {
    reasons.push_back({end, "waiting at the beginning and end of the step",
                       fmt::format("{}, {} in A", TimeText(diff.end_wait_b_ns), TimeText(diff.end_wait_a_ns)),
                       nullptr});
  }
  std::stable_sort(reasons.begin(), reasons.end(), [](const Reason& x, const Reason& y) {
    return std::abs(x.change_ns) > std::abs(y.change_ns);
  });
  return reasons;
}

std::string CountText(double count) { return fmt::format("{}", std::llround(count)); }

void PrintPath(std::string_view name, const std::string& run, const PathTotals& totals) {
  const std::string collectives = totals.collectives > 0
                                      ? fmt::format("{} of {} collectives, ", TimeText(totals.collective_ns),
                                                    CountText(totals.collectives))
                                      : "";
  Print("Critical path of {} ({}): {} of {} launches, {} of {} copies, {}{} of waiting\n", name, run,
        TimeText(totals.launch_ns), CountText(totals.launches), TimeText(totals.copy_ns),
        CountText(totals.copies), collectives, TimeText(totals.wait_ns));
}

void PrintReasons(std::string_view title, const std::vector<Reason>& reasons, int top) {
  if (reasons.empty()) return;
  double total = 0;
  for (const Reason& reason : reasons) total += reason.change_ns;
  Print("\n{}, {} in all:\n", title, SignedTimeText(total));
  TextTable table;
  table.Number("Change").Name("What").Text("Why");
  double rest = 0;
  size_t shown = 0;
  for (; shown < reasons.size() && (top == 0 || shown < static_cast<size_t>(top)); ++shown)
    table.Row({SignedTimeText(reasons[shown].change_ns), reasons[shown].what, reasons[shown].why});
  for (size_t i = shown; i < reasons.size(); ++i) rest += reasons[i].change_ns;
  if (rest != 0) table.Row({SignedTimeText(rest), fmt::format("{} more", reasons.size() - shown)});
  PrintText(table.Take(LineWidth()));
}

void PrintFitted(const std::string& line) {
  const int width = LineWidth();
  const std::string text = Printable(line);
  Print("{}\n", width > 0 ? Shortened(text, static_cast<size_t>(width)) : text);
}

void PrintOrigin(std::string_view whose, const traces::LaunchOrigin* origin) {
  if (origin == nullptr) return;
  PrintFitted(fmt::format("  {}: in {}", whose, traces::OriginText(*origin)));
  if (!origin->callers.empty()) PrintFitted("     called by " + traces::CallersText(*origin));
}

// Prints where the ops of the tables were launched, each once.
void PrintOrigins(const Explained& explained, const std::vector<Reason>& reasons, int top,
                  std::set<std::string>* told) {
  size_t shown = 0;
  for (const Reason& reason : reasons) {
    if (top != 0 && shown++ >= static_cast<size_t>(top)) break;
    const traces::LaunchOrigin *a = explained.OriginA(reason), *b = explained.OriginB(reason);
    if ((a == nullptr && b == nullptr) || !told->insert(reason.op->name).second) continue;
    if (told->size() == 1) Print("\nLaunched, for the most of its time:\n");
    PrintFitted(reason.op->name);
    const bool same = a != nullptr && b != nullptr && traces::OriginText(*a) == traces::OriginText(*b) &&
                      traces::CallersText(*a) == traces::CallersText(*b);
    PrintOrigin(same ? "A, B" : "A", a);
    if (!same) PrintOrigin("B", b);
  }
}

Json OriginJson(const traces::LaunchOrigin* origin) {
  if (origin == nullptr) return nullptr;
  return {{"op", origin->op},           {"shapes", origin->shapes},     {"types", origin->types},
          {"callers", origin->callers}, {"launches", origin->launches}, {"all", origin->all}};
}

Json PathJson(const PathTotals& totals) {
  return {{"launches", std::llround(totals.launches)},
          {"copies", std::llround(totals.copies)},
          {"collectives", std::llround(totals.collectives)},
          {"launch_ns", std::llround(totals.launch_ns)},
          {"copy_ns", std::llround(totals.copy_ns)},
          {"collective_ns", std::llround(totals.collective_ns)},
          {"wait_ns", std::llround(totals.wait_ns)}};
}

Json ReasonsJson(const Explained& explained, const std::vector<Reason>& reasons) {
  Json list = Json::array();
  for (const Reason& reason : reasons) {
    list.push_back({{"change_ns", std::llround(reason.change_ns)},
                    {"text", reason.what + ": " + reason.why},
                    {"origin_a", OriginJson(explained.OriginA(reason))},
                    {"origin_b", OriginJson(explained.OriginB(reason))}});
  }
  return list;
}

void Explain(const ExplainOptions& options, const Explained& explained, const std::string& name_a,
             const std::string& name_b) {
  const RunDiff& diff = explained.diff;
  const PathTotals a = TotalsOf(diff, &OpDiff::a, diff.end_wait_a_ns);
  const PathTotals b = TotalsOf(diff, &OpDiff::b, diff.end_wait_b_ns);
  const std::vector<Reason> longer = ReasonsOf(diff, true), shorter = ReasonsOf(diff, false);
  if (options.as_json) {
    const Json result = {{"verdict", DiffVerdict(diff)},
                         {"path_a", PathJson(a)},
                         {"path_b", PathJson(b)},
                         {"longer", ReasonsJson(explained, longer)},
                         {"shorter", ReasonsJson(explained, shorter)}};
    PrintJson(result.dump(2, ' ', false, Json::error_handler_t::replace));
    return;
  }
  Print("{}\n\n", DiffVerdict(diff));
  PrintPath("A", name_a, a);
  PrintPath("B", name_b, b);
  PrintReasons("Longer on the path of B", longer, options.top);
  PrintReasons("Shorter on the path of B", shorter, options.top);
  std::set<std::string> told;
  PrintOrigins(explained, longer, options.top, &told);
  PrintOrigins(explained, shorter, options.top, &told);
}

// A trace as it is replayed beside the same with something changed.
void ExplainChanges(const ExplainOptions& options) {
  if (options.runs.size() > 1)
    Throw(Code::kInvalidArgument,
          "--set explains one trace with and without its changes; give one, FILE[:RUN]");
  const RunReference run = ParseRunReference(options.runs.front());
  traces::TraceReader reader(AsTrace(run.path));
  const auto [before, after] =
      traces::ProfileWhatIf(traces::ReadReplayGraph(reader, run.run), options.set, options.step);
  const traces::LaunchOrigins origins(reader.ReadRun(run.run));
  std::string changes;
  for (const std::string& change : options.set) changes += (changes.empty() ? "" : ", ") + change;
  Explain(options, {DiffRuns(before, after), origins, origins}, fmt::format("{}, replayed", run.path),
          "with " + changes);
}

void ExplainRuns(const ExplainOptions& options) {
  if (!options.set.empty()) return ExplainChanges(options);
  if (options.runs.size() < 2)
    Throw(Code::kInvalidArgument,
          "give two runs, TRACE A B or FILE[:RUN] FILE[:RUN], or one trace with --set");
  const RunPair pair = ParseRunPair(options.runs);
  ProfiledRun run_a = ReadProfile(pair.a, options.step, true),
              run_b = ReadProfile(pair.b, options.step, true);
  traces::MatchedRuns matched = MatchRuns(pair, &run_a, &run_b, options.step, true);
  Explain(options, {std::move(matched.diff), run_a.origins, run_b.origins}, Describe(pair.a, run_a.info),
          Describe(pair.b, run_b.info));
  if (!options.as_json) PrintMatched(matched);
}

}  // namespace

void AddExplain(CLI::App* app) {
  auto* command = app->add_subcommand("explain", "Say why one run is slower, by the critical paths of two");
  auto options = std::make_shared<ExplainOptions>();
  command
      ->add_option("runs", options->runs,
                   "TRACE A B with run numbers, or FILE[:RUN] FILE[:RUN]; with --set one")
      ->required()
      ->expected(1, 3);
  command->add_option("--step", options->step, kStepHelp)->check(CLI::Range(0, 1'000'000'000));
  command->add_option("--set", options->set, "Changes of one trace, as `simulate TRACE` takes them")
      ->expected(1)
      ->take_all();
  command->add_option("--top", options->top, "Reasons to print; 0: all")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  command->add_flag("--json", options->as_json, "Print JSON, with all reasons");
  AddLineWidth(command);
  AddExample(command, "lanescope explain t.db 1 2");
  command->callback([options] { ExplainRuns(*options); });
}

}  // namespace lanescope::cli
