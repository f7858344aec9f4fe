// SPDX-License-Identifier: Apache-2.0
#include "study/measure/participant.h"

#include "study/measure/job_capture.h"
#include "study/measure/run_capture.h"

namespace lanescope::study {

void Participant::RequireRunnable(const Workload& /*workload*/) const {}

void Participant::AwaitVariables(Cancellation* /*cancellation*/) {}

void Participant::Join(const Machine& /*machine*/, exec::SessionOptions* /*session*/) const {}

std::vector<std::string> Participant::InitTargets(const PlacedGraph& placed,
                                                  const Machine& /*machine*/) const {
  return placed.workload->spec().init;
}

void Participant::Initialized() {}

std::optional<QueueFillers> Participant::queue_fillers() const { return QueueFillers::kRun; }

std::string Participant::CaptureProblem(const RunCapture& capture, const Machine& /*machine*/) const {
  return capture.problem();
}

std::unique_ptr<JobCapture> Participant::ShareCapture(RunCapture* /*capture*/,
                                                      const exec::PreparedStep& /*step*/,
                                                      traces::ActivitySink* /*sink*/) const {
  return nullptr;
}

std::vector<Event> Participant::Gather(std::vector<Event> own, const exec::PreparedStep& /*step*/,
                                       exec::Session* /*session*/) {
  return own;
}

std::vector<Event> Participant::Own(std::vector<Event> own, const exec::PreparedStep& /*step*/) const {
  return own;
}

void Participant::AwaitOthers(const AfterSteps& /*after*/, Cancellation* /*cancellation*/) {}

std::vector<RunTask> Participant::RunTasks(const Machine& /*machine*/) const { return {}; }

}  // namespace lanescope::study
