// SPDX-License-Identifier: Apache-2.0
#include "core/base/thread.h"

#include <new>
#include <system_error>
#include <utility>

namespace lanescope {

Thread::Thread(std::string_view purpose, std::function<void()> work)
    : thrown_(std::make_unique<std::exception_ptr>()) {
  const auto run = [thrown = thrown_.get(), work = std::move(work)] {
    try {
      work();
    } catch (...) {
      *thrown = std::current_exception();
    }
  };
  try {
    thread_ = std::thread(run);
  } catch (const std::system_error& error) {
    Throw(Code::kResourceExhausted,
          "no thread could be started for {} ({}); use fewer workers, or raise the limits of processes and "
          "memory (ulimit -u, ulimit -v)",
          purpose, error.code().message());
  }
}

Thread::~Thread() { Wait(); }

Thread& Thread::operator=(Thread&& other) noexcept {
  Wait();
  thrown_ = std::move(other.thrown_);
  thread_ = std::move(other.thread_);
  return *this;
}

void Thread::Wait() {
  if (thread_.joinable()) thread_.join();
}

void Thread::Join() {
  Wait();
  if (thrown_ == nullptr || *thrown_ == nullptr) return;
  std::rethrow_exception(std::exchange(*thrown_, nullptr));
}

void JoinAll(std::span<Thread> threads) {
  for (Thread& thread : threads) thread.Wait();
  for (Thread& thread : threads) thread.Join();
}

Error ErrorInFlight() {
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return {Code::kResourceExhausted, "the host has no memory left for this"};
  } catch (const std::exception& exception) {
    return {Code::kInternal, exception.what()};
  } catch (...) {
    return {Code::kUnknown, "what was thrown is no error"};
  }
}

}  // namespace lanescope
