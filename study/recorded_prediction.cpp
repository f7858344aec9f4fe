#include "study/recorded_prediction.h"

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
