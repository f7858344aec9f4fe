// SPDX-License-Identifier: Apache-2.0
// Questions of tests to the fake NCCL (fake_nccl.cpp), beside NCCL's own names.
#pragma once

namespace lanescope::test {

// A part of what several GPUs do together, for a stream.
struct FakeNcclPart {
  // Asked at the front of its stream, until it is true.
  bool (*may_run)(void* data) = nullptr;
  void (*run)(void* data) = nullptr;
  // Called when the part is gone, whether it has run or not.
  void (*drop)(void* data) = nullptr;
  void* data = nullptr;
};

// The streams of whoever uses it.
struct FakeNcclStreams {
  void* user = nullptr;
  // The ordinal of the calling thread's GPU.
  int (*current)(void* user) = nullptr;
  void (*enqueue)(void* user, void* stream, FakeNcclPart part) = nullptr;
};

// By name: FakeNcclUse; null: no streams.
using FakeNcclUse = void (*)(const FakeNcclStreams* streams);
// FakeNcclCalls: how often a function of NCCL has been called since FakeNcclUse.
using FakeNcclCalls = int (*)(const char* function);
// FakeNcclFail: the nth call of it from now on fails.
using FakeNcclFail = void (*)(const char* function, int nth);
// FakeNcclAsyncError: what all communicators say has gone wrong since, until they are aborted.
using FakeNcclAsyncError = void (*)(int result);
// FakeNcclLive: communicators that are there.
using FakeNcclLive = int (*)();
// FakeNcclOverlaps: how often something was issued to a stream while another one of the same GPU had
// something that had not run. NCCL warns of that: it may wait for ever.
using FakeNcclOverlaps = int (*)();

}  // namespace lanescope::test
