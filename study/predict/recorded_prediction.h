// SPDX-License-Identifier: Apache-2.0
// Predictions as runs of a trace, so that whatever reads measured runs reads them too.
#pragma once

#include "core/schedule/schedule.h"
#include "study/base/cancellation.h"
#include "study/predict/predictor.h"
#include "study/workload/placing.h"
#include "traces/record/trace_writer.h"

namespace lanescope::study {

struct RecordedPredictionOptions {
  int steps = 1;
  bool in_sample = false;  // its own measurement calibrated it
  Cancellation* cancellation = nullptr;
};

// Writes a run of so many predicted steps, with the costs that it was made with. `schedule` is compiled from
// `placed`. Returns its number. Throws Cancelled; the run is then marked with what ended it.
int RecordPrediction(traces::TraceWriter* writer, const PlacedGraph& placed, const Schedule& schedule,
                     const Predictor& predictor, const sims::Prediction& prediction,
                     const RecordedPredictionOptions& options);

}  // namespace lanescope::study
