// NCCL by its public names, without its headers: the program is built and runs where it is not installed.
// Internal to exec.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace lanescope::exec::cuda {

using NcclComm = struct NcclCommTag*;  // one rank of a group of devices; null is none

// NCCL's numbers, which its releases keep.
inline constexpr int kNcclSuccess = 0, kNcclInProgress = 7;
inline constexpr int kNcclInt64 = 4, kNcclHalf = 6, kNcclFloat = 7, kNcclDouble = 8;
inline constexpr int kNcclSum = 0, kNcclProd = 1, kNcclMax = 2, kNcclMin = 3;

// As its header says; a stream is CUDA's. Immutable, thread-safe as the library is.
struct NcclLibrary {
  int version = 0;  // 22809 for 2.28.9
  int (*comm_init_all)(NcclComm* comms, int count, const int* ordinals) = nullptr;
  int (*comm_destroy)(NcclComm comm) = nullptr;
  int (*comm_abort)(NcclComm comm) = nullptr;
  int (*comm_get_async_error)(NcclComm comm, int* result) = nullptr;
  int (*all_reduce)(const void* from, void* to, size_t count, int type, int reduction, NcclComm comm,
                    void* stream) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  const char* (*get_error_string)(int result) = nullptr;
  const char* (*get_last_error)(NcclComm comm) = nullptr;

  // "2.28.9"
  std::string VersionText() const;
};

// Loads libnccl.so.2, or what LANESCOPE_NCCL_LIBRARY names, at the first call for that file. Null without it,
// or where it is older than 2.13; `reason` then says why in one line. Thread-safe; stays loaded.
std::shared_ptr<const NcclLibrary> LoadNccl(std::string* reason);

}  // namespace lanescope::exec::cuda
