// SPDX-License-Identifier: Apache-2.0
#include "gui/model/comparison_model.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/units.h"
#include "core/machine/machine.h"
#include "gui/model/draw_plan.h"
#include "gui/model/run_analysis.h"
#include "traces/read/trace_reader.h"
#include "traces/read/trace_view.h"
#include "traces/report/operator_identity.h"

namespace lanescope::gui {
namespace {

bool IsPrediction(const RunData& run) {
  return run.kind == RunKind::kSimulated || run.kind == RunKind::kWhatIf;
}

// As the files have them: kernels under the names of their operators.
std::pair<RunProfile, RunProfile> ByOperators(const RunData& a, const RunData& b,
                                              const std::atomic<bool>& cancelled) {
  const auto read = [](const RunData& run) { return traces::TraceReader(run.file).ReadRun(run.id); };
  traces::TraceRun run_a = read(a), run_b = read(b);
  traces::NameByOperators(&run_a, &run_b);
  const auto profile = [&](const traces::TraceRun& run) {
    return ProfileRun(traces::ViewOfRun(run), -1, &cancelled, kMaxStepItems);
  };
  return {profile(run_a), profile(run_b)};
}

}  // namespace

ShownDiff ComputeDiff(const DiffRequest& request, const std::atomic<bool>& cancelled) {
  const RunData &a = *request.a_run, &b = *request.b_run;
  ShownDiff shown;
  shown.a = request.a;
  shown.b = request.b;
  shown.measured_against_predicted = !IsPrediction(a) && IsPrediction(b) && !a.graph.empty() &&
                                     a.graph == b.graph && a.strategy == b.strategy;
  try {
    const auto profile = [&](const RunData& run) {
      return ProfileRun(ViewOf(run), -1, &cancelled, kMaxStepItems);
    };
    const bool by_operators = a.foreign && b.foreign && !a.file.empty() && !b.file.empty();
    const RunProfile profile_a = profile(a), profile_b = profile(b);
    shown.diff =
        by_operators
            ? traces::MatchRuns(profile_a, profile_b, [&] { return ByOperators(a, b, cancelled); }).diff
            : DiffRuns(profile_a, profile_b);
    // As the list of runs has them: a prediction's interval is not in its steps.
    shown.diff.range_a = a.range();
    shown.diff.range_b = b.range();
    shown.verdict = DiffVerdict(shown.diff, a.title, b.title);
  } catch (const Error& error) {
    shown.problem = error.message();
  }
  return shown;
}

std::pair<RunKey, RunKey> RunsToCompare(const Timeline& timeline, const DiffChoice& choice) {
  if (timeline.runs().size() < 2) return {0, 0};
  std::vector<RunKey> candidates;  // shown ones first
  for (const bool hidden : {false, true}) {
    for (const ShownRun& run : timeline.runs()) {
      if (choice.hidden.contains(run.key) == hidden) candidates.push_back(run.key);
    }
  }
  const auto is_shown = [&](RunKey key) {
    return timeline.Find(key) != nullptr && !choice.hidden.contains(key);
  };
  const bool has_a = timeline.Find(choice.a) != nullptr, has_b = timeline.Find(choice.b) != nullptr;
  RunKey a = has_a ? choice.a : is_shown(timeline.baseline()) ? timeline.baseline() : candidates.front();
  if (!has_a && has_b && a == choice.b) a = candidates[candidates.front() == a ? 1 : 0];
  RunKey b = has_b ? choice.b : is_shown(choice.selected) ? choice.selected : candidates.front();
  if (b == a) b = candidates[candidates.front() == a ? 1 : 0];
  return {a, b};
}

RunKey CounterpartOf(const Timeline& timeline, RunKey key) {
  const ShownRun* run = timeline.Find(key);
  if (run == nullptr) return 0;
  RunKey best = 0;
  for (const ShownRun& other : timeline.runs()) {
    const bool same_step =
        other.data->graph == run->data->graph && other.data->strategy == run->data->strategy;
    if (!same_step || IsPrediction(*other.data) == IsPrediction(*run->data) || run->data->graph.empty())
      continue;
    if (other.data->file == run->data->file) return other.key;
    if (best == 0) best = other.key;
  }
  return best;
}

std::vector<uint8_t> ErrorKeys(const RunData& run, const ShownDiff& diff) {
  std::vector<uint8_t> keys(run.ops.size(), static_cast<uint8_t>(kUnknownError));
  for (const OpDiff& row : diff.diff.ops) {
    const std::optional<double> error = row.LengthChange();
    const int op = run.FindOp(row.op);
    if (row.kind != WorkKind::kLaunch || op < 0 || !error) continue;
    keys[static_cast<size_t>(op)] = static_cast<uint8_t>(std::clamp(100 + 100 * *error, 0.0, 200.0));
  }
  return keys;
}

std::vector<MemoryVerdict> MemoryVerdicts(const RunData& run) {
  constexpr double kTightShare = 0.9;
  std::vector<MemoryVerdict> verdicts;
  for (const RunDevice& device : run.devices) {
    MemoryVerdict verdict{device.label, device.peak_bytes, device.memory_limit,
                          MemoryVerdict::Answer::kUnknown, ""};
    const std::string peak = FormatBytes(device.peak_bytes), limit = FormatBytes(device.memory_limit);
    if (device.peak_bytes <= 0) {
      verdict.text = device.label + ": the trace does not say how much memory it used";
    } else if (device.memory_limit <= 0) {
      verdict.text = fmt::format("{}: {}, limit unknown", device.label, peak);
    } else if (device.peak_bytes > device.memory_limit) {
      verdict.answer = MemoryVerdict::Answer::kTooLarge;
      verdict.text = fmt::format("{}: {} of {}, {} too much", device.label, peak, limit,
                                 FormatBytes(device.peak_bytes - device.memory_limit));
    } else {
      const bool tight =
          static_cast<double>(device.peak_bytes) > kTightShare * static_cast<double>(device.memory_limit);
      verdict.answer = tight ? MemoryVerdict::Answer::kTight : MemoryVerdict::Answer::kFits;
      verdict.text = fmt::format("{}: {} of {}, {} free", device.label, peak, limit,
                                 FormatBytes(device.memory_limit - device.peak_bytes));
    }
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

}  // namespace lanescope::gui
