// SPDX-License-Identifier: Apache-2.0
// The results of a comparison: rows of (graph, strategy), measured, predicted, and read back from the trace.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/machine/machine.h"
#include "core/record/disturbance.h"
#include "core/record/run_timing.h"
#include "core/schedule/schedule.h"
#include "sims/predict/predict.h"
#include "sims/predict/sweep.h"
#include "sims/search/lower_bound.h"
#include "study/workload/placing.h"
#include "traces/report/statistics.h"
#include "traces/report/summary.h"

namespace lanescope::study {

struct Failure {
  std::string code;
  std::string message;
};

// Measurements of a row, per step.
struct MeasuredRow {
  int run = 0;
  traces::RunStatistics statistics;
  CommandTiming command_timing = CommandTiming::kThreads;  // of physical GPUs
  int64_t pair_ns = 0;                                     // RunTiming's
  std::map<DeviceId, double> busy;
  traces::Summary summary;
  bool oversubscribed = false;
  int steps = 0, disturbed_steps = 0;  // that were measured; of these, that do not count
  bool all_steps_count = false;        // too few were left alone (AllStepsCount)
  int other_speed_steps = 0;           // of these, while cores or GPUs had another speed than usual
  bool quiet = true;                   // a third of the rounds that were asked for was undisturbed
  Disturbance disturbance;             // over all steps
  std::vector<double> losses;          // by step, those that warm up counted; empty: it fetches none
  double noise = 0;              // largest distance of a round's median from the median of all, as a fraction
  int64_t critical_path_ns = 0;  // of the mean step: launches and copies on the path, as `explain` has them
};

struct PredictedRow {
  int run = 0;
  int steps = 0;  // of that run
  sims::Prediction prediction;
  bool in_sample = false;
  std::vector<int64_t> without_ns;  // Predictor::Ablate, where that was asked for
};

// One repeat of the experiment: what was measured in it, and what its own calibration predicts.
struct RepeatedRow {
  double measured_ns = 0;  // median step
  int64_t predicted_ns = 0;
  double error() const { return (static_cast<double>(predicted_ns) - measured_ns) / measured_ns; }
};

struct ComparisonRow {
  std::string graph;     // file name
  std::string asked;     // for what Place takes
  std::string strategy;  // what tables call it
  WireFormat wire = WireFormat::kFloat32;
  PlacedGraph placed;
  std::optional<Schedule> schedule;
  std::optional<MeasuredRow> measured;
  std::optional<PredictedRow> predicted;
  std::optional<Failure> failed;
  std::vector<RepeatedRow> repeats;

  // Median step measured, else predicted; 0 of a row that has neither. ns.
  double step_ns() const;
  // "deepconn_single tower-split"
  // "deepconn_single tower-split, bfloat16" where the format between tasks is another one
  std::string label() const;
  // (predicted - measured) / measured; empty when either is missing.
  std::optional<double> error() const;
};

// The traffic from task to task in a step: messages, and their bytes by the bounds.
struct WireTraffic {
  int64_t messages = 0, bytes = 0;
};
WireTraffic TrafficBetweenTasks(const Machine& machine, const Schedule& schedule);

// How fast a step of the graph could be under any placement, by the costs that its rows are predicted with.
struct GraphBound {
  std::string graph;
  sims::LowerBound bound;
};

struct Comparison {
  std::string trace;
  Machine machine;
  double link_slowdown = 1;   // by which the machine file's links were slowed to match a reference step
  std::string prediction_of;  // what the predictions are calibrated on
  std::optional<double> replay_error;  // identity replay of the first row
  std::vector<ComparisonRow> rows;
  std::vector<GraphBound> bounds;    // one a graph that a row was predicted of
  std::optional<sims::Sweep> sweep;  // over the rows that could be simulated
  std::vector<int> sweep_rows;       // row number of each curve
  std::string verdict;
};

// One sentence: who is slower than whom, why, and from which link bandwidth on that changes.
std::string Verdict(const Comparison& comparison);

}  // namespace lanescope::study
