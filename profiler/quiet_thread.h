// SPDX-License-Identifier: Apache-2.0
// Threads in a process that is somebody else's.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <thread>
#include <utility>

namespace lanescope::profiler {

// Joined or detached by whoever has it.
using QuietThread = std::thread;

// A thread that takes no signals: those of the process are for the program's own threads. What the work
// throws ends the work alone. Throws std::system_error where the system has no thread left.
template <typename Work>
QuietThread StartQuietThread(Work work) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  struct Restore {
    const sigset_t* signals;
    ~Restore() { pthread_sigmask(SIG_SETMASK, signals, nullptr); }
  } restore{&before};
  return QuietThread([work = std::move(work)]() mutable {
    try {
      work();
    } catch (...) {
      // The program goes on. Work that has something to say of it says so itself.
    }
  });
}

}  // namespace lanescope::profiler
