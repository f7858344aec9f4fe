// SPDX-License-Identifier: Apache-2.0
// The one model that every format of another profiler is read into, on its way into an export.
// Internal to traces.
#pragma once

#include <array>
#include <atomic>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "traces/import/spool.h"

namespace lanescope::traces {

struct CopyEnds {
  int kind = 0;                        // ENUM_CUDA_MEMCPY_OPER
  int src_memory = 7, dst_memory = 7;  // ENUM_CUDA_MEM_KIND; 7: unknown
};

struct ImportEvent {
  // kOverhead: what the profiler itself does.
  enum class Kind : uint8_t {
    kKernel,
    kCopy,
    kMemset,
    kApiCall,
    kRange,
    kSynchronization,
    kDeviceRange,
    kOverhead
  };
  Kind kind = Kind::kRange;
  bool on_host = false;     // a kernel's device is ImportTrace::hosts[device]
  bool of_library = false;  // a range of an NVTX domain, which its text begins with
  int64_t start_ns = 0, end_ns = 0;
  int64_t pid = 0, tid = 0;  // of the host; unknown for what runs on a device
  int64_t device = 0, stream = 0, context = 0, correlation = -1, bytes = 0;
  int name = 0;
  // The op of a kernel that is named after its node; -1: as `name`. Of a call the kernel that it launches.
  int brief = -1;
  int launch = -1;                           // index into ImportTrace::launches
  int details = -1;                          // of a range: index into ImportTrace::operators
  int counted = -1;                          // of a range on a device: hardware counters as JSON, a name
  CopyEnds ends;                             // of copies
  int64_t src_device = -1, dst_device = -1;  // of copies between devices; -1: not said
  // For a synchronisation: ENUM_CUPTI_SYNC_TYPE, and the event that it waits for; -1: the trace does not
  // say.
  int sync_type = 0;
  int64_t event = -1, recorded_by = -1, recorded_on = -1;
  int64_t graph = -1, graph_node = -1;  // of CUDA graphs; -1: in none, or not said
  int64_t record_function = -1;         // PyTorch's number of the call that a range is; -1: not said
};

// Whether it ran on a device.
constexpr bool IsOfDevice(ImportEvent::Kind kind) {
  using Kind = ImportEvent::Kind;
  return kind == Kind::kKernel || kind == Kind::kCopy || kind == Kind::kMemset || kind == Kind::kDeviceRange;
}

// How a kernel was launched; 0: the trace does not say.
struct ImportLaunch {
  std::array<int32_t, 3> grid{}, block{};
  int32_t registers = 0, shared_bytes = 0;
  auto operator<=>(const ImportLaunch&) const = default;
};

struct ImportDevice {
  int64_t id = 0, memory = 0, multiprocessors = 0;
  std::string name;
};

struct ImportThread {
  int64_t pid = 0, tid = 0;
  int name = 0;
};

struct ImportStream {
  int64_t device = 0, stream = 0;
  int name = 0;
};

// An operator: names of the texts; -1: not said.
struct ImportOperator {
  int shapes = -1, types = -1, stack = -1;
  auto operator<=>(const ImportOperator&) const = default;
};

// An operator reads what another wrote: numbers of calls.
struct ImportTensorUse {
  int64_t reader = -1, writer = -1;
};

struct ImportProcess {
  int64_t pid = 0;
  int name = 0;
};

// The memory that the allocator of a device has given out from a time on.
struct ImportMemory {
  int64_t time_ns = 0, device = 0, bytes = 0;
};

// The transfer of a kernel of NCCL, by the correlation id of the kernel.
struct ImportCollective {
  int64_t correlation = -1;
  int kind = 0, group = -1;              // names; group: -1: not said
  int64_t bytes = 0, ranks = 0;          // bytes: the larger of what goes into and comes out of a rank
  int64_t src_rank = -1, dst_rank = -1;  // of a message; -1: not said
};

// One file, names interned; what may be large lies in temporary files. Movable.
struct ImportTrace {
  Spool<ImportEvent> events;
  std::vector<ImportLaunch> launches;
  std::vector<ImportDevice> devices;     // GPUs
  std::vector<std::string> hosts;        // devices that are no GPU and run kernels: "/host:CPU:0"
  std::vector<ImportThread> threads;     // that have names
  std::vector<ImportProcess> processes;  // the same
  std::vector<ImportStream> streams;     // the same
  std::vector<ImportOperator> operators;
  Spool<ImportMemory> memory;  // of GPUs
  std::vector<ImportCollective> collectives;
  std::vector<ImportTensorUse> tensor_uses;
  std::vector<std::string> names;
  std::string_view format;      // "Kineto": who wrote it
  std::optional<int64_t> rank;  // of the job that the file is of
  std::string host;             // where it ran; empty: the file does not say
  int64_t world = 0;            // ranks of the job; 0: the file does not say
  int64_t process = -1;         // that it is of; -1: the file does not say, or it is of several
  int64_t base_ns = 0;          // what times are behind, ns since 1970; 0: nothing
  int64_t clock_ahead_ns = 0;   // of the first file's (FindClocks)
  int64_t skipped = 0;
  int64_t mended = 0;              // texts, words and commas that were no JSON
  bool cut_short = false;          // the file ends before its list of events does
  bool is_execution = false;       // operators without times, which other traces of the process may have
  bool laid_out = false;           // times are made here, of orders and lengths
  std::vector<std::string> notes;  // that whoever reads the trace should know, a sentence each
  // Events of kinds that an export has no place for, by category, cut to 60 bytes; beyond twenty "others".
  std::map<std::string, int64_t> left_out;

  void LeaveOut(const std::string& category, int64_t count = 1);
};

// Texts that are looked for as views.
struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

// Texts as numbers of ImportTrace::names. The trace must outlive it.
class ImportNames {
 public:
  static constexpr int64_t kMostBytes = int64_t{1} << 30;
  explicit ImportNames(ImportTrace* trace, int64_t most_bytes = kMostBytes)
      : trace_(*trace), room_(most_bytes) {}
  // Throws ResourceExhausted for more than those bytes of different texts.
  int Intern(std::string_view text);

 private:
  ImportTrace& trace_;
  int64_t room_;
  std::unordered_map<std::string, int, TextHash, std::equal_to<>> numbers_;
};

// Throws Cancelled once `*cancelled` is true; null: never.
void CheckImportGoesOn(const std::atomic<bool>* cancelled);

// Times since 1970 until 2065; the end of an event less the start of another still is an integer of ns.
inline constexpr int64_t kMaxImportNs = int64_t{3'000'000'000'000'000} * 1000;
// Whether an event from `start` that lasts `length` is within those.
constexpr bool UsableTimes(int64_t start_ns, int64_t length_ns) {
  return start_ns > -kMaxImportNs && start_ns < kMaxImportNs && length_ns >= 0 && length_ns < kMaxImportNs;
}

// A base that times may count from: ns since 1970, such that a time, less another, is an integer of ns. 0
// for what is not.
constexpr int64_t UsableBase(int64_t base_ns) {
  return base_ns >= 0 && base_ns < kMaxImportNs / 5 * 4 ? base_ns : 0;
}

}  // namespace lanescope::traces
