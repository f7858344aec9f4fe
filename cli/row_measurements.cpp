#include "cli/row_measurements.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/interrupt.h"
#include "cli/print.h"
#include "cli/report.h"
#include "core/error.h"

namespace lanescope::cli {

void Guard(ComparisonRow* row, const std::function<void()>& function) {
  if (row->failed.has_value()) return;
  try {
    function();
  } catch (const Error& error) {
    if (error.code() == Code::kCancelled) throw;
    row->failed = Failure{std::string(CodeName(error.code())), error.message()};
    PrintNote("{}: {}\n", row->label(), OneLine(error.what()));
  }
}

void RowMeasurements::Start(TraceWriter* writer, double copy_cores, int warmup_steps) {
  runs_.resize(rows_.size());
  for (size_t i = 0; i < rows_.size(); ++i) {
    Guard(&rows_[i], [&] {
      RecordedRunOptions options;
      options.keep_events = true;
      options.copy_cores = copy_cores;
      runs_[i].run = std::make_unique<RecordedRun>(rows_[i].placed, machine_, writer, options);
      runs_[i].run->WarmUp(warmup_steps);
    });
  }
}

void RowMeasurements::RunRounds(int rounds, int steps) {
  for (int round = 0; round < rounds; ++round) {
    PrintNote("round {} of {}: {} steps of each of {} rows\n", round + 1, rounds, steps, runs_.size());
    for (size_t i = 0; i < runs_.size(); ++i) {
      Row& row = runs_[i];
      if (row.run == nullptr) continue;
      Guard(&rows_[i], [&] {
        row.run->WarmUp(1);
        const auto before = static_cast<int>(row.run->step_ns().size());
        if (!row.run->RunSteps(steps)) ThrowIfInterrupted();
        row.round_medians.push_back(MedianStep(i, {before, before + steps}));
      });
    }
  }
}

void RowMeasurements::Finish(const std::string& error) {
  for (size_t i = 0; i < runs_.size(); ++i) {
    if (runs_[i].run == nullptr) continue;
    const auto& failed = rows_[i].failed;
    runs_[i].run->Finish(failed.has_value() ? failed->code + ": " + failed->message : error);
  }
}

double RowMeasurements::Noise(size_t row, double median) const {
  double noise = 0;
  for (const double round : runs_[row].round_medians)
    noise = std::max(noise, std::abs(round - median) / median);
  return noise;
}

double RowMeasurements::MedianStep(size_t row, StepRange range) const {
  const std::vector<int64_t>& all = runs_[row].run->step_ns();
  return Median(std::vector<double>(all.begin() + range.first, all.begin() + range.end));
}

std::vector<StepRange> RepeatRanges(int rounds, int steps, int repeats) {
  const int count = std::min(rounds, repeats);
  std::vector<StepRange> ranges;
  for (int r = 0; r < count; ++r)
    ranges.push_back({rounds * r / count * steps, rounds * (r + 1) / count * steps});
  return ranges;
}

int64_t MeasuredCriticalPath(const RecordedRun& run, const Machine& machine, const GapModel& gaps,
                             double median) {
  const auto steps = GroupSteps(run.schedule(), run.events(), 0);
  const auto distance = [&](const MeasuredStep& step) {
    return std::abs(static_cast<double>(step.end_ns - step.start_ns) - median);
  };
  const auto middle = std::min_element(
      steps.begin(), steps.end(), [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
  if (middle == steps.end()) return 0;
  const SimulationResult result = AsSimulation(run.schedule(), *middle);
  const CriticalPath path = FindCriticalPath(run.schedule(), machine, result, gaps);
  return path.launch_ns + path.copy_ns;
}

}  // namespace lanescope::cli
