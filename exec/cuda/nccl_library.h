// SPDX-License-Identifier: Apache-2.0
// NCCL by its public names, without its headers: the program is built and runs where it is not installed.
// Internal to exec.
#pragma once

#include <climits>
#include <cstddef>
#include <memory>
#include <string>

#include "core/base/error.h"

namespace lanescope::exec::cuda {

using NcclComm = struct NcclCommTag*;  // one rank of a group of devices; null is none

// Given from process to process, by which the ranks of a group find each other.
struct NcclUniqueId {
  char bytes[128];
};

// NCCL's ncclConfig_t as 2.14 has it, which all later ones take: calls for such a communicator return
// kNcclInProgress instead of waiting for others.
struct NcclConfig {
  size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef, version = 21400;
  int blocking = 0;
  int unset = INT_MIN;  // what later ones have there: undefined
};

// NCCL's numbers, which its releases keep.
inline constexpr int kNcclSuccess = 0, kNcclInProgress = 7;
inline constexpr int kNcclInt8 = 0, kNcclInt64 = 4, kNcclHalf = 6, kNcclFloat = 7, kNcclDouble = 8,
                     kNcclBfloat16 = 9;
inline constexpr int kNcclSum = 0, kNcclProd = 1, kNcclMax = 2, kNcclMin = 3, kNcclAvg = 4;

// As its header says; a stream is CUDA's. Immutable, thread-safe as the library is.
struct NcclLibrary {
  int version = 0;  // 22809 for 2.28.9
  int (*comm_init_all)(NcclComm* comms, int count, const int* ordinals) = nullptr;
  // Null before 2.14.
  int (*comm_init_rank_config)(NcclComm* comm, int count, NcclUniqueId id, int rank,
                               NcclConfig* config) = nullptr;
  int (*get_unique_id)(NcclUniqueId* id) = nullptr;
  int (*comm_destroy)(NcclComm comm) = nullptr;
  int (*comm_abort)(NcclComm comm) = nullptr;
  int (*comm_get_async_error)(NcclComm comm, int* result) = nullptr;
  int (*all_reduce)(const void* from, void* to, size_t count, int type, int reduction, NcclComm comm,
                    void* stream) = nullptr;
  // `count` of what a rank gives, or gets.
  int (*all_gather)(const void* from, void* to, size_t count, int type, NcclComm comm,
                    void* stream) = nullptr;
  int (*reduce_scatter)(const void* from, void* to, size_t count, int type, int reduction, NcclComm comm,
                        void* stream) = nullptr;
  int (*send)(const void* from, size_t count, int type, int peer, NcclComm comm, void* stream) = nullptr;
  int (*receive)(void* to, size_t count, int type, int peer, NcclComm comm, void* stream) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  const char* (*get_error_string)(int result) = nullptr;
  const char* (*get_last_error)(NcclComm comm) = nullptr;

  // "2.28.9"
  std::string VersionText() const;
  // The error of a call, or of what else is named so, in NCCL's words.
  Error ErrorOf(const char* call, int result, NcclComm comm) const;
  // Why it does not join GPUs of several processes, in one line; empty: it does.
  std::string WhyNoProcesses() const;
};

// Loads libnccl.so.2, or what LANESCOPE_NCCL_LIBRARY names, at the first call for that file. Null without it,
// or where it is older than 2.13; `reason` then says why in one line. Thread-safe; stays loaded.
std::shared_ptr<const NcclLibrary> LoadNccl(std::string* reason);

// The library where it joins GPUs of several processes; throws FailedPrecondition with the reason where not.
std::shared_ptr<const NcclLibrary> LibraryForProcesses();
// The id in the text that one process has given to the others. Throws InvalidArgument for another text.
NcclUniqueId UniqueIdOf(const std::string& text);

}  // namespace lanescope::exec::cuda
