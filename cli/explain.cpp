#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/line_width.h"
#include "cli/print.h"
#include "cli/run_pair.h"
#include "cli/trace_files.h"
#include "core/base/error.h"
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

// What is on one critical path, of a mean step.
struct PathTotals {
  int launches = 0, copies = 0;
  double launch_ns = 0, copy_ns = 0, wait_ns = 0;
};

PathTotals TotalsOf(const RunDiff& diff, OpDiff::Side OpDiff::*side, double end_wait_ns) {
  PathTotals totals;
  totals.wait_ns = end_wait_ns;
  for (const OpDiff& op : diff.ops) {
    const OpDiff::Side& on = op.*side;
    totals.wait_ns += on.wait_ns;
    if (on.path_ns <= 0) continue;
    const bool launch = op.kind == WorkKind::kLaunch;
    ++(launch ? totals.launches : totals.copies);
    (launch ? totals.launch_ns : totals.copy_ns) += on.path_ns;
  }
  return totals;
}

// One reason: time of an op on the path, or waiting before it.
struct Reason {
  double change_ns = 0;
  std::string what, why;
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
    const std::string what = (op.copy ? "copy of " : "") + op.name;
    const double path = op.b.path_ns - op.a.path_ns, wait = op.b.wait_ns - op.a.wait_ns;
    if (longer ? path > 0 : path < 0) {
      reasons.push_back(
          {path, what, longer ? PathText(op, op.b, op.a, "B", "A") : PathText(op, op.a, op.b, "A", "B")});
    }
    if (longer ? wait > 0 : wait < 0) {
      reasons.push_back({wait, "waiting before " + what,
                         fmt::format("{}, {} in A", TimeText(op.b.wait_ns), TimeText(op.a.wait_ns))});
    }
  }
  const double end = diff.end_wait_b_ns - diff.end_wait_a_ns;
  if (longer ? end > 0 : end < 0) {
    reasons.push_back(
        {end, "waiting at the beginning and end of the step",
         fmt::format("{}, {} in A", TimeText(diff.end_wait_b_ns), TimeText(diff.end_wait_a_ns))});
  }
  std::stable_sort(reasons.begin(), reasons.end(), [](const Reason& x, const Reason& y) {
    return std::abs(x.change_ns) > std::abs(y.change_ns);
  });
  return reasons;
}

void PrintPath(std::string_view name, const std::string& run, const PathTotals& totals) {
  Print("Critical path of {} ({}): {} of {} launches, {} of {} copies, {} of waiting\n", name, run,
        TimeText(totals.launch_ns), totals.launches, TimeText(totals.copy_ns), totals.copies,
        TimeText(totals.wait_ns));
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

Json PathJson(const PathTotals& totals) {
  return {{"launches", totals.launches},
          {"copies", totals.copies},
          {"launch_ns", std::llround(totals.launch_ns)},
          {"copy_ns", std::llround(totals.copy_ns)},
          {"wait_ns", std::llround(totals.wait_ns)}};
}

Json ReasonsJson(const std::vector<Reason>& reasons) {
  Json list = Json::array();
  for (const Reason& reason : reasons) {
    list.push_back(
        {{"change_ns", std::llround(reason.change_ns)}, {"text", reason.what + ": " + reason.why}});
  }
  return list;
}

void Explain(const ExplainOptions& options, const RunDiff& diff, const std::string& name_a,
             const std::string& name_b) {
  const PathTotals a = TotalsOf(diff, &OpDiff::a, diff.end_wait_a_ns);
  const PathTotals b = TotalsOf(diff, &OpDiff::b, diff.end_wait_b_ns);
  const std::vector<Reason> longer = ReasonsOf(diff, true), shorter = ReasonsOf(diff, false);
  if (options.as_json) {
    const Json result = {{"verdict", DiffVerdict(diff)},
                         {"path_a", PathJson(a)},
                         {"path_b", PathJson(b)},
                         {"longer", ReasonsJson(longer)},
                         {"shorter", ReasonsJson(shorter)}};
    PrintJson(result.dump(2, ' ', false, Json::error_handler_t::replace));
    return;
  }
  Print("{}\n\n", DiffVerdict(diff));
  PrintPath("A", name_a, a);
  PrintPath("B", name_b, b);
  PrintReasons("Longer on the path of B", longer, options.top);
  PrintReasons("Shorter on the path of B", shorter, options.top);
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
  std::string changes;
  for (const std::string& change : options.set) changes += (changes.empty() ? "" : ", ") + change;
  Explain(options, DiffRuns(before, after), fmt::format("{}, replayed", run.path), "with " + changes);
}

void ExplainRuns(const ExplainOptions& options) {
  if (!options.set.empty()) return ExplainChanges(options);
  if (options.runs.size() < 2)
    Throw(Code::kInvalidArgument,
          "give two runs, TRACE A B or FILE[:RUN] FILE[:RUN], or one trace with --set");
  const RunPair pair = ParseRunPair(options.runs);
  const ProfiledRun run_a = ReadProfile(pair.a, options.step), run_b = ReadProfile(pair.b, options.step);
  Explain(options, DiffRuns(run_a.profile, run_b.profile), Describe(pair.a, run_a.info),
          Describe(pair.b, run_b.info));
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
  command->add_option("--step", options->step, "Only this step; else the mean of the middle half of all")
      ->check(CLI::Range(0, 1'000'000'000));
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
