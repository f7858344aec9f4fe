// SPDX-License-Identifier: Apache-2.0
// Steps of which other processes run a part: those that make the same calls, and those that serve this one.
#include <algorithm>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/machine/tasks.h"
#include "core/schedule/task_share.h"
#include "exec/run/remote_session.h"
#include "exec/run/session.h"
#include "exec/run/step_exchange.h"

namespace lanescope::exec {
namespace {

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

}  // namespace

// Of the whole step what runs here, and what those that serve this process are asked of it.
void Session::TakeShare(const StepDescription& description, const std::vector<JointParts>& joint,
                        PreparedStep* step) const {
  const Transport& transport = *options_.job.transport;
  const MachineTasks tasks = TasksOf(machine_);
  step->share = std::make_shared<const TaskShare>(
      ShareOfTask(*step->schedule, tasks, transport.rank(), options_.job.client, joint));
  RequireTags(*step->share, transport);
  step->here = std::shared_ptr<const Schedule>(step->share, &step->share->schedule);
  if (elsewhere_ == nullptr) return;
  step->elsewhere = std::make_unique<RemoteStep>();
  step->elsewhere->tasks = TasksWithAPart(*step->schedule, tasks);
  std::erase(step->elsewhere->tasks, transport.rank());
  step->elsewhere->request = FrameOf(description);
  step->elsewhere->commands = static_cast<int64_t>(step->schedule->commands.size());
  step->elsewhere->messages = step->share->num_messages;
}

// This process' share, and those that others run for it.
void Session::RunServed(const PreparedStep& step, Executor* executor, LoadedSchedule* loaded,
                        StepState* state, int64_t timeout_ns, const StepTrace& trace, RunResult* result) {
  const bool recorded = trace.recorder != nullptr;
  RemoteRun others(elsewhere_.get(), *step.elsewhere, recorded ? trace.schedule : -1,
                   recorded ? trace.step : -1);
  if (loaded->messages() != nullptr) loaded->messages()->BeginStepAt(others.first_tag());
  try {
    const Executor::AwaitsOthers awaits(executor);
    const StepTimes own = executor->Run(loaded, state, timeout_ns, trace, &others.stop());
    result->times = others.Join(own, [&](int missing) {
      if (executor->TakeInterrupt()) Throw(Code::kCancelled, "the step was cancelled");
      if (timeout_ns > 0 && NowNs() - own.start_ns >= timeout_ns)
        Throw(Code::kDeadlineExceeded, "the step took longer than {} ms, and {} has not ended its part",
              timeout_ns / 1000000, options_.job.transport->NameOf(missing));
    });
    result->staleness = others.staleness();
  } catch (const Error& error) {
    throw others.Fail(error);
  }
}

// With processes that make the same calls, and so give their messages the same tags.
StepTimes Session::RunTogether(const PreparedStep& step, Executor* executor, LoadedSchedule* loaded,
                               StepState* state, int64_t number, int64_t timeout_ns, const StepTrace& trace) {
  Transport& transport = *options_.job.transport;
  if (transport.is_given_up()) {
    Throw(Code::kFailedPrecondition,
          "these processes have given up a step, of which messages may still come: start all of them anew");
  }
  try {
    if (loaded->messages() != nullptr) loaded->messages()->BeginStep(number);
    const StepTimes own = executor->Run(loaded, state, timeout_ns, trace);
    return JoinTimes(step, executor, number, own, timeout_ns);
  } catch (...) {
    transport.GiveUp();
    throw;
  }
}

// No process begins a step before all have ended the one before.
StepTimes Session::JoinTimes(const PreparedStep& step, Executor* executor, int64_t number,
                             const StepTimes& own, int64_t timeout_ns) {
  const auto ahead = [&](int rank) {
    const auto r = static_cast<size_t>(rank);
    return r < options_.job.ahead_ns.size() ? options_.job.ahead_ns[r] : 0;
  };
  Transport& transport = *options_.job.transport;
  const Executor::AwaitsOthers awaits(executor);
  const std::vector<StepTimes> all =
      ExchangeTimes(&transport, own, EndOfStepTag(*step.share, number), [&](int missing) {
        if (executor->TakeInterrupt()) Throw(Code::kCancelled, "the step was cancelled");
        if (timeout_ns > 0 && NowNs() - own.start_ns >= timeout_ns)
          Throw(Code::kDeadlineExceeded, "the step took longer than {} ms, and {} has not ended it",
                timeout_ns / 1000000, transport.NameOf(missing));
      });
  StepTimes joined = own;
  joined.messaging_ns = 0;
  for (int rank = 0; rank < transport.size(); ++rank) {
    const StepTimes& times = all[static_cast<size_t>(rank)];
    const int64_t shift = ahead(transport.rank()) - ahead(rank);
    joined.start_ns = std::min(joined.start_ns, times.start_ns + shift);
    joined.end_ns = std::max(joined.end_ns, times.end_ns + shift);
    joined.messaging_ns += times.messaging_ns;
  }
  return joined;
}

std::vector<Event> Session::TakeServedEvents() {
  return elsewhere_ != nullptr ? elsewhere_->TakeEvents() : std::vector<Event>();
}

}  // namespace lanescope::exec
