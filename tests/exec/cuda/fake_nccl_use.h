// The fake NCCL (tests/support/fake_nccl.h) on the streams of a stub of CUDA.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "tests/exec/cuda/stub_cuda.h"
#include "tests/support/fake_nccl.h"

namespace lanescope::exec::test {

// LANESCOPE_NCCL_LIBRARY is this file while this lives.
class NcclFile {
 public:
  explicit NcclFile(const std::string& file) { setenv("LANESCOPE_NCCL_LIBRARY", file.c_str(), 1); }
  ~NcclFile() { unsetenv("LANESCOPE_NCCL_LIBRARY"); }
  NcclFile(const NcclFile&) = delete;
  NcclFile& operator=(const NcclFile&) = delete;
};

// The process's NCCL is the fake one, and runs on the stub. Must outlive the sessions and go before the stub.
class FakeNccl {
 public:
  explicit FakeNccl(StubCuda* stub) : file_(LANESCOPE_FAKE_NCCL), stub_(stub) {
    library_ = dlopen(LANESCOPE_FAKE_NCCL, RTLD_NOW | RTLD_LOCAL);
    LANESCOPE_CHECK(library_ != nullptr);
    const lanescope::test::FakeNcclStreams streams{this, Meet, Enqueue};
    Find<lanescope::test::FakeNcclUse>("FakeNcclUse")(&streams);
  }
  ~FakeNccl() {
    Find<lanescope::test::FakeNcclUse>("FakeNcclUse")(nullptr);
    for (const EventHandle event : events_) stub_->DestroyEvent(event);
  }
  FakeNccl(const FakeNccl&) = delete;
  FakeNccl& operator=(const FakeNccl&) = delete;

  int Calls(const char* function) { return Find<lanescope::test::FakeNcclCalls>("FakeNcclCalls")(function); }
  void Fail(const char* function, int nth) {
    Find<lanescope::test::FakeNcclFail>("FakeNcclFail")(function, nth);
  }
  void AsyncError(int result) { Find<lanescope::test::FakeNcclAsyncError>("FakeNcclAsyncError")(result); }
  int live() { return Find<lanescope::test::FakeNcclLive>("FakeNcclLive")(); }

 private:
  template <typename F>
  F Find(const char* name) {
    return reinterpret_cast<F>(dlsym(library_, name));
  }
  static void Meet(void* user, const int* ordinals, void* const* streams, int count) {
    auto* self = static_cast<FakeNccl*>(user);
    std::vector<EventHandle> arrived;
    for (int i = 0; i < count; ++i) {
      self->stub_->MakeCurrent(ordinals[i]);
      arrived.push_back(self->stub_->CreateEvent(false));
      self->stub_->Record(arrived.back(), static_cast<StreamHandle>(streams[i]));
    }
    for (int i = 0; i < count; ++i) {
      for (const EventHandle event : arrived) self->stub_->Wait(static_cast<StreamHandle>(streams[i]), event);
    }
    self->events_.insert(self->events_.end(), arrived.begin(), arrived.end());
  }
  static void Enqueue(void* user, void* stream, void (*work)(void*), void (*drop)(void*), void* data) {
    const std::shared_ptr<void> owned(data, drop);
    static_cast<FakeNccl*>(user)->stub_->Enqueue(static_cast<StreamHandle>(stream),
                                                 [work, owned] { work(owned.get()); });
  }

  const NcclFile file_;
  StubCuda* const stub_;
  void* library_ = nullptr;
  std::vector<EventHandle> events_;
};

}  // namespace lanescope::exec::test
