// SPDX-License-Identifier: Apache-2.0
// Tables of exports of Nsight Systems that are read and never written. Internal to traces.
#pragma once

#include "traces/store/nsys_tables.h"

namespace lanescope::traces::tables {

// Exports of early 2021 and before say this for TARGET_INFO_GPU.
struct OldGpu : TableOf<OldGpu> {
  constexpr OldGpu() : TableOf("TARGET_INFO_CUDA_GPU", "GPUs.") {}
  Id id{this, Needed(kDeviceId, Need::kAlways)};
  Text name{this, About(kName, "Model.")};
  Size memory_bytes{this, {"globalMemorySize", Need::kOptional, "Memory (bytes)."}};
  Size memory_bandwidth{this,
                        {"globalMemoryBandwidth", Need::kOptional, "Memory bandwidth (bytes per second)."}};
};
inline constexpr OldGpu kOldGpu;

// Facts of exports on their machine.
struct SystemEnv : TableOf<SystemEnv> {
  constexpr SystemEnv() : TableOf("TARGET_INFO_SYSTEM_ENV", "Properties of a machine.") {}
  Integer vm{this, {"globalVid", Need::kOptional, "The machine, as in the upper 16 bits of globalPid."}};
  Text name{this, Needed(kName, Need::kOptional)};
  Text value{this, {"value", Need::kOptional, "Its value."}};
};
inline constexpr SystemEnv kSystemEnv;

struct SystemCallTable : TableOf<SystemCallTable> {
  constexpr SystemCallTable() : TableOf("OSRT_API", "Calls of the operating system's runtime.") {}
  Time start{this, kStart};
};
inline constexpr SystemCallTable kSystemCall;

// Ranks in exports of programs that call MPI_Comm_rank.
struct MpiRank : TableOf<MpiRank> {
  constexpr MpiRank() : TableOf("MPI_RANKS", "Ranks of MPI.") {}
  Integer global_tid{this, {kGlobalTid.name, Need::kOptional, "Thread that asked for its rank."}};
  Number rank{this, {"rank", Need::kOptional, "Rank in MPI_COMM_WORLD."}};
};
inline constexpr MpiRank kMpiRank;

}  // namespace lanescope::traces::tables
