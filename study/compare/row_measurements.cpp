// SPDX-License-Identifier: Apache-2.0
#include "study/compare/row_measurements.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/statistics.h"
#include "core/machine/tasks.h"
#include "exec/messages/transport.h"
#include "study/job/job.h"
#include "study/measure/run_capture.h"
#include "study/workload/input_pipeline.h"
#include "traces/record/trace_writer.h"

namespace lanescope::study {
namespace {

constexpr size_t kFirstSpeeds = 20;  // that tell the usual one to begin with
constexpr std::chrono::milliseconds kBetweenSpeeds{5};
constexpr int64_t kLongestWaitNs = 300'000'000;

bool AnyCounts(std::vector<char>::const_iterator first, int steps) {
  return std::find(first, first + steps, 1) != first + steps;
}

// Which fetch of a step says how good the model is: the configured loss, else the only float; -1: none.
int LossFetch(const Workload& workload) {
  int only = -1, floats = 0;
  for (size_t i = 0; i < workload.spec().fetches.size(); ++i) {
    const Endpoint fetch = workload.graph().FindEndpoint(workload.spec().fetches[i]);
    const TensorInfo& info = workload.info().of(fetch);
    if (info.dtype != DataType::kFloat || !(info.shape == Shape{})) continue;
    if (!workload.spec().loss.empty() && workload.graph().FindEndpoint(workload.spec().loss) == fetch)
      return static_cast<int>(i);
    only = static_cast<int>(i);
    ++floats;
  }
  return floats == 1 ? only : -1;
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
  RecordedRunOptions watched = options;
  if (options.watch_others) {
    watched.core_speeds = &core_speeds_.emplace();
    watched.gpu_clocks = &gpu_clocks_.emplace(job_.SeenHere(machine_));
    meter_.emplace(job_.neighbours());
  }
  runs_.resize(rows_.size());
  for (size_t i = 0; i < rows_.size(); ++i) {
    Try(i, [&] {
      runs_[i].run = std::make_unique<RecordedRun>(rows_[i].placed, machine_, writer, watched);
      if (const int loss = LossFetch(*rows_[i].placed.workload); loss >= 0) {
        runs_[i].run->on_step = [this, i, loss](int64_t, const std::vector<Tensor>& fetches) {
          const auto fetch = static_cast<size_t>(loss);
          if (fetch < fetches.size()) runs_[i].losses.push_back(*fetches[fetch].data<float>());
        };
      }
      runs_[i].run->WarmUp(warmup_steps);
    });
  }
  if (options.capture != nullptr) options.capture->BeginRecording();
}

void RowMeasurements::Try(size_t row, const std::function<void()>& function) {
  if (!job_.is_shared()) return Guard(&rows_[row], note_, function);
  if (!rows_[row].failed.has_value()) function();
}

void RowMeasurements::RunRound(int steps) {
  ++rounds_;
  for (size_t i = 0; i < runs_.size(); ++i) {
    if (runs_[i].run != nullptr) Try(i, [&] { RunSlot(i, steps); });
  }
  if (meter_.has_value()) JudgeRounds();
}

// By all that is known so far. Gives up soon: a disturbance may last for minutes.
void RowMeasurements::WaitForUsualSpeed() {
  const int64_t until = NowNs() + kLongestWaitNs;
  while (true) {
    speeds_.push_back(core_speeds_->Take());
    if (speeds_.size() < kFirstSpeeds) {
      std::this_thread::sleep_for(kBetweenSpeeds);
      continue;
    }
    if (speeds_.size() == kFirstSpeeds) usual_speed_ = UsualSpeed(speeds_, kSameCoreSpeed);
    if (usual_speed_.Holds(speeds_.back()) || NowNs() >= until) return;
    std::this_thread::sleep_for(kBetweenSpeeds);
  }
}

void RowMeasurements::RunSlot(size_t row, int steps) {
  if (core_speeds_.has_value()) WaitForUsualSpeed();
  job_.StartTogether();
  // Its input went on while others ran.
  runs_[row].run->WarmUp(1 + StoredSteps(*rows_[row].placed.workload));
  runs_[row].run->RunSteps(steps);
  if (meter_.has_value()) slots_.push_back({row, meter_->Take()});
}

void RowMeasurements::JudgeRounds() {
  std::vector<Disturbance> taken;
  for (const Slot& slot : slots_) taken.push_back(slot.taken);
  const std::vector<char> beside = SlotsBesideOthers(taken);
  for (Row& row : runs_) row.beside_others.clear();
  for (size_t i = 0; i < slots_.size(); ++i) runs_[slots_[i].row].beside_others.push_back(beside[i]);
  std::vector<int64_t> speeds = speeds_;
  for (const Row& row : runs_) {
    if (row.run != nullptr)
      speeds.insert(speeds.end(), row.run->core_speeds().begin(), row.run->core_speeds().end());
  }
  usual_speed_ = UsualSpeed(std::move(speeds), kSameCoreSpeed);
  for (size_t i = 0; i < runs_.size(); ++i) {
    Row& row = runs_[i];
    if (row.run == nullptr) continue;
    std::vector<char> left_out;
    for (size_t step = 0; step < row.run->core_speeds().size(); ++step) {
      const size_t round = step / static_cast<size_t>(steps_);
      left_out.push_back((round < row.beside_others.size() && row.beside_others[round] != 0) ||
                         !usual_speed_.Holds(row.run->core_speeds()[step]));
    }
    row.run->LeaveOut(std::move(left_out));
    const std::vector<char> counts = row.run->Undisturbed();
    row.quiet_rounds = 0;
    for (int round = 0; round < complete_rounds(i); ++round)
      row.quiet_rounds += AnyCounts(counts.begin() + static_cast<std::ptrdiff_t>(round) * steps_, steps_);
  }
}

void RowMeasurements::RunRounds(int rounds, int steps, const std::function<void()>& beside,
                                const std::function<void()>& together) {
  wanted_rounds_ = rounds;
  steps_ = steps;
  const auto quiet = [&] {
    return std::all_of(runs_.begin(), runs_.end(), [&](const Row& row) {
      return row.run == nullptr || 3 * row.quiet_rounds >= 2 * rounds;
    });
  };
  constexpr int64_t kNsBetweenNotes = 5'000'000'000;
  int64_t told_ns = NowNs() - kNsBetweenNotes;
  for (int round = 0;; ++round) {
    const bool goes_on = round < rounds || (round < 2 * rounds && !quiet());
    if (goes_on) beside();
    // The others wait here meanwhile.
    if (!job_.FromFirst(goes_on)) return;
    together();
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
  for (const bool tells_time : {true, false}) {
    std::vector<size_t> alike;
    for (auto step = at(rounds.first); step < at(rounds.end); ++step) {
      const auto number = static_cast<size_t>(step - counts.begin());
      if (runs_[row].run->TellsTime(number) == tells_time) alike.push_back(number);
    }
    const auto left_alone = std::ranges::count_if(alike, [&](size_t step) { return counts[step] != 0; });
    if (!AllStepsCount(static_cast<size_t>(left_alone), alike.size())) continue;
    for (const size_t step : alike) counts[step] = 1;
  }
  return counts;
}

double RowMeasurements::MedianStep(size_t row, RoundRange rounds) const {
  const RecordedRun& run = *runs_[row].run;
  const std::vector<char> counts = CountedSteps(row, rounds);
  std::vector<double> counted, others;  // others: whose commands were timed
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] != 0)
      (run.TellsTime(i) ? counted : others).push_back(static_cast<double>(run.step_ns()[i]));
  }
  if (counted.empty()) counted = std::move(others);
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
  measured->losses = runs_[row].losses;
  measured->disturbed_steps = static_cast<int>(std::count(counts.begin(), counts.end(), 0));
  measured->other_speed_steps = OtherSpeedSteps(row);
  measured->quiet = 3 * runs_[row].quiet_rounds >= wanted_rounds_;
}

// Steps at another speed that no others disturbed.
int RowMeasurements::OtherSpeedSteps(size_t row) const {
  const RecordedRun& run = *runs_[row].run;
  const std::vector<char> other_clock = OtherClockSteps(run.gpu_clocks());
  int count = 0;
  for (size_t step = 0; step < run.step_ns().size(); ++step) {
    const size_t round = step / static_cast<size_t>(steps_);
    const bool beside_others =
        round < runs_[row].beside_others.size() && runs_[row].beside_others[round] != 0;
    const bool other_core = step < run.core_speeds().size() && !usual_speed_.Holds(run.core_speeds()[step]);
    count += !beside_others && (other_core || (step < other_clock.size() && other_clock[step] != 0));
  }
  return count;
}

}  // namespace lanescope::study
