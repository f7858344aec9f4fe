// SPDX-License-Identifier: Apache-2.0
// The threads of a test program: how many run, and a system that has none left. Link thread_starts.cpp.
#pragma once

namespace lanescope::test {

// While it lives, so many more threads can start; every later start fails as at the limit of processes. One
// at a time.
class ThreadStarts {
 public:
  explicit ThreadStarts(int left);
  ~ThreadStarts();
  ThreadStarts(const ThreadStarts&) = delete;
  ThreadStarts& operator=(const ThreadStarts&) = delete;

  // Whether a start has failed.
  bool exhausted() const;
};

// Threads that were started and have not ended their work. A joined thread has.
int RunningThreads();

}  // namespace lanescope::test
