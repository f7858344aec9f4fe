// SPDX-License-Identifier: Apache-2.0
// The fake NCCL (tests/support/fake_nccl.h) on the streams of a stub of CUDA.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <memory>
#include <string>

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
    const lanescope::test::FakeNcclStreams streams{this, Current, Enqueue};
    Find<lanescope::test::FakeNcclUse>("FakeNcclUse")(&streams);
  }
  ~FakeNccl() { Find<lanescope::test::FakeNcclUse>("FakeNcclUse")(nullptr); }
  FakeNccl(const FakeNccl&) = delete;
  FakeNccl& operator=(const FakeNccl&) = delete;

  int Calls(const char* function) { return Find<lanescope::test::FakeNcclCalls>("FakeNcclCalls")(function); }
  void Fail(const char* function, int nth) {
    Find<lanescope::test::FakeNcclFail>("FakeNcclFail")(function, nth);
  }
  void AsyncError(int result) { Find<lanescope::test::FakeNcclAsyncError>("FakeNcclAsyncError")(result); }
  int overlaps() { return Find<lanescope::test::FakeNcclOverlaps>("FakeNcclOverlaps")(); }
  int live() { return Find<lanescope::test::FakeNcclLive>("FakeNcclLive")(); }

 private:
  template <typename F>
  F Find(const char* name) {
    return reinterpret_cast<F>(dlsym(library_, name));
  }
  static int Current(void*) { return StubCuda::Current(); }
  static void Enqueue(void* user, void* stream, lanescope::test::FakeNcclPart part) {
    const std::shared_ptr<void> owned(part.data, part.drop);
    static_cast<FakeNccl*>(user)->stub_->EnqueueTogether(
        static_cast<StreamHandle>(stream), [part, owned] { return part.may_run(owned.get()); },
        [part, owned] { part.run(owned.get()); });
  }

  const NcclFile file_;
  StubCuda* const stub_;
  void* library_ = nullptr;
};

}  // namespace lanescope::exec::test
