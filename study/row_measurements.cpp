#include "study/row_measurements.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/statistics.h"

namespace lanescope::study {
namespace {

constexpr int64_t kReferenceNs = 10'000'000;

bool AnyCounts(std::vector<char>::const_iterator first, int steps) {
  return std::find(first, first + steps, 1) != first + steps;
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

void RowMeasurements::Start(traces::TraceWriter* writer, const RecordedRunOptions& options,
                            int warmup_steps) {
  note_ = options.note;
  if (options.watch_others) meter_.emplace();
  runs_.resize(rows_.size());
  for (size_t i = 0; i < rows_.size(); ++i) {
    Guard(&rows_[i], note_, [&] {
      runs_[i].run = std::make_unique<RecordedRun>(rows_[i].placed, machine_, writer, options);
      runs_[i].run->WarmUp(warmup_steps);
    });
  }
}

void RowMeasurements::RunRound(int steps) {
  ++rounds_;
  for (size_t i = 0; i < runs_.size(); ++i) {
    if (runs_[i].run != nullptr) Guard(&rows_[i], note_, [&] { RunSlot(i, steps); });
  }
  if (meter_.has_value()) JudgeRounds();
}

// Of the first row. 0 when it cannot run.
int64_t RowMeasurements::ReferenceStep() {
  int64_t ns = 0;
  if (runs_.front().run != nullptr)
    Guard(&rows_.front(), note_, [&] { ns = runs_.front().run->QuickestStep(kReferenceNs); });
  return ns;
}

void RowMeasurements::RunSlot(size_t row, int steps) {
  RoundSlot slot;
  if (meter_.has_value()) slot.reference_before_ns = ReferenceStep();
  if (!slots_.empty()) slots_.back().measured.reference_after_ns = slot.reference_before_ns;
  if (rows_[row].failed.has_value()) return;  // as the reference
  runs_[row].run->WarmUp(1);
  runs_[row].run->RunSteps(steps);
  if (!meter_.has_value()) return;
  slot.taken = meter_->Take();
  slots_.push_back({row, slot});
}

void RowMeasurements::JudgeRounds() {
  if (!slots_.empty()) slots_.back().measured.reference_after_ns = ReferenceStep();
  std::vector<RoundSlot> measured;
  for (const Slot& slot : slots_) measured.push_back(slot.measured);
  const std::vector<Disturber> by = JudgeSlots(measured);
  for (Row& row : runs_) row.disturbers.clear();
  for (size_t i = 0; i < slots_.size(); ++i) runs_[slots_[i].row].disturbers.push_back(by[i]);
  for (size_t i = 0; i < runs_.size(); ++i) {
    Row& row = runs_[i];
    if (row.run == nullptr) continue;
    std::vector<char> left_out;
    for (const Disturber disturber : row.disturbers) left_out.push_back(disturber != Disturber::kNobody);
    row.run->LeaveOut(std::move(left_out));
    const std::vector<char> counts = row.run->Undisturbed();
    row.quiet_rounds = 0;
    for (int round = 0; round < complete_rounds(i); ++round)
      row.quiet_rounds += AnyCounts(counts.begin() + static_cast<std::ptrdiff_t>(round) * steps_, steps_);
  }
}

void RowMeasurements::RunRounds(int rounds, int steps) {
  wanted_rounds_ = rounds;
  steps_ = steps;
  const auto quiet = [&] {
    return std::all_of(runs_.begin(), runs_.end(), [&](const Row& row) {
      return row.run == nullptr || 3 * row.quiet_rounds >= 2 * rounds;
    });
  };
  constexpr int64_t kNsBetweenNotes = 5'000'000'000;
  int64_t told_ns = NowNs() - kNsBetweenNotes;
  for (int round = 0; round < rounds || (round < 2 * rounds && !quiet()); ++round) {
    if (round == rounds) Tell(note_, "too many rounds were disturbed: up to as many again are run");
    if (round == rounds || NowNs() - told_ns >= kNsBetweenNotes) {
      told_ns = NowNs();
      Tell(note_, fmt::format("round {} of {}: {} steps of each of {} rows", round + 1,
                              round < rounds ? rounds : 2 * rounds, steps, runs_.size()));
    }
    RunRound(steps);
  }
}

void RowMeasurements::Finish(const std::string& error) {
  for (size_t i = 0; i < runs_.size(); ++i) {
    if (runs_[i].run == nullptr) continue;
    const auto& failed = rows_[i].failed;
    runs_[i].run->Finish(failed.has_value() ? failed->code + ": " + failed->message : error);
  }
}

int RowMeasurements::complete_rounds(size_t row) const {
  return steps_ == 0 ? 0 : static_cast<int>(runs_[row].run->step_ns().size()) / steps_;
}

std::vector<char> RowMeasurements::CountedSteps(size_t row, RoundRange rounds) const {
  std::vector<char> counts = runs_[row].run->Undisturbed();
  const auto at = [&](int round) {
    return counts.begin() + static_cast<std::ptrdiff_t>(std::min(round, complete_rounds(row))) * steps_;
  };
  std::fill(counts.begin(), at(rounds.first), char{0});
  std::fill(at(rounds.end), counts.end(), char{0});
  if (std::find(counts.begin(), counts.end(), 1) == counts.end())
    std::fill(at(rounds.first), at(rounds.end), char{1});
  return counts;
}

double RowMeasurements::MedianStep(size_t row, RoundRange rounds) const {
  const std::vector<int64_t>& all = runs_[row].run->step_ns();
  const std::vector<char> counts = CountedSteps(row, rounds);
  std::vector<double> counted;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] != 0) counted.push_back(static_cast<double>(all[i]));
  }
  return counted.empty() ? 0 : Median(std::move(counted));
}

double RowMeasurements::Noise(size_t row, double median) const {
  double noise = 0;
  const std::vector<char> counts = CountedSteps(row);
  for (int round = 0; round < complete_rounds(row); ++round) {
    const auto first = counts.begin() + static_cast<std::ptrdiff_t>(round) * steps_;
    if (!AnyCounts(first, steps_)) continue;
    noise = std::max(noise, std::abs(MedianStep(row, {round, round + 1}) - median) / median);
  }
  return noise;
}

void RowMeasurements::Describe(size_t row, MeasuredRow* measured) const {
  const std::vector<Disturbance>& steps = runs_[row].run->disturbances();
  for (const Disturbance& step : steps) measured->disturbance += step;
  const std::vector<char> counts = runs_[row].run->Undisturbed();
  measured->steps = static_cast<int>(steps.size());
  measured->disturbed_steps = static_cast<int>(std::count(counts.begin(), counts.end(), 0));
  for (const Disturber disturber : runs_[row].disturbers) {
    if (disturber == Disturber::kSpeed) measured->other_speed_steps += steps_;
  }
  measured->quiet = 3 * runs_[row].quiet_rounds >= wanted_rounds_;
}

}  // namespace lanescope::study
