// How commands that run at the same time on shared silicon slow each other down.
#pragma once

#include <array>
#include <cstdint>

#include "core/graph/op.h"
#include "core/machine/machine.h"
#include "core/machine/work_class.h"

namespace lanescope::sims {

// Measured on one kind of shared silicon (the cores and memory bus of a host; one physical GPU).
struct InterferenceMatrix {
  SlowdownMatrix slowdown{{{1, 1, 1}, {1, 1, 1}, {1, 1, 1}}};  // at least 1; by commands of full demand
  int cores = 0;                                               // host cores; 0: no limit
  double copy_cores = 0;        // cores that one copy keeps busy (a paced copy sleeps most of its time)
  int64_t slice_ns = 0;         // that a thread may keep its core while others wait; 0: nobody waits
  double bytes_per_second = 0;  // that one command of full demand streams; 0: unknown, every demand is full
};

// Devices share silicon when both are the host or virtual, or logical parts of one physical GPU.
struct Interference {
  InterferenceMatrix host;
  InterferenceMatrix gpu;
};

// The domain of shared silicon that a device belongs to: 0 the host, 1 + n physical GPU n, -1 its own.
int InterferenceDomain(const DeviceSpec& device);

// kCompute from four floating-point operations a byte on, else kMemory.
WorkClass ClassOf(const OpWork& work);

// How hard a launch leans on what its class shares, 0 to 1. kMemory: the bytes that it moves in a ns of its
// time alone, as a share of what the measured stream moves in one. A launch that waits for its arithmetic
// half of the time leaves the bus to others half of the time, and suffers there half as much. kCompute: 1,
// its cores are its own to the end.
double DemandOf(WorkClass command_class, const OpWork& work, int64_t alone_ns,
                const InterferenceMatrix& matrix);

// What is running in one domain.
struct DomainLoad {
  std::array<double, kNumWorkClasses> demand{};  // sum over the active commands of the class
  double cores = 0;                              // that the active commands ask for
};

// Slowdown of an active command of class v and demand d; D_b is the demand of class b in `load` without the
// command itself:
//   (1 + d * sum over b of D_b * (slowdown[v][b] - 1)) * s.
// At full demand the first factor is the measured matrix; with none it is 1. Effects of several neighbours
// add up. s is the lack of cores. More cores asked for than there are slow everyone in proportion, as a fair
// scheduler does: s = max(1, asked / cores). A launch also shares its core with copies while another core is
// free: a paced copy sleeps and wakes with every chunk, and wakes where it slept, so that it meets a given
// launch on one core out of `cores`: s = max(that, 1 + copies * copy_cores / cores), the same as the fair
// share when all cores are busy.
double Slowdown(const InterferenceMatrix& matrix, const DomainLoad& load, WorkClass victim,
                double demand = 1);

// The same for all commands of a domain under one load.
class DomainSlowdown {
 public:
  DomainSlowdown(const InterferenceMatrix& matrix, const DomainLoad& load);
  double Of(WorkClass victim, double demand) const {
    const auto row = static_cast<size_t>(victim);
    const double others = excess_[row] - demand * own_[row];
    const double share = victim == WorkClass::kCopy ? copy_share_ : launch_share_;
    return (others > 0 ? 1 + demand * others : 1) * share;
  }

 private:
  std::array<double, kNumWorkClasses> excess_{};  // of full demand, the victim itself counted
  std::array<double, kNumWorkClasses> own_{};     // what the victim counted for
  double launch_share_ = 1, copy_share_ = 1;
};

}  // namespace lanescope::sims
