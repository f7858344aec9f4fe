// Threads in a process that is somebody else's.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <thread>
#include <utility>

namespace lanescope::profiler {

// A thread that takes no signals: those of the process are for the program's own threads. Throws
// std::system_error where the system has no thread left.
template <typename Work>
std::thread StartQuietThread(Work work) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  struct Restore {
    const sigset_t* signals;
    ~Restore() { pthread_sigmask(SIG_SETMASK, signals, nullptr); }
  } restore{&before};
  return std::thread(std::move(work));
}

}  // namespace lanescope::profiler
