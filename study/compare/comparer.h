// SPDX-License-Identifier: Apache-2.0
// Compares placements: places, measures, calibrates on the first row, predicts all rows, reads back.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/machine/machine.h"
#include "core/schedule/cost.h"
#include "sims/cost/cost_table.h"
#include "sims/predict/sweep.h"
#include "study/base/cancellation.h"
#include "study/base/temporary_folder.h"
#include "study/compare/comparison.h"
#include "study/compare/row_measurements.h"
#include "study/measure/measure_machine.h"
#include "study/predict/calibration.h"
#include "study/predict/predictor.h"
#include "study/predict/recorded_prediction.h"
#include "traces/read/trace_reader.h"
#include "traces/record/trace_writer.h"

namespace lanescope::study {

class RunCapture;

// A graph file and the strategies that it is placed by, a row each.
struct ComparedGraph {
  std::string path;
  std::vector<std::string> strategies;
  std::shared_ptr<const Workload> workload = nullptr;  // not null: this one instead of a file's
  std::vector<std::string> names = {};                 // what tables call each strategy; empty: StrategyLabel
};

struct ComparisonRequest {
  std::vector<ComparedGraph> graphs;
  Machine machine;
  WorkloadOptions step;
  PlaceOptions place;    // without `order`; every row is placed with float32 between tasks, too
  RunSettings settings;  // of what is measured
  // Steps of a row in a round; rounds, interleaved over the rows; repeats that they are dealt to, each an
  // experiment of its own; steps of a row before that.
  int steps = 10, rounds = 6, repeats = 3, warmup = 3;
  bool run = true;                       // false: only simulate
  bool ablate = false;                   // predict without each effect too
  std::string trace;                     // that all runs are appended to; empty: none is kept
  std::optional<sims::CostTable> costs;  // to predict with, instead of what the first row is calibrated to
  // GPU time of a step of the first row on the machine that the links are of: links are slowed to match. 0:
  // they stay.
  int64_t reference_step_ns = 0;
  std::optional<sims::SweepRange> sweep;  // empty: widely around the links between GPUs
  Cancellation* cancellation = nullptr;
  // Not null: it times commands on GPUs, where this process is alone. Made before anything touched a GPU.
  RunCapture* capture = nullptr;
  // The processes that measure together. All ask for the same; the first one compares. Null: this one alone.
  Job* job = nullptr;
  Notes note;
  // Called for every row that is placed, with the node ids in the order in which the placer took them.
  std::function<void(const ComparisonRow&, const std::vector<NodeId>& order)> on_placed;
};

// One comparison. Calibrates on the first row's events in memory; where a capture timed them, on its trace.
// Owns the graphs that the result refers to. Not thread-safe.
class Comparer {
 public:
  // Reads the graphs.
  explicit Comparer(ComparisonRequest request);
  // Once. The result refers to this object's graphs. What goes wrong with one row is in the row. Throws
  // Cancelled; what was measured is in the trace then. In processes of a job but the first it is without
  // figures.
  Comparison Run();

 private:
  void AddRow(const std::string& strategy, const std::string& name, WireFormat wire);
  void PlaceRows();
  void OpenTrace();
  void Measure();
  RunCapture* UsableCapture() const;
  void AddMessages(ChainRun run, ChainRun small);
  void Calibrate();
  // Calibrated on these steps of the first row and the microbenchmarks alone.
  sims::CostTable CostsOf(const std::vector<char>& steps) const;
  sims::CalibrationInput FirstSamples(const std::vector<char>& steps) const;
  double FirstReplayError(const sims::EffectSet& effects) const;
  void ReadFirstRow();
  void Predict();
  void FindBounds();
  void PredictRepeats();
  void ReadBack();
  void SweepLinks();
  void CheckCancelled() const;
  void RequireSameRows() const;
  RecordedRunOptions RunOptions() const;

  const ComparisonRequest request_;
  Job alone_{nullptr};
  Job& job_;
  Comparison comparison_;
  // While there is a trace to finish or to remove.
  std::optional<Cancellation::Watch> in_order_;
  // The folder of a trace that nobody wants to keep; outlives the writer.
  std::optional<TemporaryFolder> temporary_;
  std::vector<std::shared_ptr<const Workload>> workloads_;
  std::unique_ptr<traces::TraceWriter> writer_;
  RowMeasurements measurements_;
  MachineMeasurement measured_machine_;
  bool measures_messages_ = false;
  std::optional<traces::TraceRun> first_row_;  // where its commands were timed by the capture
  std::optional<Predictor> predictor_;
  int in_sample_row_ = -1;
};

}  // namespace lanescope::study
