// SPDX-License-Identifier: Apache-2.0
// How well the runs of a trace are predicted from one of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lanescope::study {

// A measured run and its prediction.
struct RunAccuracy {
  int run = 0;
  int experiment = 0;  // of the file: runs of one graph on one machine
  std::string graph, strategy;
  bool in_sample = false;       // it calibrated the predictions
  bool oversubscribed = false;  // its work asked for more cores than there were
  bool disturbed = false;       // no step of it was left alone, so that all count
  double measured_ns = 0;       // median of the steps that count
  double noise = 0;             // largest distance of a round's median from that, as a fraction of it
  int64_t predicted_ns = 0, low_ns = 0, high_ns = 0;
  std::vector<int64_t> without_ns;  // predicted without each of AllEffects
  double replay_error = 0;          // of its own commands' times between what this run itself says of effects

  double Error() const { return ErrorOf(predicted_ns); }
  double ErrorOf(int64_t predicted) const {
    return (static_cast<double>(predicted) - measured_ns) / measured_ns;
  }
};

struct TraceAccuracyOptions {
  int draws = 200;      // of intervals; 0: none
  bool ablate = false;  // fill without_ns
  bool replay = false;  // fill replay_error
};

// Calibrates on the first complete measured run of each graph on each machine of the file, and on what
// microbenchmarks gave the first prediction that kept its costs, and predicts every other such run of them,
// in the order of the file. A prediction sees nothing of the run that it predicts but its schedule. Throws
// what TraceReader and ReadSchedule throw, NotFound where the file holds no such run.
std::vector<RunAccuracy> PredictRuns(const std::string& path, const TraceAccuracyOptions& options = {});

}  // namespace lanescope::study
