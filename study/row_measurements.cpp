#include "study/row_measurements.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace lanescope::study {
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

}  // namespace lanescope::study
