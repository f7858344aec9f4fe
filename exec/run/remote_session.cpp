// SPDX-License-Identifier: Apache-2.0
#include "exec/run/remote_session.h"

#include <algorithm>
#include <chrono>

#include "core/graph/graph_io.h"
#include "core/machine/tasks.h"

namespace lanescope::exec {

RemoteSession::RemoteSession(RemoteTasks* tasks, const Graph& graph, const Placement& placement,
                             const Machine& machine, uint64_t seed)
    : tasks_(*tasks), graph_(graph), placement_(placement), machine_(machine), seed_(seed) {}

RemoteSession::~RemoteSession() {
  for (const auto& [task, opened] : opened_) {
    try {
      tasks_.Ask(task, Call::kClose, FrameWriter().Number(opened.session).Take());
    } catch (const Error&) {  // it is gone
    }
  }
}

void RemoteSession::RequireServed(int task) const {
  if (tasks_.Serves(task)) return;
  Throw(Code::kFailedPrecondition,
        "the step has a part on {}, but {} runs a graph of its own and serves nobody; place its nodes "
        "elsewhere, "
        "or start `lanescope serve` there",
        TasksOf(machine_).names[static_cast<size_t>(task)], tasks_.transport().NameOf(task));
}

int64_t RemoteSession::OpenAt(int task) {
  const auto found = opened_.find(task);
  if (found != opened_.end()) return found->second.session;
  FrameWriter writer;
  writer.Number(tasks_.protocol()).Text(MachineToJson(machine_)).Text(GraphToBinary(graph_));
  std::vector<int32_t> devices, priorities;
  for (const DeviceId device : placement_.device) devices.push_back(device.number());
  for (const int priority : placement_.priority) priorities.push_back(priority);
  writer.Records(devices).Records(priorities).Number(static_cast<int64_t>(seed_));
  const std::string answer = tasks_.Ask(task, Call::kOpen, writer.Take());
  Opened opened{FrameReader(answer).Number(), tasks_.ClockAhead(task)};
  return opened_.emplace(task, opened).first->second.session;
}

void RemoteSession::Ready(RemoteStep* step) {
  const std::lock_guard lock(mutex_);
  if (step->number >= 0) return;
  for (const int task : step->tasks) RequireServed(task);
  const int64_t number = steps_++;
  for (const int task : step->tasks) {
    FrameWriter writer;
    writer.Number(OpenAt(task)).Number(number);
    const std::string answer = tasks_.Ask(task, Call::kPrepare, writer.Take() + step->request);
    FrameReader reader(answer);
    if (reader.Number() == step->commands && reader.Number() == step->messages) continue;
    Throw(Code::kInternal, "{} compiles another schedule of the same step; are the programs the same?",
          tasks_.transport().NameOf(task));
  }
  step->number = number;
}

std::vector<Event> RemoteSession::TakeEvents() {
  const std::lock_guard lock(mutex_);
  std::vector<Event> all;
  for (auto& [task, opened] : opened_) {
    opened.clock_ahead_ns = tasks_.ClockAhead(task);
    const std::string answer = tasks_.Ask(task, Call::kEvents, FrameWriter().Number(opened.session).Take());
    for (Event event : FrameReader(answer).Records<Event>()) {
      event.start_ns -= opened.clock_ahead_ns;
      event.end_ns -= opened.clock_ahead_ns;
      all.push_back(event);
    }
  }
  return all;
}

RemoteRun::RemoteRun(RemoteSession* session, const RemoteStep& step, int schedule, int number)
    : session_(*session) {
  if (step.tasks.empty()) return;
  RemoteTasks& tasks = session_.tasks_;
  first_tag_ = tasks.TakeTags(static_cast<int>(step.messages) + 1);
  std::map<int, RemoteSession::Opened> opened;
  {
    const std::lock_guard lock(session_.mutex_);
    opened = session_.opened_;
  }
  for (const int task : step.tasks) {
    Part part;
    part.task = task;
    state_->parts.push_back(part);
  }
  try {
    for (size_t p = 0; p < step.tasks.size(); ++p) {
      const RemoteSession::Opened& at = opened.at(step.tasks[p]);
      FrameWriter writer;
      writer.Number(at.session).Number(step.number).Number(first_tag_).Number(schedule).Number(number);
      const auto answered = [state = state_, p, ahead = at.clock_ahead_ns](const Error* error,
                                                                           std::string_view results) {
        state->End(p, error, results, ahead);
      };
      const int64_t call = tasks.Begin(step.tasks[p], Call::kRun, writer.Take(), answered);
      const std::lock_guard lock(state_->mutex);
      state_->parts[p].call = call;
    }
  } catch (...) {
    {
      const std::lock_guard lock(state_->mutex);
      for (Part& part : state_->parts) part.ended = part.ended || part.call == 0;  // never begun
    }
    StopAll();
    throw;
  }
}

// An answer that cannot be read ends its part too.
void RemoteRun::State::End(size_t part, const Error* failure, std::string_view results, int64_t ahead_ns) {
  StepTimes times;
  int64_t staleness = -1;
  std::optional<Error> failed;
  if (failure != nullptr) failed = *failure;
  try {
    FrameReader reader(results);
    if (!failed) times.start_ns = reader.Number() - ahead_ns;
    if (!failed) times.end_ns = reader.Number() - ahead_ns;
    if (!failed) staleness = reader.Number();
  } catch (const Error& broken) {
    failed = broken;
  }
  const std::lock_guard lock(mutex);
  parts[part].ended = true;
  parts[part].times = times;
  parts[part].staleness = staleness;
  if (failed) {
    // The error of a share that was stopped is a consequence.
    if (!error || error->code() == Code::kCancelled) error = failed;
    stop.store(true);
  }
  changed.notify_all();
}

RemoteRun::~RemoteRun() { StopAll(); }

// A share that has ended needs no stop; one that is lost has an answer too.
void RemoteRun::StopAll() {
  std::vector<Part> parts;
  {
    const std::lock_guard lock(state_->mutex);
    parts = state_->parts;
  }
  for (const Part& part : parts) {
    if (!part.ended) session_.tasks_.Stop(part.task, part.call);
  }
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return std::ranges::all_of(state_->parts, &Part::ended); });
}

StepTimes RemoteRun::Join(StepTimes own, const std::function<void(int task)>& wait) {
  std::unique_lock lock(state_->mutex);
  for (;;) {
    if (state_->error) throw *state_->error;
    const auto missing = std::ranges::find(state_->parts, false, &Part::ended);
    if (missing == state_->parts.end()) break;
    const int task = missing->task;
    state_->changed.wait_for(lock, std::chrono::milliseconds(1));
    lock.unlock();
    wait(task);
    lock.lock();
  }
  for (const Part& part : state_->parts) {
    own.start_ns = std::min(own.start_ns, part.times.start_ns);
    own.end_ns = std::max(own.end_ns, part.times.end_ns);
    staleness_ = std::max(staleness_, part.staleness);
  }
  const bool took_tags = !state_->parts.empty();
  lock.unlock();
  if (took_tags) session_.tasks_.GiveTagsBack(first_tag_);
  return own;
}

Error RemoteRun::Fail(const Error& own) {
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->error && own.code() == Code::kCancelled) return *state_->error;
  }
  StopAll();
  return own;
}

}  // namespace lanescope::exec
