// Events of a Chrome trace of Kineto, one at a time. Internal to traces.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace lanescope::traces {

struct KinetoEvent {
  enum class Kind : uint8_t { kKernel, kCopy, kMemset, kApiCall, kRange, kSynchronization };
  Kind kind = Kind::kRange;
  int64_t start_ns = 0, end_ns = 0;
  int64_t pid = 0, tid = 0;  // of the host; unknown for what runs on a device
  int64_t device = 0, stream = 0, context = 0, correlation = -1, bytes = 0;
  int name = 0;
  // Of the event that a synchronisation waits for; -1: the trace does not say.
  int64_t event = -1, recorded_by = -1, recorded_on = -1;
};

struct KinetoDevice {
  int64_t id = 0, memory = 0, multiprocessors = 0;
  std::string name;
};

struct KinetoThread {
  int64_t pid = 0, tid = 0;
  int name = 0;
};

// What the allocator of a device has given out from a time on.
struct KinetoMemory {
  int64_t time_ns = 0, device = 0, bytes = 0;
};

// One file in memory, names interned.
struct KinetoTrace {
  std::vector<KinetoEvent> events;
  std::vector<KinetoDevice> devices;
  std::vector<KinetoThread> threads;  // that have names
  std::vector<KinetoMemory> memory;   // of GPUs
  std::vector<std::string> names;
  std::optional<int64_t> rank;  // of the job that the file is of
  int64_t skipped = 0;
  // Events of kinds that an export has no place for, by category; beyond twenty of those "others".
  std::map<std::string, int64_t> left_out;
};

// Of a JSON file, compressed by gzip or not. Throws NotFound, InvalidArgument (no Chrome trace), DataLoss
// (damaged), Cancelled. Reads events one by one, so that the text of a large file is not held as a tree.
KinetoTrace ReadKineto(const std::string& path, const std::atomic<bool>* cancelled = nullptr);
// Throws Cancelled once `*cancelled` is true; null: never.
void CheckImportGoesOn(const std::atomic<bool>* cancelled);

struct CopyEnds {
  int kind = 0;                        // ENUM_CUDA_MEMCPY_OPER
  int src_memory = 7, dst_memory = 7;  // ENUM_CUDA_MEM_KIND; 7: unknown
};
// ENUM_CUPTI_SYNC_TYPE of "Stream Wait Event" and the like.
int SynchronizationType(std::string_view name);
// "Memcpy HtoD (Pinned -> Device)".
CopyEnds ParseCopyName(std::string_view name);

}  // namespace lanescope::traces
