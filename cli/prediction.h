// From recorded runs and microbenchmarks to a cost table, and from that to the prediction of any placed
// graph.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/recorded_run.h"
#include "cli/workload.h"
#include "exec/measure.h"
#include "exec/measure_handoffs.h"
#include "sims/calibrate.h"
#include "sims/cost_table.h"
#include "sims/predict.h"
#include "sims/step_samples.h"
#include "traces/trace_reader.h"
#include "traces/trace_writer.h"

namespace lanescope::cli {

// What microbenchmarks say of the machine. They run no placement.
struct MachineMeasurement {
  exec::HostMeasurement host;
  std::vector<exec::LinkTime> links;
  std::vector<exec::FetchTime> fetches;
  exec::HandoffRun handoffs;
};
// Some seconds; ends with Cancelled soon after a signal.
MachineMeasurement MeasureMachine(const Machine& machine);

// Recorded steps [first, end).
struct StepRange {
  int first = 0;
  int end = INT32_MAX;
};

// Samples and gaps of these steps of a recorded run (options.keep_events).
CalibrationInput SamplesOf(const RecordedRun& run, const Machine& machine, StepRange steps = {});
// The same from a trace file, which holds signatures instead of the graph.
CalibrationInput SamplesOf(const TraceRun& run, const Machine& machine, int warmup_steps);
// The matrix of slowdowns as the simulator takes it.
Interference InterferenceOf(const exec::HostMeasurement& host);
// `measured` may be null: no interference, no fetches, and the hand-offs of the run itself.
CostTable FitCosts(const CalibrationInput& input, const MachineMeasurement* measured, const Machine& machine,
                   const std::string& calibrated_on);

// A placed graph compiled for the machine, without running it.
struct CompiledStep {
  const PlacedGraph* placed = nullptr;
  Schedule schedule;
};
CompiledStep CompileStep(const PlacedGraph& placed, const Machine& machine);

// A measured step in the form of a simulated one, with what each command waited for.
SimulationResult AsSimulation(const Schedule& schedule, const MeasuredStep& step);

// Writes a predicted run of `steps` steps, and the costs that it was made with (null: by the machine's
// rates). Returns its number.
int WritePrediction(TraceWriter* writer, const CompiledStep& step, const Machine& machine,
                    const Prediction& prediction, int steps, const CostTable* costs,
                    const std::string& prediction_of, bool in_sample);

}  // namespace lanescope::cli
