// SPDX-License-Identifier: Apache-2.0
#include "cli/run_pair.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "cli/print.h"
#include "cli/trace_files.h"
#include "core/base/error.h"
#include "core/base/units.h"
#include "traces/read/trace_view.h"
#include "traces/report/profiler_share.h"
#include "traces/report/program_places.h"

namespace lanescope::cli {
namespace {

// From here on steps may take as much longer as what is compared.
constexpr double kNotableShare = 0.05;

void NoteProfilerShare(const std::string& path, const traces::ProfilerShare& found) {
  if (found.share() < kNotableShare) return;
  PrintNote(
      "{}: profiling itself took {:.0f}% of the time of its steps ({} of {}); without it they are shorter\n",
      path, 100 * found.share(), TimeText(static_cast<double>(found.taken_ns)),
      TimeText(static_cast<double>(found.window_ns)));
}

// From the first step to the last.
Interval WindowOf(const RunView& view) {
  Interval window{INT64_MAX, INT64_MIN};
  for (const RunView::Step& step : view.steps) {
    window.start = std::min(window.start, step.start_ns);
    window.end = std::max(window.end, step.end_ns);
  }
  return window;
}

constexpr int kMaxRun = 65535;

// -1: no run number.
int ParseRun(std::string_view text) {
  int run = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), run);
  return error == std::errc() && end == text.data() + text.size() && run >= 1 && run <= kMaxRun ? run : -1;
}

int OnlyRunOf(const std::string& path) {
  const std::vector<traces::TraceRunInfo> runs = traces::TraceReader(AsTrace(path)).Runs();
  if (runs.size() == 1) return runs.front().id;
  if (runs.empty()) Throw(Code::kNotFound, "{} holds no run", path);
  std::string known;
  for (const traces::TraceRunInfo& run : runs)
    known += fmt::format("{}{}", known.empty() ? "" : ", ", run.id);
  Throw(Code::kInvalidArgument, "{} holds runs {}; say which, as in {}:{}", path, known, path,
        runs.back().id);
}

}  // namespace

RunReference ParseRunChoice(const std::string& text, int run) {
  const size_t colon = text.rfind(':');
  std::error_code error;
  const bool may_name = colon != std::string::npos && !std::filesystem::exists(text, error);
  const int named = may_name ? ParseRun(std::string_view(text).substr(colon + 1)) : -1;
  if (named < 0) return {text, run};
  if (run > 0 && run != named)
    Throw(Code::kInvalidArgument, "'{}' is run {}, --run says {}; give one of them", text, named, run);
  return {text.substr(0, colon), named};
}

RunReference ParseRunReference(const std::string& text, int run) {
  const RunReference choice = ParseRunChoice(text, run);
  return choice.run > 0 ? choice : RunReference{text, OnlyRunOf(text)};
}

RunPair ParseRunPair(const std::vector<std::string>& arguments) {
  if (arguments.size() == 2) return {ParseRunReference(arguments[0]), ParseRunReference(arguments[1])};
  const int a = ParseRun(arguments.at(1)), b = ParseRun(arguments.at(2));
  if (a < 0 || b < 0) {
    Throw(Code::kInvalidArgument, "'{}' is no run number; give FILE A B, or FILE:A FILE:B",
          a < 0 ? arguments[1] : arguments[2]);
  }
  return {{arguments[0], a}, {arguments[0], b}};
}

ProfiledRun ReadProfile(const RunReference& reference, int step, bool origins) {
  traces::TraceReader reader(AsTrace(reference.path));
  const auto whole = [&](const RunView& view) -> RunProfile {
    if (view.lanes.empty() && !reader.is_ours()) {
      Throw(Code::kFailedPrecondition,
            "run {} of {} has nothing that ran on a device, and ranges of hosts are not compared; see "
            "`lanescope summary {}` for what it has",
            reference.run, reference.path, reference.path);
    }
    NoteProfilerShare(reference.path, traces::FindProfilerShare(reader, reference.run, WindowOf(view)));
    return ProfileRun(view, step);
  };
  traces::TraceRun run;
  if (origins) {
    run = reader.ReadRun(reference.run);
    RunProfile profile = whole(traces::ViewOfRun(run));
    return {run.info, std::move(profile), traces::LaunchOrigins(run)};
  }
  const RunView view = traces::StreamView(reader, reference.run, &run);
  RunProfile profile = whole(view);
  return {run.info, std::move(profile), {}};
}

namespace {

// Both are read whole, for what names them.
std::pair<traces::TraceRun, traces::TraceRun> ReadByOperators(const RunPair& pair) {
  const auto read = [](const RunReference& of) {
    return traces::TraceReader(AsTrace(of.path)).ReadRun(of.run);
  };
  std::pair runs(read(pair.a), read(pair.b));
  traces::NameByOperators(&runs.first, &runs.second);
  return runs;
}

}  // namespace

traces::MatchedRuns MatchRuns(const RunPair& pair, ProfiledRun* a, ProfiledRun* b, int step, bool origins) {
  std::pair<traces::LaunchOrigins, traces::LaunchOrigins> renamed;
  traces::MatchedRuns matched = traces::MatchRuns(a->profile, b->profile, [&] {
    const auto [run_a, run_b] = ReadByOperators(pair);
    if (origins) renamed = {traces::LaunchOrigins(run_a), traces::LaunchOrigins(run_b)};
    return std::pair(ProfileRun(traces::ViewOfRun(run_a), step), ProfileRun(traces::ViewOfRun(run_b), step));
  });
  if (origins && matched.by_operators) {
    a->origins = std::move(renamed.first);
    b->origins = std::move(renamed.second);
  }
  return matched;
}

traces::MatchedRuns MatchByOperators(const RunPair& pair, const RunProfile& a, const RunProfile& b,
                                     int step) {
  return traces::MatchByOperators(a, b, [&] {
    const auto [run_a, run_b] = ReadByOperators(pair);
    return std::pair(ProfileRun(traces::ViewOfRun(run_a), step), ProfileRun(traces::ViewOfRun(run_b), step));
  });
}

RunDiff DiffByModules(const RunPair& pair, int step) {
  const auto profile = [step](const RunReference& of) {
    traces::TraceRun run = traces::TraceReader(AsTrace(of.path)).ReadRun(of.run);
    traces::PutIntoPlaces(traces::ProgramPlace::kModule, &run);
    return ProfileRun(traces::ViewOfRun(run), step);
  };
  return DiffRuns(profile(pair.a), profile(pair.b), true);
}

void PrintMatched(const traces::MatchedRuns& matched) {
  if (matched.by_operators) {
    return Print(
        "\nMatched: {} of the time, by the operators that launched the kernels; by the names of kernels "
        "{}.\n",
        PercentText(matched.share, 0), PercentText(matched.share_of_kernels, 0));
  }
  if (matched.of_kernels && matched.share < 1)
    Print("\nMatched: {} of the time.\n", PercentText(matched.share, 0));
}

std::string MatchedBy(const traces::MatchedRuns& matched) {
  return matched.by_operators ? "operator" : matched.of_kernels ? "kernel" : "op";
}

std::string Describe(const RunReference& reference, const traces::TraceRunInfo& info) {
  std::string text = fmt::format("run {} of {}", reference.run, reference.path);
  if (!info.graph.empty()) text += ": " + info.graph;
  if (!info.strategy.empty()) text += " " + info.strategy;
  text += fmt::format(", {}", traces::OriginOfTimes(info));
  return text + (info.complete ? "" : ", incomplete");
}

}  // namespace lanescope::cli
