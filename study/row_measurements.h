// Runs the rows of a comparison in turn.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "study/calibration.h"
#include "study/comparison.h"
#include "study/recorded_run.h"

namespace lanescope::study {

// Rounds are interleaved over the rows, so that what drifts drifts for all. Consecutive rounds form repeats:
// complete experiments of their own, each calibrated on its own steps of the first row. Not thread-safe.
// Everything given must outlive it.
class RowMeasurements {
 public:
  RowMeasurements(std::vector<ComparisonRow>* rows, const Machine& machine)
      : rows_(*rows), machine_(machine) {}

  // Prepares and warms up every row that has not failed. `options`: of every row's run. Throws Cancelled.
  void Start(TraceWriter* writer, const RecordedRunOptions& options, int warmup_steps);
  // Throws Cancelled.
  void RunRounds(int rounds, int steps);
  // Ends all runs in the trace, with the row's failure or this error.
  void Finish(const std::string& error);

  // Null when the row could not be measured.
  const RecordedRun* run(size_t row) const { return row < runs_.size() ? runs_[row].run.get() : nullptr; }
  // Largest distance of a round's median from `median`, as a fraction of it.
  double Noise(size_t row, double median) const;
  int complete_rounds(size_t row) const { return static_cast<int>(runs_[row].round_medians.size()); }
  // Median step of recorded steps [first, end). They must exist.
  double MedianStep(size_t row, StepRange range) const;

 private:
  struct Row {
    std::unique_ptr<RecordedRun> run;
    std::vector<double> round_medians;
  };
  std::vector<ComparisonRow>& rows_;
  const Machine& machine_;
  Notes note_;
  std::vector<Row> runs_;
};

// Calls `function`; what it throws becomes the row's failure, and is told, unless it is Cancelled. Does
// nothing for a row that has failed.
void Guard(ComparisonRow* row, const Notes& note, const std::function<void()>& function);

// The steps of each repeat: `rounds` dealt out in order to at most `repeats` groups whose sizes differ by at
// most one.
std::vector<StepRange> RepeatRanges(int rounds, int steps, int repeats);

}  // namespace lanescope::study
