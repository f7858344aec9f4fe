// SPDX-License-Identifier: Apache-2.0
#include "python/binding/interruption.h"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>

#include "core/base/thread.h"
#include "python/binding/calls.h"

namespace lanescope::python {

void RunInterruptibly(const std::function<void(study::Cancellation&)>& work) {
  study::Cancellation cancellation;
  RunInterruptibly(&cancellation, [&] { work(cancellation); });
}

void RunInterruptibly(study::Cancellation* cancellation, const std::function<void()>& work) {
  constexpr std::chrono::milliseconds kBetweenLooks(50);
  std::exception_ptr thrown;
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false;
  std::optional<nb::python_error> signal;
  {
    Unlocked unlocked(cancellation);
    Thread thread("studying", [&] {
      try {
        work();
      } catch (...) {
        thrown = std::current_exception();
      }
      const std::lock_guard lock(mutex);
      done = true;
      ended.notify_one();
    });
    std::unique_lock lock(mutex);
    while (!ended.wait_for(lock, kBetweenLooks, [&] { return done; })) {
      lock.unlock();
      unlocked.WithLock([&] {
        if (signal || PyErr_CheckSignals() == 0) return;
        signal.emplace();  // takes the exception that is set
        cancellation->Cancel();
      });
      lock.lock();
    }
    lock.unlock();
    thread.Wait();
  }
  if (signal) throw std::move(*signal);
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace lanescope::python
