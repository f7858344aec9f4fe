#include "study/row_measurements.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "sims/critical_path.h"
#include "sims/measured_steps.h"
#include "sims/simulator.h"

namespace lanescope::study {
namespace {

// A measured step in the form of a simulated one, with what each command waited for.
SimulationResult AsSimulation(const Schedule& schedule, const MeasuredStep& step) {
  SimulationResult result;
  result.step_ns = step.end_ns - step.start_ns;
  result.times.resize(schedule.commands.size());
  const Predecessors before = PredecessorsOf(schedule);
  std::vector<int> by_start(schedule.commands.size());
  for (size_t c = 0; c < by_start.size(); ++c) by_start[c] = static_cast<int>(c);
  std::sort(by_start.begin(), by_start.end(), [&](int a, int b) {
    return step.command_start_ns[static_cast<size_t>(a)] < step.command_start_ns[static_cast<size_t>(b)];
  });
  std::vector<int> last_on_queue(schedule.queues.size(), -1);
  for (const int c : by_start) {
    const auto i = static_cast<size_t>(c);
    CommandTime& time = result.times[i];
    time.start_ns = step.command_start_ns[i] - step.start_ns;
    time.end_ns = step.command_end_ns[i] - step.start_ns;
    int& last = last_on_queue[static_cast<size_t>(schedule.commands[i].queue)];
    time.previous = last;
    last = c;
    for (const int p : before.of(c)) {
      const auto end = [&](int command) { return step.command_end_ns[static_cast<size_t>(command)]; };
      if (time.released < 0 || end(p) > end(time.released)) time.released = p;
    }
  }
  return result;
}

}  // namespace

void Guard(ComparisonRow* row, const Notes& note, const std::function<void()>& function) {
  if (row->failed.has_value()) return;
  try {
    function();
  } catch (const Error& error) {
    if (error.code() == Code::kCancelled) throw;
    row->failed = Failure{std::string(CodeName(error.code())), error.message()};
    Tell(note, row->label() + ": " + error.what());
  }
}

void RowMeasurements::Start(TraceWriter* writer, const RecordedRunOptions& options, int warmup_steps) {
  note_ = options.note;
  runs_.resize(rows_.size());
  for (size_t i = 0; i < rows_.size(); ++i) {
    Guard(&rows_[i], note_, [&] {
      runs_[i].run = std::make_unique<RecordedRun>(rows_[i].placed, machine_, writer, options);
      runs_[i].run->WarmUp(warmup_steps);
    });
  }
}

void RowMeasurements::RunRounds(int rounds, int steps) {
  for (int round = 0; round < rounds; ++round) {
    Tell(note_,
         fmt::format("round {} of {}: {} steps of each of {} rows", round + 1, rounds, steps, runs_.size()));
    for (size_t i = 0; i < runs_.size(); ++i) {
      Row& row = runs_[i];
      if (row.run == nullptr) continue;
      Guard(&rows_[i], note_, [&] {
        row.run->WarmUp(1);
        const auto before = static_cast<int>(row.run->step_ns().size());
        row.run->RunSteps(steps);
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
  const auto steps = GroupSteps(*run.schedule(), run.events(), 0);
  const auto distance = [&](const MeasuredStep& step) {
    return std::abs(static_cast<double>(step.end_ns - step.start_ns) - median);
  };
  const auto middle = std::min_element(
      steps.begin(), steps.end(), [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
  if (middle == steps.end()) return 0;
  const SimulationResult result = AsSimulation(*run.schedule(), *middle);
  const CriticalPath path = FindCriticalPath(*run.schedule(), machine, result, gaps);
  return path.launch_ns + path.copy_ns;
}

}  // namespace lanescope::study
