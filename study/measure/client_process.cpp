// SPDX-License-Identifier: Apache-2.0
// A process as participant whose graph runs on tasks that serve it, beside other clients of these.
#include <atomic>
#include <utility>

#include "core/base/error.h"
#include "core/base/thread.h"
#include "exec/calls/remote_tasks.h"
#include "study/job/copy_ends.h"
#include "study/job/serving.h"
#include "study/measure/participant.h"

namespace lanescope::study {
namespace {

class ClientProcess : public Participant {
 public:
  explicit ClientProcess(Client client)
      : client_(std::move(client)), servers_(*client_.servers), rank_(servers_.transport().rank()) {}

  // Emptied variables are gone for sessions that come later: those of clients that wait are made after that.
  void AwaitVariables(Cancellation* cancellation) override {
    if (client_.initializer >= 0 && client_.initializer != rank_) {
      Await(client_.initializer, exec::Stage::kReady, cancellation);
    } else if (!client_.reset.empty()) {
      servers_.Reset(client_.reset);
    }
  }
  void Join(const Machine& /*machine*/, exec::SessionOptions* session) const override {
    session->job.transport = &servers_.transport();
    session->job.client = rank_;
    session->job.servers = &servers_;
    session->fuse = false;  // those who serve compile their shares themselves, a launch for each node
  }
  std::vector<std::string> InitTargets(const PlacedGraph& placed, const Machine& machine) const override {
    return initializes() ? placed.workload->spec().init : InitOfTask(placed, machine, rank_);
  }
  void Initialized() override {
    if (initializes() && client_.alone_steps == 0) servers_.Reach(exec::Stage::kReady);
  }
  std::optional<QueueFillers> queue_fillers() const override {
    if (!servers_.OtherClients().empty()) return std::nullopt;
    return QueueFillers::kGraph;
  }
  int steps_alone() const override { return initializes() ? client_.alone_steps : 0; }
  void RanAlone() override { servers_.Reach(exec::Stage::kReady); }
  bool gathers() const override { return true; }
  // Activities of the tasks that serve it would be missing.
  std::string CaptureProblem(const RunCapture& /*capture*/, const Machine& /*machine*/) const override {
    return "others serve this process";
  }
  std::vector<Event> Gather(std::vector<Event> own, const exec::PreparedStep& step,
                            exec::Session* session) override {
    std::vector<Event> all = Job::Numbered(own, *step.share);
    const std::vector<Event> others = session->TakeServedEvents();
    all.insert(all.end(), others.begin(), others.end());
    return JoinCopyEnds(all, {step.schedule.get()});
  }
  std::vector<Event> Own(std::vector<Event> own, const exec::PreparedStep& step) const override {
    return Job::Numbered(own, *step.share);
  }
  // Other processes' steps may wait for what this one's threads put into queues.
  void AwaitOthers(const AfterSteps& after, Cancellation* cancellation) override {
    servers_.Reach(exec::Stage::kDone);
    if (client_.together) return GoOn(after, cancellation);
    if (after.fills_queues) AwaitAllDone(cancellation);
  }
  Computers computers() const override { return client_.computers; }
  std::string WhyTerminated() const override { return kAnotherMayHaveFailed; }

 private:
  bool initializes() const { return client_.initializer == rank_; }

  void Await(int client, exec::Stage stage, Cancellation* cancellation) {
    servers_.Await(client, stage, [&] {
      if (cancellation != nullptr) cancellation->Check();
    });
  }
  void AwaitAllDone(Cancellation* cancellation) {
    for (const int client : servers_.OtherClients()) Await(client, exec::Stage::kDone, cancellation);
  }

  // Runs steps on a thread of its own until all clients are done.
  void GoOn(const AfterSteps& after, Cancellation* cancellation) {
    std::atomic<bool> all_done{false};
    Thread steps("steps for other processes", [&] {
      try {
        while (!all_done.load()) after.step();
      } catch (const Error&) {  // it is ended, or nobody can go on
      }
    });
    const auto end = [&] {
      all_done.store(true);
      after.finish();
      steps.Wait();
    };
    try {
      AwaitAllDone(cancellation);
    } catch (...) {
      end();
      throw;
    }
    end();
    steps.Join();
  }

  const Client client_;
  exec::RemoteTasks& servers_;
  const int rank_;
};

}  // namespace

std::shared_ptr<Participant> ClientOfTasks(Client client) {
  return std::make_shared<ClientProcess>(std::move(client));
}

}  // namespace lanescope::study
