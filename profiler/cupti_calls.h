// SPDX-License-Identifier: Apache-2.0
// The calls of CUDA's runtime and driver that a capture treats by themselves, by the numbers that CUPTI gives
// them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace lanescope::profiler {

struct CuptiCall {
  uint32_t number;
  const char* name;  // as CUPTI spells it
};

// Called all the time, and of no use in a trace.
inline constexpr CuptiCall kChattyCalls[] = {
    {17, "cudaGetDevice_v3020"},
    {16, "cudaSetDevice_v3020"},
    {10, "cudaGetLastError_v3020"},
    {11, "cudaPeekAtLastError_v3020"},
    {200, "cudaDeviceGetAttribute_v5000"},
    {3, "cudaGetDeviceCount_v3020"},
    {317, "cudaStreamIsCapturing_v10000"},
    {318, "cudaStreamIsCapturing_ptsz_v10000"},
    {409, "cudaStreamGetCaptureInfo_v2_v11030"},
    {410, "cudaStreamGetCaptureInfo_v2_ptsz_v11030"},
    {251, "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags_v7000"},
};

// Calls that start work. The runtime's carry the tags where the other calls are not recorded; the driver's
// are made by libraries directly, without the runtime.
inline constexpr CuptiCall kRuntimeLaunches[] = {
    {211, "cudaLaunchKernel_v7000"},
    {214, "cudaLaunchKernel_ptsz_v7000"},
    {430, "cudaLaunchKernelExC_v11060"},
    {431, "cudaLaunchKernelExC_ptsz_v11060"},
    {269, "cudaLaunchCooperativeKernel_v9000"},
    {270, "cudaLaunchCooperativeKernel_ptsz_v9000"},
    {31, "cudaMemcpy_v3020"},
    {215, "cudaMemcpy_ptds_v7000"},
    {41, "cudaMemcpyAsync_v3020"},
    {225, "cudaMemcpyAsync_ptsz_v7000"},
    {161, "cudaMemcpyPeerAsync_v4000"},
    {51, "cudaMemsetAsync_v3020"},
    {235, "cudaMemsetAsync_ptsz_v7000"},
    {311, "cudaGraphLaunch_v10000"},
    {312, "cudaGraphLaunch_ptsz_v10000"},
};
inline constexpr CuptiCall kDriverLaunches[] = {
    {307, "cuLaunchKernel"},
    {442, "cuLaunchKernel_ptsz"},
    {652, "cuLaunchKernelEx"},
    {653, "cuLaunchKernelEx_ptsz"},
    {477, "cuLaunchCooperativeKernel"},
    {478, "cuLaunchCooperativeKernel_ptsz"},
    {306, "cuMemcpyAsync"},
    {277, "cuMemcpyHtoDAsync_v2"},
    {279, "cuMemcpyDtoHAsync_v2"},
    {281, "cuMemcpyDtoDAsync_v2"},
    {319, "cuMemcpyPeerAsync"},
    {216, "cuMemsetD8Async"},
    {220, "cuMemsetD32Async"},
    {514, "cuGraphLaunch"},
};

// Where a CUPTI can record just all calls, those that are left out otherwise are left out of its records.
inline bool IsCallWanted(bool of_driver, uint32_t number) {
  const auto is = [number](const CuptiCall& call) { return call.number == number; };
  if (of_driver) return std::any_of(std::begin(kDriverLaunches), std::end(kDriverLaunches), is);
  return std::none_of(std::begin(kChattyCalls), std::end(kChattyCalls), is);
}

}  // namespace lanescope::profiler
