// What tests ask of the NCCL that is none (fake_nccl.cpp), beside NCCL's own names.
#pragma once

namespace lanescope::test {

// The streams of whoever uses it.
struct FakeNcclStreams {
  void* user = nullptr;
  // What is issued to any of these streams from now on runs after all that is issued to all of them already.
  void (*meet)(void* user, const int* ordinals, void* const* streams, int count) = nullptr;
  // `drop` is called when the work is gone, whether it has run or not.
  void (*enqueue)(void* user, void* stream, void (*work)(void*), void (*drop)(void*), void* data) = nullptr;
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

}  // namespace lanescope::test
