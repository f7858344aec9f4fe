#include "gui/comparison_model.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>

#include "core/error.h"
#include "gui/draw_plan.h"
#include "gui/trace_of_run.h"
#include "traces/run_diff.h"

namespace lanescope::gui {
namespace {

// Sums over one run of what belongs to an op.
struct OpSums {
  double launches = 0, launch_ns = 0, copy_ns = 0;
  std::set<std::string> devices;
};

std::vector<OpSums> SumOps(const RunData& run, const std::atomic<bool>& cancelled) {
  std::vector<OpSums> sums(run.ops.size());
  for (const Lane& lane : run.lanes) {
    const bool copies = lane.role == LaneRole::kCopyIn || lane.role == LaneRole::kCopyOut;
    if (!copies && lane.role != LaneRole::kCompute) continue;
    if (cancelled.load(std::memory_order_relaxed)) break;
    std::vector<char> here(run.ops.size(), 0);
    for (size_t i = 0; i < lane.size(); ++i) {
      if (lane.op[i] < 0) continue;
      const auto op = static_cast<size_t>(lane.op[i]);
      const auto ns = static_cast<double>(lane.end_ns[i] - lane.start_ns[i]);
      if (copies) {
        sums[op].copy_ns += ns;
        continue;
      }
      sums[op].launch_ns += ns;
      ++sums[op].launches;
      here[op] = 1;
    }
    for (size_t op = 0; op < here.size(); ++op) {
      if (here[op] && lane.device >= 0)
        sums[op].devices.insert(run.devices[static_cast<size_t>(lane.device)].label);
    }
  }
  const double steps = run.steps.empty() ? 1 : static_cast<double>(run.steps.size());
  for (OpSums& sum : sums) {
    sum.launches /= steps;
    sum.launch_ns /= steps;
    sum.copy_ns /= steps;
  }
  return sums;
}

std::string Join(const std::set<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : " ") + part;
  return text;
}

void FillRows(const DiffRequest& request, const std::atomic<bool>& cancelled, RunDiff* diff) {
  const RunData &a = *request.a_run, &b = *request.b_run;
  const std::vector<OpSums> sums_a = SumOps(a, cancelled), sums_b = SumOps(b, cancelled);
  std::unordered_map<std::string_view, size_t> row_of;
  const auto ran = [](const OpSums& sum) { return sum.launches > 0 || sum.copy_ns > 0; };
  const auto row = [&](const OpEntry& op) -> DiffRow& {
    const auto [found, added] = row_of.try_emplace(op.name, diff->rows.size());
    if (added) {
      diff->rows.emplace_back();
      diff->rows.back().name = op.name;
      diff->rows.back().op = op.op;
    }
    return diff->rows[found->second];
  };
  for (size_t i = 0; i < sums_a.size(); ++i) {
    if (!ran(sums_a[i])) continue;
    DiffRow& to = row(a.ops[i]);
    if (to.a_op < 0) to.a_op = static_cast<int>(i);
    to.a_count += sums_a[i].launches;
    to.a_ns += sums_a[i].launch_ns;
    to.a_copy_ns += sums_a[i].copy_ns;
    to.a_devices = Join(sums_a[i].devices);
  }
  for (size_t i = 0; i < sums_b.size(); ++i) {
    if (!ran(sums_b[i])) continue;
    DiffRow& to = row(b.ops[i]);
    if (to.b_op < 0) to.b_op = static_cast<int>(i);
    to.b_count += sums_b[i].launches;
    to.b_ns += sums_b[i].launch_ns;
    to.b_copy_ns += sums_b[i].copy_ns;
    to.b_devices = Join(sums_b[i].devices);
  }
  for (DiffRow& done : diff->rows) {
    if (done.a_count <= 0 || done.b_count <= 0 || done.a_ns <= 0) continue;
    const double mean_a = done.a_ns / done.a_count, mean_b = done.b_ns / done.b_count;
    done.error = (mean_b - mean_a) / mean_a;
  }
  std::stable_sort(diff->rows.begin(), diff->rows.end(), [](const DiffRow& x, const DiffRow& y) {
    return std::abs(x.delta_ns()) > std::abs(y.delta_ns());
  });
}

StepParts PartsOf(const lanescope::StepParts& parts) {
  return {parts.compute_ns, parts.transfer_ns, parts.waiting_ns, parts.contention_ns};
}

// Which takes longer, and the part of the step that makes it so.
std::string Verdict(const DiffRequest& request, const RunDiff& diff) {
  const RunData &a = *request.a_run, &b = *request.b_run;
  if (a.step_ns <= 0 || b.step_ns <= 0) return "one of the runs has no activities";
  const double change = static_cast<double>(b.step_ns) / static_cast<double>(a.step_ns) - 1;
  std::string text = fmt::format("{} takes {} a step, {} takes {} ({})", a.title, TimeText(a.step_ns),
                                 b.title, TimeText(b.step_ns), PercentText(change));
  if (!diff.a_parts.has_value() || !diff.b_parts.has_value()) return text;
  const StepParts change_of = *diff.b_parts - *diff.a_parts;
  const std::pair<double, const char*> parts[] = {{change_of.compute_ns, "compute"},
                                                  {change_of.transfer_ns, "transfer"},
                                                  {change_of.waiting_ns, "waiting"},
                                                  {change_of.contention_ns, "contention"}};
  // The part that did most for the change, and what worked against it.
  const auto [least, most] = std::minmax_element(std::begin(parts), std::end(parts));
  const bool longer = b.step_ns >= a.step_ns;
  const auto &lead = longer ? *most : *least, &other = longer ? *least : *most;
  constexpr double kWorthTelling = 0.2;
  const auto tell = [&](const char* glue, const std::pair<double, const char*>& part) {
    text += fmt::format("{}{} {} {}", glue, part.second, part.first > 0 ? "adds" : "saves",
                        TimeText(std::llround(std::abs(part.first))));
  };
  if (longer ? lead.first <= 0 : lead.first >= 0) return text;
  tell("; ", lead);
  if (lead.first * other.first < 0 && std::abs(other.first) > kWorthTelling * std::abs(lead.first))
    tell(", ", other);
  return text;
}

bool IsPrediction(const RunData& run) {
  return run.kind == RunKind::kSimulated || run.kind == RunKind::kWhatIf;
}

}  // namespace

