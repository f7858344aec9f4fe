// SPDX-License-Identifier: Apache-2.0
// The input of a run: threads that fill queues while its steps empty them, who waited for what, and
// how full the queues were.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lanescope {

// The thread of a wait that the run's own steps had.
inline constexpr int kNoInputThread = -1;

struct InputThread {
  int number = 0;
  std::string op;     // the node that it runs again and again
  std::string queue;  // that it fills, as its configuration calls it
};

// A thing that steps wait for: a queue, or the turn at a reader.
struct InputQueue {
  int number = 0;
  std::string name;       // "queue 'examples'", "reader 'lines'"
  int64_t capacity = -1;  // elements; -1: unbounded, or no queue
  int64_t kept = 0;       // elements that it gives away only once it is closed
};

struct InputStep {
  int thread = 0;
  int step = 0;  // of the thread
  int64_t start_ns = 0, end_ns = 0;
};

struct InputWait {
  int thread = kNoInputThread;
  int step = 0;  // of the thread, or of the run
  int node = -1;
  int queue = 0;
  int64_t start_ns = 0, end_ns = 0;
};

// Time of a thread's launches of a node that may wait, once they could go on.
struct InputWork {
  int thread = 0;
  int node = -1;
  int64_t count = 0, ns = 0;
};

struct QueueFill {
  int queue = 0;
  int64_t time_ns = 0;
  int64_t size = 0;
};

// Or the part of it since the one before: threads and queues are told once, before what names them.
struct InputRecord {
  std::vector<InputThread> threads;
  std::vector<InputQueue> queues;
  std::vector<InputStep> steps;
  std::vector<InputWait> waits;
  std::vector<InputWork> works;
  std::vector<QueueFill> fills;

  size_t size() const {
    return threads.size() + queues.size() + steps.size() + waits.size() + works.size() + fills.size();
  }
};

// Appends a part.
void Append(const InputRecord& part, InputRecord* record);

}  // namespace lanescope
