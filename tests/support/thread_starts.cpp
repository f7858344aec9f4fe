// SPDX-License-Identifier: Apache-2.0
#include "tests/support/thread_starts.h"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <limits>
#include <memory>

namespace {

constexpr int kUnlimited = std::numeric_limits<int>::max();

std::atomic<int> starts_left{kUnlimited};
std::atomic<int> running_threads{0};

struct ThreadWork {
  void* (*function)(void*);
  void* argument;
};

void* RunCounted(void* data) {
  const std::unique_ptr<ThreadWork> work(static_cast<ThreadWork*>(data));
  void* result = work->function(work->argument);
  running_threads.fetch_sub(1);
  return result;
}

bool TakeStart() {
  for (int left = starts_left.load(); left != kUnlimited;) {
    if (left < 0 || starts_left.compare_exchange_weak(left, left - 1)) return left > 0;
  }
  return true;
}

}  // namespace

// Takes the place of the C library's for the whole program.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*),
                              void* argument) {
  static const auto start = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  if (!TakeStart()) return EAGAIN;
  auto work = std::make_unique<ThreadWork>(ThreadWork{function, argument});
  running_threads.fetch_add(1);
  const int result = start(thread, attributes, RunCounted, work.get());
  if (result == 0) {
    static_cast<void>(work.release());  // RunCounted's
  } else {
    running_threads.fetch_sub(1);
  }
  return result;
}

namespace lanescope::test {

ThreadStarts::ThreadStarts(int left) { starts_left.store(left); }
ThreadStarts::~ThreadStarts() { starts_left.store(kUnlimited); }
bool ThreadStarts::exhausted() const { return starts_left.load() < 0; }
int RunningThreads() { return running_threads.load(); }

}  // namespace lanescope::test
