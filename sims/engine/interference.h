// SPDX-License-Identifier: Apache-2.0
// How commands that run at the same time on shared silicon slow each other down, as the simulator takes it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/graph/op.h"
#include "core/machine/machine.h"
#include "core/machine/work_class.h"
#include "sims/engine/computers.h"

namespace lanescope::sims {

// Measured on one kind of shared silicon (the cores and memory bus of a host; one physical GPU).
struct InterferenceMatrix {
  SlowdownMatrix slowdown{{{1, 1, 1}, {1, 1, 1}, {1, 1, 1}}};  // at least 1
  int cores = 0;                                               // host cores; 0: no limit
  double copy_cores = 0;  // cores that one copy keeps busy (a paced copy sleeps most of its time)
  int64_t slice_ns = 0;   // that a thread may keep its core while others wait; 0: nobody waits
  int pieces = 0;         // of a GPU: as many pieces of work fill it; 0: commands do not share one
};

// Devices share silicon when both are on one computer, and the host or virtual, or logical parts of one
// physical GPU.
struct Interference {
  InterferenceMatrix host;  // of the first computer
  InterferenceMatrix gpu;
  std::vector<OtherComputer> other_computers;
};
// The matrix of the computer with that number (Computers): all are as the first one, but for their cores.
InterferenceMatrix HostMatrix(const Interference& interference, int computer);

// The domain of shared silicon that a device belongs to, of its computer's: kHostDomain, 1 + n physical GPU
// n, -1 its own.
inline constexpr int kHostDomain = 0;
int InterferenceDomain(const DeviceSpec& device);

// kCompute from four floating-point operations a byte on, else kMemory.
WorkClass ClassOf(const OpWork& work);

// The pieces of work that a launch on a GPU of hardware asks for, of those that fill it. A part of its
// multiprocessors takes no more than its share of them, but the memory has one bandwidth for all parts.
int PiecesOf(const OpWork& work, const DeviceSpec& device);

// The running load of one domain.
struct DomainLoad {
  std::array<int, kNumWorkClasses> active{};    // commands of the class
  double cores = 0;                             // that all ask for; of a GPU: pieces of work
  double restless = 0;                          // of these, copies and progress threads
  std::array<double, kNumWorkClasses> asked{};  // `cores`, by class
};

// How active commands of each class are slowed under one load.
//
// On a GPU launches keep multiprocessors busy, and slow each other down as far as together they ask for more
// than there are. With u, the pieces of work of all of them by those that fill the GPU, and a_b, the part of
// them that class b has, one of class v takes
//   1 + max(0, u - 1) * sum over b of a_b * (slowdown[v][b] - 1) + n_copy * (slowdown[v][copy] - 1)
// times as long; a copy, by copies and by all that keeps the GPU busy, in the same way.
//
// On a host one beside n_b others of class b takes
//   (1 + sum over b of n_b * (slowdown[v][b] - 1)) * s
// times as long. s is the lack of cores. More cores asked for than there are slow everyone in proportion, as
// a fair scheduler does: s = max(1, asked / cores). A launch also shares its core with the restless while
// another core is free: a paced copy sleeps and wakes with every chunk, a progress thread with every message,
// and each wakes where it slept, so that it meets a given launch on one core out of `cores`: s = max(that, 1
// + restless / cores), the same as the fair share when all cores are busy. For the same reason a progress
// thread meets any other that asks for a core on one core out of `cores`: s = 1 + others / cores.
class DomainSlowdown {
 public:
  DomainSlowdown(const InterferenceMatrix& matrix, const DomainLoad& load);
  double Of(WorkClass victim) const { return slowdown_[static_cast<size_t>(victim)]; }
  double OfProgressThread() const { return progress_thread_; }

 private:
  void OfGpu(const InterferenceMatrix& matrix, const DomainLoad& load);
  void OfHost(const InterferenceMatrix& matrix, const DomainLoad& load);

  std::array<double, kNumWorkClasses> slowdown_{};
  double progress_thread_ = 1;
};

}  // namespace lanescope::sims
