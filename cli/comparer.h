// The work of `compare`: place, measure, calibrate on the first row, predict all rows, read back.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cli/compare_options.h"
#include "cli/comparison.h"
#include "cli/interrupt.h"
#include "cli/prediction.h"
#include "cli/row_measurements.h"
#include "cli/temporary_folder.h"
#include "core/cost.h"
#include "sims/cost_model.h"
#include "traces/trace_writer.h"

namespace lanescope::cli {

// One comparison. Owns the graphs that the result refers to. Not thread-safe; `options` must outlive it.
class Comparer {
 public:
  explicit Comparer(const CompareOptions& options);
  // Once. The result refers to this object's graphs. Throws Cancelled after a signal.
  Comparison Run();

 private:
  void LoadRows();
  void MatchReference();
  void PlaceRows();
  void OpenTrace();
  void Measure();
  void Calibrate();
  // Calibrated on these steps of the first row and the microbenchmarks alone.
  CostTable CostsOf(StepRange steps) const;
  void Predict();
  void PredictRepeats();
  void ReadBack();
  void SweepLinks();
  const CostModel& costs() const;

  const CompareOptions& options_;
  Comparison comparison_;
  // While there is a trace to finish or to remove.
  std::optional<EndsInOrder> in_order_;
  // Of the trace, where nobody wants to keep it; outlives the writer.
  std::optional<TemporaryFolder> temporary_;
  std::vector<std::unique_ptr<Workload>> workloads_;
  std::unique_ptr<TraceWriter> writer_;
  RowMeasurements measurements_;
  MachineMeasurement machine_;
  RooflineCost blind_;
  std::unique_ptr<CalibratedCost> calibrated_;
  PredictionSettings settings_;
  int in_sample_row_ = -1;
};

}  // namespace lanescope::cli
