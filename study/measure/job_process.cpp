// SPDX-License-Identifier: Apache-2.0
// Processes of a job as participants: those that make the same calls, and one that runs something by itself.
#include <utility>

#include "core/base/error.h"
#include "core/machine/tasks.h"
#include "exec/device/device_set.h"
#include "study/measure/job_capture.h"
#include "study/measure/participant.h"

namespace lanescope::study {
namespace {

class JobProcess : public Participant {
 public:
  JobProcess(Job* job, bool start_together) : job_(*job), start_together_(start_together) {}

  void RequireRunnable(const Workload& workload) const override {
    if (workload.spec().queue_runners.empty()) return;
    Throw(
        Code::kUnimplemented,
        "{} has threads that fill its queues, whose steps processes that make the same calls cannot take in "
        "the same order; run it in one process, or with tasks that others serve (lanescope serve)",
        workload.name());
  }
  void Join(const Machine& /*machine*/, exec::SessionOptions* session) const override {
    session->job = job_.session_options();
  }
  // Where one process cannot capture, none does.
  std::string CaptureProblem(const RunCapture& capture, const Machine& machine) const override {
    return CaptureProblemOfJob(capture, job_, machine);
  }
  std::unique_ptr<JobCapture> ShareCapture(RunCapture* capture, const exec::PreparedStep& step,
                                           traces::ActivitySink* sink) const override {
    return std::make_unique<JobCapture>(capture, job_, *step.share, sink);
  }
  bool shares_captures() const override { return true; }
  std::vector<int> neighbours() const override { return job_.neighbours(); }
  void BeginStep() override {
    if (start_together_) job_.StartTogether();
  }
  bool gathers() const override { return true; }
  // The first process has the trace.
  bool TimesCommands(bool mine) const override { return job_.FromFirst(mine); }
  std::vector<Event> Gather(std::vector<Event> own, const exec::PreparedStep& step,
                            exec::Session* /*session*/) override {
    return job_.Gather(own, *step.schedule, *step.share);
  }
  std::vector<Event> Own(std::vector<Event> own, const exec::PreparedStep& step) const override {
    return job_.is_first() ? Job::Numbered(own, *step.share) : std::vector<Event>();
  }
  Computers computers() const override { return job_.computers(); }
  std::vector<RunTask> RunTasks(const Machine& machine) const override { return job_.RunTasks(machine); }
  std::string WhyTerminated() const override { return kAnotherMayHaveFailed; }

 private:
  Job& job_;
  const bool start_together_;
};

class JobTask : public Participant {
 public:
  JobTask(Job* job, int task) : job_(*job), task_(task) {}

  void Join(const Machine& machine, exec::SessionOptions* session) const override {
    session->job.client = task_;
    session->device_set = std::make_shared<exec::DeviceSet>(SeenByTask(machine, task_), session->devices);
  }
  std::vector<int> neighbours() const override { return job_.neighbours(); }
  std::vector<RunTask> RunTasks(const Machine& machine) const override { return job_.RunTasks(machine); }
  std::string WhyTerminated() const override { return job_.is_shared() ? kAnotherMayHaveFailed : ""; }

 private:
  Job& job_;
  const int task_;
};

}  // namespace

std::shared_ptr<Participant> ProcessOfJob(Job* job, bool start_together) {
  if (job == nullptr || !job->is_shared()) return std::make_shared<Participant>();
  return std::make_shared<JobProcess>(job, start_together);
}

std::shared_ptr<Participant> TaskOfJob(Job* job, int task) { return std::make_shared<JobTask>(job, task); }

}  // namespace lanescope::study
