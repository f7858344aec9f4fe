#include "study/recorded_prediction.h"

#include <cmath>

#include "core/base/error.h"
#include "core/record/event.h"
#include "core/record/run_info.h"
#include "sims/simulator.h"
#include "study/this_machine.h"

namespace lanescope::study {
namespace {

// Throws once cancelled instead of handing on.
class UntilCancelled : public EventSink {
 public:
  UntilCancelled(EventSink* to, const Cancellation* cancellation) : to_(to), cancellation_(cancellation) {}
  void Consume(std::span<const Event> events) override {
    if (cancellation_ != nullptr) cancellation_->Check();
    to_->Consume(events);
  }
  void CountDropped(int64_t records) override { to_->CountDropped(records); }

 private:
  EventSink* to_;
  const Cancellation* cancellation_;
};

// What every step waits for, and how full the queues are on average.
InputRecord InputOf(const sims::Prediction& prediction, const Schedule& schedule, int steps) {
  const sims::PipelinePrediction& input = *prediction.input;
  InputRecord record;
  for (size_t q = 0; q < input.pipeline.queues.size(); ++q) {
    const sims::PipelineQueue& queue = input.pipeline.queues[q];
    const int number = static_cast<int>(q);
    record.queues.push_back({number, queue.name, queue.capacity, queue.kept});
    record.fills.push_back({number, 0, std::llround(input.result.queues[q].mean_fill)});
  }
  const int queue = input.pipeline.stages[0].takes[0].queue;
  const int node = schedule.commands[input.take].node.number();
  for (int step = 0; input.wait_ns > 0 && step < steps; ++step) {
    const int64_t start = step * prediction.step_ns + input.waits_from_ns;
    record.waits.push_back({kNoInputThread, step, node, queue, start, start + input.wait_ns});
  }
  return record;
}

}  // namespace

int RecordPrediction(traces::TraceWriter* writer, const PlacedGraph& placed, const Schedule& schedule,
                     const Predictor& predictor, const sims::Prediction& prediction,
                     const RecordedPredictionOptions& options) {
  RunInfo info;
  info.simulated = true;
  info.emulated = IsEmulated(predictor.machine());
  info.strategy = placed.strategy;
  info.graph_name = placed.workload->name();
  info.prediction_of = predictor.origin();
  if (predictor.table() != nullptr) info.cost_model = sims::CostTableToJson(*predictor.table());
  info.in_sample = options.in_sample;
  info.uncalibrated_share = prediction.uncalibrated_share();
  info.extrapolated_share = prediction.extrapolated_share();
  info.graph = &placed.workload->graph();
  info.machine = &predictor.machine();
  info.placement = &placed.placement;
  info.info = &placed.workload->info();
  const int run = writer->BeginRun(info);
  writer->AddSchedule(run, schedule);
  if (prediction.input) writer->AddInput(run, InputOf(prediction, schedule, options.steps));
  UntilCancelled sink(writer->Sink(run), options.cancellation);
  try {
    sims::PublishSteps(schedule, prediction.simulation, options.steps, 0, &sink);
  } catch (const Error& error) {
    writer->EndRun(run, {false, error.what()});
    throw;
  }
  writer->EndRun(run, {});
  return run;
}

}  // namespace lanescope::study
