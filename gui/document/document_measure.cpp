// SPDX-License-Identifier: Apache-2.0
#include "gui/document/document_measure.h"

#include <algorithm>

#include "core/base/error.h"
#include "study/measure/recorded_run.h"
#include "study/measure/run_capture.h"
#include "study/predict/recorded_prediction.h"
#include "traces/record/trace_writer.h"

namespace lanescope::gui {
namespace {

void RequireRunnable(const WhatIfEdit& edit) {
  const auto& devices = edit.machine.devices;
  if (std::any_of(devices.begin(), devices.end(),
                  [](const DeviceSpec& device) { return device.kind == DeviceKind::kModelled; })) {
    Throw(Code::kFailedPrecondition,
          "the machine has devices that exist in the simulator alone, so nothing can run");
  }
  if (std::any_of(edit.speed.begin(), edit.speed.end(), [](double factor) { return factor != 1; })) {
    Throw(Code::kFailedPrecondition,
          "devices cannot be made faster or slower here; reset their speeds to run it");
  }
}

}  // namespace

MeasureJob::MeasureJob(MeasureRequest request, std::function<void()> wake)
    : request_(std::move(request)), wake_(std::move(wake)), thread_("a measurement", [this] { Run(); }) {}

MeasureJob::~MeasureJob() {
  Cancel();
  thread_.Wait();
}

std::string MeasureJob::problem() const {
  std::lock_guard lock(mutex_);
  return problem_;
}

std::string MeasureJob::note() const {
  std::lock_guard lock(mutex_);
  return note_;
}

void MeasureJob::Run() {
  std::string problem;
  try {
    Measure();
  } catch (...) {
    problem = cancellation_.cancelled() ? "the measurement was stopped" : ErrorInFlight().message();
  }
  {
    std::lock_guard lock(mutex_);
    problem_ = std::move(problem);
  }
  done_.store(true, std::memory_order_release);
  if (wake_) wake_();
}

void MeasureJob::Measure() {
  const MeasureOptions& options = request_.options;
  RequireRunnable(*request_.edit);
  study::RunCapture capture({options.profile});
  const study::Predictor predictor = PredictorOf(*request_.base, *request_.edit);
  const study::PlacedGraph placed = PlacedEdit(*request_.base, *request_.edit);
  traces::TraceWriter writer(options.trace_path);
  const Schedule schedule = CompileStep(placed, predictor.machine());
  const sims::Prediction prediction =
      predictor.Predict(*placed.workload, schedule, {.draws = 0, .cancelled = &cancellation_.flag()});
  study::RecordPrediction(&writer, placed, schedule, predictor, prediction,
                          {.steps = options.steps, .cancellation = &cancellation_});
  const auto note = [this](const std::string& text) {
    std::lock_guard lock(mutex_);
    note_ += (note_.empty() ? "" : "; ") + text;
  };
  study::RecordedRun run(
      placed, predictor.machine(), &writer,
      {.settings = options.settings, .capture = &capture, .cancellation = &cancellation_, .note = note});
  run.on_step = [&](int64_t number, const std::vector<Tensor>&) {
    progress_.store(static_cast<double>(number + 1) / (options.warmup + options.steps),
                    std::memory_order_relaxed);
    if (wake_) wake_();
  };
  run.RunToEnd(options.warmup, options.steps);
  writer.Close();
}

}  // namespace lanescope::gui
