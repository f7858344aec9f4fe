// SPDX-License-Identifier: Apache-2.0
#include "python/binding/calls.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "core/base/error.h"

namespace lanescope::python {
namespace {

constexpr std::chrono::seconds kPatience(10);

}  // namespace

struct Calls {
  const pid_t process = getpid();
  std::mutex mutex;  // guards what follows; who holds it never waits for the interpreter's lock
  std::condition_variable changed;
  int in_progress = 0;
  int returning = 0;     // of those, that wait for the interpreter's lock
  bool refused = false;  // no other begins
  bool over = false;     // who has not come back by now stays away
  std::vector<study::Cancellation*> cancellations;
};

namespace {

// With the interpreter's lock. A forked child has none of its parent's threads, and begins anew.
Calls& CallsHere() {
  static Calls* calls = new Calls;  // threads may be in it until the process is gone
  if (calls->process != getpid()) calls = new Calls;
  return *calls;
}

[[noreturn]] void StayAway() {
  while (true) pause();
}

}  // namespace

Unlocked::Unlocked(study::Cancellation* ends) : ends_(ends), calls_(&CallsHere()) {
  {
    const std::lock_guard lock(calls_->mutex);
    if (calls_->refused)
      Throw(Code::kFailedPrecondition,
            "the program ends, and no call of lanescope begins; let it wait for its threads before");
    ++calls_->in_progress;
    if (ends_ != nullptr) calls_->cancellations.push_back(ends_);
  }
  Unlock();
}

Unlocked::~Unlocked() {
  Lock();
  const std::lock_guard lock(calls_->mutex);
  if (ends_ != nullptr) calls_->cancellations.erase(std::ranges::find(calls_->cancellations, ends_));
  --calls_->in_progress;
  calls_->changed.notify_all();
}

// The end of the program waits for those that return: they get the interpreter's lock while there is one.
void Unlocked::Lock() {
  std::unique_lock lock(calls_->mutex);
  if (calls_->over) {
    lock.unlock();
    StayAway();
  }
  ++calls_->returning;
  lock.unlock();
  PyEval_RestoreThread(thread_);
  lock.lock();
  --calls_->returning;
  calls_->changed.notify_all();
}

void Unlocked::Unlock() { thread_ = PyEval_SaveThread(); }

bool ProgramEnds() {
  Calls& calls = CallsHere();
  const std::lock_guard lock(calls.mutex);
  return calls.refused;
}

void EndCalls() {
  Calls& calls = CallsHere();
  PyThreadState* const thread = PyEval_SaveThread();
  {
    std::unique_lock lock(calls.mutex);
    calls.refused = true;
    for (study::Cancellation* each : calls.cancellations) each->Cancel();
    calls.changed.wait_for(lock, kPatience, [&] { return calls.in_progress == 0; });
    calls.over = true;
    calls.changed.wait(lock, [&] { return calls.returning == 0; });
  }
  PyEval_RestoreThread(thread);
}

}  // namespace lanescope::python
