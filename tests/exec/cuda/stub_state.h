// SPDX-License-Identifier: Apache-2.0
// Common state of the stub's parts: streams with the work issued to them, events, recorded graphs and
// captures.
#pragma once

#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "tests/exec/cuda/stub_cuda.h"

namespace lanescope::exec::test {

inline thread_local int current_gpu = -1;

struct StubCuda::Stream {
  int ordinal = 0;
  std::deque<Work> work;
  Capture* capture = nullptr;
  size_t lane = 0;  // in the capture
};

struct StubCuda::Event {
  int ordinal = 0;
  bool timed = false;
  int64_t recorded = 0;   // times issued
  int64_t completed = 0;  // times run
  int64_t time_ns = 0;
  Capture* capture = nullptr;  // recorded last while this was captured
  bool captured = false;       // recorded last in a capture, which may have ended
  size_t node = 0;             // the node that it stands for
  size_t lane = 0;
};

struct StubCuda::Graph {
  std::vector<std::deque<Work>> lanes;
  size_t nodes = 0;
  int64_t event_nodes = 0;
  std::vector<std::unique_ptr<char>> handles;
};

struct StubCuda::Capture {
  std::unique_ptr<Graph> graph = std::make_unique<Graph>();
  Stream* origin = nullptr;
  std::thread::id thread;
  bool open = true;
  std::vector<Stream*> streams;
  std::vector<bool> joined;  // by lane: the origin has waited for all of it
};

}  // namespace lanescope::exec::test
