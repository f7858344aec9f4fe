// SPDX-License-Identifier: Apache-2.0
#include "study/predict/recorded_prediction.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/record/event.h"
#include "core/record/run_info.h"
#include "sims/engine/simulator.h"
#include "study/job/this_machine.h"

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

// Predicted steps beside the threads that fill their queues: each step as long as it is in the simulated
// pipeline, with the waits, the threads' steps and how full the queues are.
class InputPublisher {
 public:
  InputPublisher(const PlacedGraph& placed, const Schedule& schedule, const sims::Prediction& prediction,
                 traces::TraceWriter* writer, int run, EventSink* sink)
      : workload_(*placed.workload),
        schedule_(schedule),
        prediction_(prediction),
        input_(*prediction.input),
        writer_(writer),
        run_(run),
        sink_(sink) {}

  void Publish(int steps) {
    AddNames();
    sims::RecordPipeline(input_.pipeline, steps, [this](const sims::PipelineRecord& record) {
      PublishStep(record);
      AddRecord(record);
    });
  }

 private:
  // Queues and threads, before anything names them.
  void AddNames() {
    InputRecord names;
    for (size_t q = 0; q < input_.pipeline.queues.size(); ++q) {
      const sims::PipelineQueue& queue = input_.pipeline.queues[q];
      names.queues.push_back({static_cast<int>(q), queue.name, queue.capacity, queue.kept});
    }
    for (const sims::PipelineStage& stage : input_.pipeline.stages) {
      if (!stage.turn_of.empty() && !readers_.contains(stage.turn_of)) {
        const auto number = static_cast<int>(names.queues.size());
        readers_[stage.turn_of] = number;
        names.queues.push_back({.number = number, .name = stage.turn_of});
      }
      if (&stage == &input_.pipeline.stages.front()) continue;
      for (int t = 0; t < stage.threads; ++t) {
        const auto number = static_cast<int>(names.threads.size());
        names.threads.push_back({number, stage.name, FilledBy(stage.name)});
        reader_of_thread_.push_back(stage.turn_of.empty() ? 0 : readers_[stage.turn_of]);
      }
    }
    writer_->AddInput(run_, std::move(names));
  }

  // As the configuration calls it.
  std::string FilledBy(const std::string& op) const {
    for (const QueueRunnerSpec& runner : workload_.spec().queue_runners) {
      if (std::ranges::count(runner.enqueue_ops, op) > 0) return runner.queue;
    }
    return "";
  }

  // The step's commands, moved as the step's parts lie: before it takes, and after.
  void PublishStep(const sims::PipelineRecord& record) {
    sims::SimulationResult result = prediction_.simulation;
    const auto stretched = [](int64_t ns, int64_t from, int64_t until, double begin, double end) {
      const double share =
          until > from ? static_cast<double>(ns - from) / static_cast<double>(until - from) : 0;
      return std::llround(begin + share * (end - begin));
    };
    const auto moved = [&](int64_t ns) {
      if (ns < input_.take_from_ns) return stretched(ns, 0, input_.take_from_ns, record.begin, record.asked);
      if (ns < input_.take_until_ns)
        return stretched(ns, input_.take_from_ns, input_.take_until_ns, record.asked, record.had);
      return stretched(ns, input_.take_until_ns, prediction_.step_ns, record.had, record.end);
    };
    const int64_t begin = std::llround(record.begin);
    for (sims::CommandTime& time : result.times) {
      time.start_ns = moved(time.start_ns) - begin;
      time.end_ns = moved(time.end_ns) - begin;
    }
    result.step_ns = std::llround(record.end) - begin;
    sink_->Consume(sims::EventsOfStep(schedule_, result, step_++, begin));
  }

  void AddRecord(const sims::PipelineRecord& record) {
    InputRecord input;
    for (const auto& step : record.steps)
      input.steps.push_back(
          {step.thread, static_cast<int>(step.step), std::llround(step.begin), std::llround(step.end)});
    for (const auto& wait : record.waits) {
      const int reader = wait.thread < 0 ? 0 : reader_of_thread_[static_cast<size_t>(wait.thread)];
      input.waits.push_back({wait.thread < 0 ? kNoInputThread : wait.thread, static_cast<int>(wait.step),
                             wait.node, wait.queue < 0 ? reader : wait.queue, std::llround(wait.begin),
                             std::llround(wait.end)});
    }
    for (const auto& fill : record.fills)
      input.fills.push_back({fill.queue, std::llround(fill.time), fill.size});
    if (input.size() > 0) writer_->AddInput(run_, std::move(input));
  }

  const Workload& workload_;
  const Schedule& schedule_;
  const sims::Prediction& prediction_;
  const sims::PipelinePrediction& input_;
  traces::TraceWriter* const writer_;
  const int run_;
  EventSink* const sink_;
  std::map<std::string, int> readers_;  // by name: their numbers among the queues
  std::vector<int> reader_of_thread_;
  int step_ = 0;
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
    if (prediction.input) {
      InputPublisher(placed, schedule, prediction, writer, run, &sink).Publish(options.steps);
    } else {
      sims::PublishSteps(schedule, prediction.simulation, options.steps, 0, &sink);
    }
  } catch (const Error& error) {
    writer->EndRun(run, {false, error.what()});
    throw;
  }
  writer->EndRun(run, {});
  return run;
}

}  // namespace lanescope::study
