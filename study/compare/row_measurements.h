// SPDX-License-Identifier: Apache-2.0
// Runs the rows of a comparison in turn.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exec/measure/core_speeds.h"
#include "study/compare/comparison.h"
#include "study/measure/disturbance.h"
#include "study/measure/gpu_clocks.h"
#include "study/measure/recorded_run.h"
#include "study/measure/undisturbed.h"

namespace lanescope::study {

class Job;

// Rounds [first, end) of those that ran.
struct RoundRange {
  int first = 0;
  int end = INT32_MAX;
};

// Rounds are interleaved over the rows, so that what drifts drifts for all. Consecutive rounds form repeats:
// complete experiments of their own, each calibrated on its own steps of the first row. Beside are measured
// what others take from this program (UndisturbedSteps) and the speed of cores and GPUs, whose usual one is
// that of most steps of all rows: a round waits a while for it. Disturbed steps do not count. Not
// thread-safe. Everything given must outlive it.
class RowMeasurements {
 public:
  // All processes of the job make the same calls, and the first one judges. What is given must outlive it.
  RowMeasurements(std::vector<ComparisonRow>* rows, const Machine& machine, Job* job)
      : rows_(*rows), machine_(machine), job_(*job) {}

  // Prepares and warms up every row that has not failed. `options`: of every row's run. Throws Cancelled.
  void Start(traces::TraceWriter* writer, const RecordedRunOptions& options, int warmup_steps);
  // While more than a third of a row's rounds are disturbed more are run, of all rows, at most as many again.
  // `beside` is called in every one, in the first process alone, `together` in all. Throws Cancelled.
  void RunRounds(int rounds, int steps, const std::function<void()>& beside,
                 const std::function<void()>& together);
  // Ends all runs in the trace, with the row's failure or this error.
  void Finish(const std::string& error);

  // Null when the row could not be measured.
  const RecordedRun* run(size_t row) const { return row < runs_.size() ? runs_[row].run.get() : nullptr; }
  // Largest distance of a round's median from `median`, as a fraction of it.
  double Noise(size_t row, double median) const;
  // That a row has run to their end.
  int complete_rounds(size_t row) const;
  // That were run.
  int rounds() const { return rounds_; }
  // Says of every recorded step of a row whether it counts: it lies in these rounds and is undisturbed, or
  // too few of its kind are (AllStepsCount, RecordedRun::TellsTime).
  std::vector<char> CountedSteps(size_t row, RoundRange rounds = {}) const;
  // Median of those that say what a step takes (RecordedRun::TellsTime); where none does, of all of them.
  double MedianStep(size_t row, RoundRange rounds) const;
  // Fills in what disturbed the row.
  void Describe(size_t row, MeasuredRow* measured) const;

 private:
  struct Row {
    std::unique_ptr<RecordedRun> run;
    std::vector<double> losses;       // by step
    std::vector<char> beside_others;  // by round
    int quiet_rounds = 0;
  };
  // A round of a row in time.
  struct Slot {
    size_t row = 0;
    Disturbance taken;
  };
  // A failure with one process of a job ends all of them; otherwise it is the row's.
  void Try(size_t row, const std::function<void()>& function);
  void RunRound(int steps);
  void RunSlot(size_t row, int steps);
  void JudgeRounds();
  void WaitForUsualSpeed();
  int OtherSpeedSteps(size_t row) const;
  std::vector<ComparisonRow>& rows_;
  const Machine& machine_;
  Job& job_;
  Notes note_;
  std::vector<Row> runs_;
  std::optional<DisturbanceMeter> meter_;
  std::optional<exec::CoreSpeeds> core_speeds_;
  std::optional<GpuClocks> gpu_clocks_;
  std::vector<int64_t> speeds_;  // of cores, while it waited
  SpeedRange usual_speed_;
  std::vector<Slot> slots_;
  int wanted_rounds_ = 0, rounds_ = 0, steps_ = 0;
};

// Calls `function`; what it throws becomes the row's failure, and is told, unless it is Cancelled. Does
// nothing for a row that has failed.
void Guard(ComparisonRow* row, const Notes& note, const std::function<void()>& function);

}  // namespace lanescope::study
