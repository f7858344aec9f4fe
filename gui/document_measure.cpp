#include "gui/document_measure.h"

#include <algorithm>

#include "core/error.h"
#include "core/recorder.h"
#include "core/run_info.h"
#include "core/thread.h"
#include "exec/session.h"
#include "traces/trace_writer.h"

namespace lanescope::gui {
namespace {

bool IsEmulated(const Machine& machine) {
  return std::any_of(machine.devices.begin(), machine.devices.end(),
                     [](const DeviceSpec& device) { return device.kind == DeviceKind::kVirtual; });
}

RunInfo InfoOf(const MeasureRequest& request, const Machine& machine) {
  RunInfo info;
  info.emulated = IsEmulated(machine);
  info.strategy = request.base->run->strategy + " (edited)";
  info.graph_name = request.base->run->graph;
  info.graph = &request.base->graph->graph;
  info.machine = &machine;
  info.placement = &request.edit->placement;
  info.info = &request.base->graph->info;
  return info;
}

// Ends a run in the trace as failed unless it ended well.
class WrittenRun {
 public:
  WrittenRun(TraceWriter* writer, const RunInfo& info) : writer_(writer), id_(writer->BeginRun(info)) {}
  ~WrittenRun() {
    if (ended_) return;
    try {
      writer_->EndRun(id_, {false, error_});
    } catch (const Error&) {
      // The first error is the one that is told.
    }
  }
  int id() const { return id_; }
  void SetError(const std::string& error) { error_ = error; }
  void End() {
    writer_->EndRun(id_, {});
    ended_ = true;
  }

 private:
  TraceWriter* writer_;
  int id_;
  bool ended_ = false;
  std::string error_ = "Cancelled: the measurement was stopped";
};

}  // namespace

MeasureJob::MeasureJob(MeasureRequest request, std::function<void()> wake)
    : request_(std::move(request)),
      wake_(std::move(wake)),
      thread_(StartThread("a measurement", [this] { Run(); })) {}

MeasureJob::~MeasureJob() {
  Cancel();
  thread_.join();
}

std::string MeasureJob::problem() const {
  std::lock_guard lock(mutex_);
  return problem_;
}

void MeasureJob::Cancel() {
  cancelled_.store(true, std::memory_order_relaxed);
  std::lock_guard lock(mutex_);
  if (session_ != nullptr) session_->Cancel();
}

void MeasureJob::Run() {
  std::string problem;
  try {
    Measure();
  } catch (const Error& error) {
    problem = error.message();
  } catch (const std::exception& error) {
    problem = error.what();
  }
  {
    std::lock_guard lock(mutex_);
    problem_ = problem;
  }
  done_.store(true, std::memory_order_release);
  if (wake_) wake_();
}

void MeasureJob::Measure() {
  const Machine machine = MachineOf(*request_.edit);
  const bool modelled =
      std::any_of(machine.devices.begin(), machine.devices.end(),
                  [](const DeviceSpec& device) { return device.kind == DeviceKind::kModelled; });
  if (modelled) {
    Throw(Code::kFailedPrecondition,
          "the machine has devices that exist in the simulator alone, so nothing can run");
  }
  const std::vector<double>& speed = request_.edit->speed;
  if (std::any_of(speed.begin(), speed.end(), [](double factor) { return factor != 1; })) {
    Throw(Code::kFailedPrecondition,
          "devices cannot be made faster or slower here; reset their speeds to run it");
  }
  const StepGraph& step = *request_.base->graph;
  TraceWriter writer(request_.trace_path);
  RunInfo info = InfoOf(request_, machine);

  info.simulated = true;
  info.prediction_of =
      request_.base->calibration.calibrated ? request_.base->calibration.note : "uncalibrated";
  const Schedule schedule = Compile(step.graph, step.info, step.request, request_.edit->placement, machine);
  {
    const Prediction prediction = PredictEdit(*request_.base, *request_.edit, schedule, cancelled_);
    WrittenRun predicted(&writer, info);
    writer.AddSchedule(predicted.id(), schedule);
    PublishSteps(schedule, prediction.simulation, request_.steps, 0, writer.Sink(predicted.id()));
    predicted.End();
  }

  info.simulated = false;
  info.prediction_of.clear();
  exec::Session session(step.graph, request_.edit->placement, machine);
  {
    std::lock_guard lock(mutex_);
    session_ = &session;
  }
  try {
    if (!step.spec.init.empty()) session.Run(exec::RunRequest{{}, {}, step.spec.init});
    exec::PreparedStep& prepared =
        session.Prepare({MakeFeeds(step.spec, 0), step.spec.fetches, step.spec.targets});
    info.info = prepared.info.get();
    WrittenRun measured(&writer, info);
    try {
      Recorder recorder(writer.Sink(measured.id()));
      session.Record(&recorder, &prepared, writer.AddSchedule(measured.id(), *prepared.schedule));
      RunSteps(&session, &prepared, &writer);
      recorder.Flush();
      session.Record(nullptr, nullptr, 0);
    } catch (const Error& error) {
      measured.SetError(error.what());
      throw;
    }
    measured.End();
  } catch (...) {
    std::lock_guard lock(mutex_);
    session_ = nullptr;
    throw;
  }
  {
    std::lock_guard lock(mutex_);
    session_ = nullptr;
  }
  writer.Close();
}

void MeasureJob::RunSteps(exec::Session* session, exec::PreparedStep* prepared, TraceWriter* writer) {
  const int all = request_.warmup + request_.steps;
  for (int i = 0; i < all; ++i) {
    if (cancelled_.load(std::memory_order_relaxed)) Throw(Code::kCancelled, "the measurement was stopped");
    writer->RequireHealthy();
    session->SetRecording(i >= request_.warmup);
    session->Run(*prepared, MakeFeeds(request_.base->graph->spec, i));
    progress_.store(static_cast<double>(i + 1) / all, std::memory_order_relaxed);
    if (wake_) wake_();
  }
}

}  // namespace lanescope::gui
