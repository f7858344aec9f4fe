#include "profiler/cupti_kinds.h"

#include <algorithm>
#include <iterator>

namespace lanescope {
namespace {

// With the flushes, so for ten seconds.
constexpr int kMaxRetries = 50;

constexpr CUpti_ActivityKind kFacts[] = {CUPTI_ACTIVITY_KIND_DEVICE, CUPTI_ACTIVITY_KIND_CONTEXT,
                                         CUPTI_ACTIVITY_KIND_STREAM, CUPTI_ACTIVITY_KIND_NVLINK};
// MEMCPY2 is delivered only while MEMCPY is enabled too. KERNEL would run one kernel at a time.
constexpr CUpti_ActivityKind kWork[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                        CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET};
constexpr CUpti_ActivityKind kRest[] = {CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
                                        CUPTI_ACTIVITY_KIND_OVERHEAD};

// Called all the time, and of no use in a trace.
constexpr CUpti_CallbackId kChatty[] = {
    CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaSetDevice_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaPeekAtLastError_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaDeviceGetAttribute_v5000,
    CUPTI_RUNTIME_TRACE_CBID_cudaGetDeviceCount_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamIsCapturing_v10000,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamIsCapturing_ptsz_v10000,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamGetCaptureInfo_v2_v11030,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamGetCaptureInfo_v2_ptsz_v11030,
    CUPTI_RUNTIME_TRACE_CBID_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags_v7000,
};

// Calls that start work. The runtime's carry the tags where the other calls are not recorded; the driver's
// are made by libraries directly, without the runtime.
constexpr CUpti_CallbackId kRuntimeLaunches[] = {
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_ptsz_v7000,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_ptsz_v11060,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_v9000,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_ptsz_v9000,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy_ptds_v7000,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_ptsz_v7000,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyPeerAsync_v4000,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_ptsz_v7000,
    CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000,
    CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_ptsz_v10000,
};
constexpr CUpti_CallbackId kDriverLaunches[] = {
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpyAsync,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoHAsync_v2,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoDAsync_v2,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpyPeerAsync,
    CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async,
    CUPTI_DRIVER_TRACE_CBID_cuMemsetD32Async,
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
};

}  // namespace

void CuptiKinds::Enable(CUpti_ActivityKind kind) {
  if (library_->Enable(kind) != CUPTI_SUCCESS) refused_.push_back(kind);
}

void CuptiKinds::Disable(CUpti_ActivityKind kind) {
  std::erase(refused_, kind);
  library_->Disable(kind);
}

void CuptiKinds::EnableFacts() {
  std::lock_guard lock(mutex_);
  for (const CUpti_ActivityKind kind : kFacts) Enable(kind);
}

void CuptiKinds::DisableFacts() {
  std::lock_guard lock(mutex_);
  for (const CUpti_ActivityKind kind : kFacts) Disable(kind);
}

void CuptiKinds::SetRecording(bool on) {
  std::lock_guard lock(mutex_);
  if (on == recording_) return;
  recording_ = on;
  retries_ = 0;
  const auto change = [&](CUpti_ActivityKind kind) { on ? Enable(kind) : Disable(kind); };
  for (const CUpti_ActivityKind kind : kWork) change(kind);
  if (mode_ == CaptureMode::kFull) {
    for (const CUpti_ActivityKind kind : kRest) change(kind);
  }
  if (with_tags_) change(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
  calls_are_set_ = SwitchCalls(on);
}

// After the kinds: enabling all calls of the runtime overrides what is said of single ones.
bool CuptiKinds::SwitchCalls(bool on) {
  bool done = true;
  const auto runtime = [&](CUpti_CallbackId call, bool wanted) {
    done = library_->EnableRuntimeApi(call, wanted ? 1 : 0) == CUPTI_SUCCESS && done;
  };
  if (mode_ == CaptureMode::kFull && on) {
    for (const CUpti_CallbackId call : kChatty) runtime(call, false);
  }
  if (mode_ != CaptureMode::kFull && with_tags_) {
    for (const CUpti_CallbackId call : kRuntimeLaunches) runtime(call, on);
  }
  if (mode_ == CaptureMode::kFull || with_tags_) {
    for (const CUpti_CallbackId call : kDriverLaunches) {
      done = library_->EnableDriverApi(call, on ? 1 : 0) == CUPTI_SUCCESS && done;
    }
  }
  return done;
}

void CuptiKinds::Retry() {
  std::lock_guard lock(mutex_);
  if ((refused_.empty() && calls_are_set_) || retries_ >= kMaxRetries) return;
  ++retries_;
  const bool last = retries_ == kMaxRetries;
  const size_t before = refused_.size();
  std::erase_if(refused_, [&](CUpti_ActivityKind kind) {
    const CUptiResult result = library_->Enable(kind);
    if (result != CUPTI_SUCCESS && last) {
      note_("records of kind " + std::to_string(kind) + " are not available: " + library_->Describe(result));
    }
    return result == CUPTI_SUCCESS;
  });
  if (refused_.size() == before && calls_are_set_) return;
  calls_are_set_ = SwitchCalls(recording_);
  if (last && !calls_are_set_) note_("some API calls cannot be switched on or off");
}

}  // namespace lanescope
