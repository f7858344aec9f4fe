// SPDX-License-Identifier: Apache-2.0
// Makes a copy between host memories take the time that the machine's links say. Shares no code with the
// simulator.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/machine/machine.h"

namespace lanescope::exec {

// Emulates the links of one machine. A copy moves in chunks of 64 KiB; each chunk reserves the next free time
// of every link and bus on its way, so copies that share one pass their chunks in turn. Thread-safe.
class Pacer {
 public:
  explicit Pacer(const Machine& machine);

  // Copies `bytes` from `from` to `to` along the route and returns when the last chunk is through. Stops
  // early when `cancelled` says so.
  void Copy(const Route& route, void* to, const void* from, int64_t bytes,
            const std::atomic<bool>& cancelled);

 private:
  static constexpr int64_t kChunkBytes = 64 << 10;

  // When a chunk that may start at `earliest` is through.
  int64_t Pass(const Route& route, int64_t earliest, int64_t bytes);
  // Gives back what a cancelled copy has reserved ahead; all other copies of its step are cancelled too.
  void Release(const Route& route);
  // When a chunk that may start at `earliest` has passed the resource.
  int64_t Reserve(int resource, int64_t earliest, int64_t bytes);

  struct alignas(64) Resource {
    double ns_per_byte = 0;
    std::atomic<int64_t> next_free{0};
  };
  std::vector<std::unique_ptr<Resource>> resources_;
};

// Bytes per second of a plain memcpy out of cache on this machine, measured once per process: a link faster
// than this cannot be emulated here.
double MeasuredCopyBandwidth();
// Why a route cannot be emulated faithfully here; empty if it can. A latency under 50 us is below what a
// sleeping thread keeps to.
std::string EmulationLimit(const Route& route);

}  // namespace lanescope::exec
