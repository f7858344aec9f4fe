// SPDX-License-Identifier: Apache-2.0
// How long work on a stream takes, tried out before it is used.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <optional>

#include "exec/cuda/launch.cuh"

namespace lanescope::exec::cuda {

// Whether something may be tried out now: the stream is not being captured, the step is not recorded, and all
// that was issued to the stream has run within 30 seconds. (It may wait for another process, and that for
// what this thread holds up: a stream that was not done once is not waited for again.)
bool MayTry(Launch& launch);

// Times work on the stream of a launch that MayTry. Two CUDA events, given back at the end.
class LaunchTimer {
 public:
  explicit LaunchTimer(Launch& launch);
  ~LaunchTimer();
  LaunchTimer(const LaunchTimer&) = delete;
  LaunchTimer& operator=(const LaunchTimer&) = delete;

  // The least time of three runs, in ns, after one that does not count. `run` issues the work; false: it
  // could not. Nothing where it could not, or where events do not work.
  std::optional<int64_t> LeastNs(const std::function<bool()>& run);
  // False once an event has failed.
  bool works() const { return works_; }

 private:
  bool Worked(cudaError_t status);

  const cudaStream_t stream_;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
  bool works_ = true;
};

}  // namespace lanescope::exec::cuda
