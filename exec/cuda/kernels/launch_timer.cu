// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "exec/cuda/kernels/launch_timer.cuh"

namespace lanescope::exec::cuda {
namespace {

constexpr int kRuns = 3;
constexpr std::chrono::seconds kMostWait{30};

// Whether work on a stream took so long that it is not waited for any more.
struct Patience {
  bool is_lost = false;
};

bool IsCaptured(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  if (cudaStreamIsCapturing(stream, &status) == cudaSuccess) return status != cudaStreamCaptureStatusNone;
  cudaGetLastError();
  return true;
}

// Errors of the stream are told by its next launch.
bool IsDoneSoon(cudaStream_t stream) {
  const auto begin = std::chrono::steady_clock::now();
  for (;;) {
    const cudaError_t status = cudaStreamQuery(stream);
    if (status == cudaSuccess) return true;
    cudaGetLastError();
    if (status != cudaErrorNotReady || std::chrono::steady_clock::now() - begin > kMostWait) return false;
    std::this_thread::yield();
  }
}

}  // namespace

bool MayTry(Launch& launch) {
  if (launch.recorded() || IsCaptured(launch.stream())) return false;
  auto& patience = launch.Keep<Patience>();
  patience.is_lost = patience.is_lost || !IsDoneSoon(launch.stream());
  return !patience.is_lost;
}

LaunchTimer::LaunchTimer(Launch& launch) : stream_(launch.stream()) {
  if (Worked(cudaEventCreate(&begin_))) Worked(cudaEventCreate(&end_));
}

LaunchTimer::~LaunchTimer() {
  for (const cudaEvent_t event : {begin_, end_}) {
    if (event != nullptr) cudaEventDestroy(event);
  }
}

bool LaunchTimer::Worked(cudaError_t status) {
  if (status == cudaSuccess) return true;
  cudaGetLastError();
  works_ = false;
  return false;
}

std::optional<int64_t> LaunchTimer::LeastNs(const std::function<bool()>& run) {
  if (!works_ || !run()) return std::nullopt;
  float least_ms = 0;
  for (int i = 0; i < kRuns; ++i) {
    float ms = 0;
    if (!Worked(cudaEventRecord(begin_, stream_)) || !run()) return std::nullopt;
    if (!Worked(cudaEventRecord(end_, stream_)) || !Worked(cudaEventSynchronize(end_)) ||
        !Worked(cudaEventElapsedTime(&ms, begin_, end_)))
      return std::nullopt;
    least_ms = i == 0 ? ms : std::min(least_ms, ms);
  }
  return std::llround(1e6 * std::max(0.0, static_cast<double>(least_ms)));
}

}  // namespace lanescope::exec::cuda
