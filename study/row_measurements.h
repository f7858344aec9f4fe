// Runs the rows of a comparison in turn.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "study/comparison.h"
#include "study/recorded_run.h"
#include "study/undisturbed.h"

namespace lanescope::study {

// Rounds [first, end) of those that ran.
struct RoundRange {
  int first = 0;
  int end = INT32_MAX;
};

// Rounds are interleaved over the rows, so that what drifts drifts for all. Consecutive rounds form repeats:
// complete experiments of their own, each calibrated on its own steps of the first row. What others take from
// this program is measured beside (UndisturbedSteps), and so is the machine's speed: before and after every
// row's round the first row takes a few steps (JudgeSlots). Disturbed steps do not count. Not thread-safe.
// Everything given must outlive it.
class RowMeasurements {
 public:
  RowMeasurements(std::vector<ComparisonRow>* rows, const Machine& machine)
      : rows_(*rows), machine_(machine) {}

  // Prepares and warms up every row that has not failed. `options`: of every row's run. Throws Cancelled.
  void Start(traces::TraceWriter* writer, const RecordedRunOptions& options, int warmup_steps);
  // While more than a third of a row's rounds are disturbed more are run, of all rows, at most as many again.
  // Throws Cancelled.
  void RunRounds(int rounds, int steps);
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
  // none of them is.
  std::vector<char> CountedSteps(size_t row, RoundRange rounds = {}) const;
  // Median of those.
  double MedianStep(size_t row, RoundRange rounds) const;
  // Fills in what disturbed the row.
  void Describe(size_t row, MeasuredRow* measured) const;

 private:
  struct Row {
    std::unique_ptr<RecordedRun> run;
    std::vector<Disturber> disturbers;  // by round
    int quiet_rounds = 0;
  };
  // A round of a row in time.
  struct Slot {
    size_t row = 0;
    RoundSlot measured;
  };
  void RunRound(int steps);
  void RunSlot(size_t row, int steps);
  void JudgeRounds();
  int64_t ReferenceStep();
  std::vector<ComparisonRow>& rows_;
  const Machine& machine_;
  Notes note_;
  std::vector<Row> runs_;
  std::optional<DisturbanceMeter> meter_;
  std::vector<Slot> slots_;
  int wanted_rounds_ = 0, rounds_ = 0, steps_ = 0;
};

// Calls `function`; what it throws becomes the row's failure, and is told, unless it is Cancelled. Does
// nothing for a row that has failed.
void Guard(ComparisonRow* row, const Notes& note, const std::function<void()>& function);

}  // namespace lanescope::study
