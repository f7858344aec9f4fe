// SPDX-License-Identifier: Apache-2.0
// Common parts of the tests of the CUDA backend's host logic.
#pragma once

#include <memory>

#include "tests/exec/cuda/stub_cuda.h"
#include "tests/exec/sample_run.h"

namespace lanescope::exec::test {

// The stub is the process's CUDA module while this lives.
class StubGuard {
 public:
  explicit StubGuard(const StubOptions& options = {}) : stub_(std::make_unique<StubCuda>(options)) {
    cuda::SetCudaModuleForTesting(stub_.get());
  }
  ~StubGuard() { cuda::SetCudaModuleForTesting(nullptr); }
  StubCuda& operator*() const { return *stub_; }
  StubCuda* operator->() const { return stub_.get(); }

 private:
  std::unique_ptr<StubCuda> stub_;
};

}  // namespace lanescope::exec::test