StepParts operator-(const StepParts& a, const StepParts& b) {
  return {a.compute_ns - b.compute_ns, a.transfer_ns - b.transfer_ns, a.waiting_ns - b.waiting_ns,
          a.contention_ns - b.contention_ns};
}

RunDiff ComputeDiff(const DiffRequest& request, const std::atomic<bool>& cancelled) {
  RunDiff diff;
  diff.a = request.a;
  diff.b = request.b;
  const RunData &a = *request.a_run, &b = *request.b_run;
  diff.a_step_ns = a.step_ns;
  diff.b_step_ns = b.step_ns;
  diff.measured_against_predicted =
      !IsPrediction(a) && IsPrediction(b) && a.graph == b.graph && a.strategy == b.strategy;
  FillRows(request, cancelled, &diff);
  if (cancelled.load(std::memory_order_relaxed)) return diff;
  if (a.commands.empty() || b.commands.empty()) {
    diff.parts_problem = "one of the runs does not say what waits for what, so the step times are not split";
  } else {
    try {
      const lanescope::RunDiff parts = DiffRuns(ProfileRun(TraceOfRun(a)), ProfileRun(TraceOfRun(b)));
      diff.a_parts = PartsOf(parts.parts_a);
      diff.b_parts = PartsOf(parts.parts_b);
    } catch (const Error& error) {
      diff.parts_problem = error.message();
    }
  }
  diff.verdict = Verdict(request, diff);
  return diff;
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

std::vector<uint8_t> ErrorKeys(const RunData& run, const RunDiff& diff, bool run_is_a) {
  std::vector<uint8_t> keys(run.ops.size(), static_cast<uint8_t>(kUnknownError));
  for (const DiffRow& row : diff.rows) {
    const int op = run_is_a ? row.a_op : row.b_op;
    if (op < 0 || static_cast<size_t>(op) >= keys.size() || !row.error.has_value()) continue;
    keys[static_cast<size_t>(op)] = static_cast<uint8_t>(std::clamp(100 + 100 * *row.error, 0.0, 200.0));
  }
  return keys;
}

std::vector<MemoryVerdict> MemoryVerdicts(const RunData& run) {
  constexpr double kTightShare = 0.9;
  std::vector<MemoryVerdict> verdicts;
  for (const RunDevice& device : run.devices) {
    MemoryVerdict verdict{device.label, device.peak_bytes, device.memory_limit,
                          MemoryVerdict::Answer::kUnknown, ""};
    const std::string peak = BytesText(device.peak_bytes), limit = BytesText(device.memory_limit);
    if (device.peak_bytes <= 0) {
      verdict.text = device.label + ": the trace does not say how much memory it used";
    } else if (device.memory_limit <= 0) {
      verdict.text = fmt::format("{}: {}, limit unknown", device.label, peak);
    } else if (device.peak_bytes > device.memory_limit) {
      verdict.answer = MemoryVerdict::Answer::kTooLarge;
      verdict.text = fmt::format("{}: {} of {}, {} too much", device.label, peak, limit,
                                 BytesText(device.peak_bytes - device.memory_limit));
    } else {
      const bool tight =
          static_cast<double>(device.peak_bytes) > kTightShare * static_cast<double>(device.memory_limit);
      verdict.answer = tight ? MemoryVerdict::Answer::kTight : MemoryVerdict::Answer::kFits;
      verdict.text = fmt::format("{}: {} of {}, {} free", device.label, peak, limit,
                                 BytesText(device.memory_limit - device.peak_bytes));
    }
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

}  // namespace lanescope::gui
