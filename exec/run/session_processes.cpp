// SPDX-License-Identifier: Apache-2.0
// Steps of which other processes run a part: those that make the same calls, and those that serve this one.
#include <algorithm>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/machine/tasks.h"
#include "core/schedule/task_share.h"
#include "exec/messages/peer_connections.h"
#include "exec/run/loaded_schedule.h"
#include "exec/run/remote_session.h"
#include "exec/run/session_peers.h"
#include "exec/run/step_exchange.h"

namespace lanescope::exec {
namespace {

// Links of a machine that host threads play are emulated, those between its tasks too.
bool IsPaced(const Machine& machine) {
  return std::any_of(machine.devices.begin(), machine.devices.end(),
                     [](const DeviceSpec& device) { return device.kind == DeviceKind::kVirtual; });
}

// As ServedSession::Prepare reads it.
std::string FrameOf(const StepDescription& step) {
  FrameWriter writer;
  writer.Number(static_cast<int64_t>(step.feeds.size()));
  for (const auto& [name, info] : step.feeds) {
    const auto dims = info.shape.dims();
    writer.Text(name).Number(static_cast<int64_t>(info.dtype));
    writer.Records(std::vector<int64_t>(dims.begin(), dims.end()));
  }
  return writer.Texts(step.fetches).Texts(step.targets).Take();
}

// Called again and again while others still run their parts of the step, with one that does.
std::function<void(int missing)> WaitForOthers(const StepInProgress& running, int64_t start_ns,
                                               const Transport& transport, const char* what) {
  return [&running, &transport, start_ns, what](int missing) {
    if (running.executor->TakeInterrupt()) Throw(Code::kCancelled, "the step was cancelled");
    if (running.timeout_ns > 0 && NowNs() - start_ns >= running.timeout_ns)
      Throw(Code::kDeadlineExceeded, "the step took longer than {} ms, and {} has not ended {}",
            running.timeout_ns / 1000000, transport.NameOf(missing), what);
  };
}

// Each process is a task: they make the same calls, or one of them asks this one for its share of a step
// (Session::RunShare).
class ProcessesOfJob : public SessionPeers {
 public:
  ProcessesOfJob(const SessionParts& parts, const JobOptions& job)
      : SessionPeers(parts),
        job_(job),
        transport_(*job.transport),
        connections_(TasksOf(parts.machine), parts.devices, job.transport) {}

  void Share(const StepDescription&, PreparedStep* step) override {
    const auto joint = RequireConnections(*step->schedule, job_.joins_gpus ? &connections_ : nullptr);
    step->share = std::make_shared<const TaskShare>(
        ShareOfTask(*step->schedule, TasksOf(parts_.machine), transport_.rank(), job_.client, joint));
    RequireTags(*step->share, transport_);
    step->here = std::shared_ptr<const Schedule>(step->share, &step->share->schedule);
    RequireQueues(*step);
  }

  std::function<void(LoadedSchedule*)> ConnectionOf(const PreparedStep& step) const override {
    return [this, share = step.share](LoadedSchedule* loaded) {
      loaded->Connect(share, &transport_, IsPaced(parts_.machine) ? &parts_.machine : nullptr, &connections_);
    };
  }

  // They give their messages the same tags.
  RunResult Run(const StepInProgress& running) override {
    if (transport_.is_given_up()) {
      Throw(Code::kFailedPrecondition,
            "these processes have given up a step, of which messages may still come: start all of them anew");
    }
    try {
      if (running.loaded->messages() != nullptr) running.loaded->messages()->BeginStep(running.number);
      return {{}, JoinTimes(running, running.RunHere())};
    } catch (...) {
      transport_.GiveUp();
      throw;
    }
  }

 protected:
  Transport& transport() const { return transport_; }

 private:
  int64_t Ahead(int rank) const {
    const auto r = static_cast<size_t>(rank);
    return r < job_.ahead_ns.size() ? job_.ahead_ns[r] : 0;
  }

  // No process begins a step before all have ended the one before.
  StepTimes JoinTimes(const StepInProgress& running, const StepTimes& own) {
    const Executor::AwaitsOthers awaits(running.executor);
    const std::vector<StepTimes> all =
        ExchangeTimes(&transport_, own, EndOfStepTag(*running.step.share, running.number),
                      WaitForOthers(running, own.start_ns, transport_, "it"));
    StepTimes joined = own;
    joined.messaging_ns = 0;
    for (int rank = 0; rank < transport_.size(); ++rank) {
      const StepTimes& times = all[static_cast<size_t>(rank)];
      const int64_t shift = Ahead(transport_.rank()) - Ahead(rank);
      joined.start_ns = std::min(joined.start_ns, times.start_ns + shift);
      joined.end_ns = std::max(joined.end_ns, times.end_ns + shift);
      joined.messaging_ns += times.messaging_ns;
    }
    return joined;
  }

  const JobOptions& job_;
  Transport& transport_;
  PeerConnections connections_;
};

// Tasks that serve this process.
class ServingTasks : public ProcessesOfJob {
 public:
  ServingTasks(const SessionParts& parts, const JobOptions& job, uint64_t seed)
      : ProcessesOfJob(parts, job),
        elsewhere_(job.servers, parts.graph, parts.placement, parts.machine, seed) {}

  void Share(const StepDescription& description, PreparedStep* step) override {
    ProcessesOfJob::Share(description, step);
    step->elsewhere = std::make_unique<RemoteStep>();
    step->elsewhere->tasks = TasksWithAPart(*step->schedule, TasksOf(parts_.machine));
    std::erase(step->elsewhere->tasks, transport().rank());
    step->elsewhere->request = FrameOf(description);
    step->elsewhere->commands = static_cast<int64_t>(step->schedule->commands.size());
    step->elsewhere->messages = step->share->num_messages;
  }

  void Ready(PreparedStep* step) override { elsewhere_.Ready(step->elsewhere.get()); }

  // This process' share, and those that others run for it.
  RunResult Run(const StepInProgress& running) override {
    const bool recorded = running.trace.recorder != nullptr;
    RemoteRun others(&elsewhere_, *running.step.elsewhere, recorded ? running.trace.schedule : -1,
                     recorded ? running.trace.step : -1);
    if (running.loaded->messages() != nullptr) running.loaded->messages()->BeginStepAt(others.first_tag());
    try {
      const Executor::AwaitsOthers awaits(running.executor);
      const StepTimes own = running.RunHere(&others.stop());
      const StepTimes all = others.Join(own, WaitForOthers(running, own.start_ns, transport(), "its part"));
      return {{}, all, others.staleness()};
    } catch (const Error& error) {
      throw others.Fail(error);
    }
  }

  std::vector<Event> TakeEvents() override { return elsewhere_.TakeEvents(); }

 private:
  RemoteSession elsewhere_;
};

}  // namespace

std::unique_ptr<SessionPeers> PeersOf(const SessionParts& parts, const JobOptions& job, uint64_t seed) {
  if (job.transport == nullptr) return std::make_unique<SessionPeers>(parts);
  if (job.servers == nullptr) return std::make_unique<ProcessesOfJob>(parts, job);
  return std::make_unique<ServingTasks>(parts, job, seed);
}

}  // namespace lanescope::exec
