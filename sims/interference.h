// How commands that run at the same time on shared silicon slow each other down.
#pragma once

#include <array>
#include <cstdint>

#include "core/machine.h"
#include "core/op.h"

namespace lanescope {

// What a command mostly uses.
enum class CommandClass : uint8_t { kCompute, kMemory, kCopy };
inline constexpr int kNumCommandClasses = 3;

// Measured on one kind of shared silicon (the cores and memory bus of a host; one physical GPU).
struct InterferenceMatrix {
  // [victim][beside]: time of a command of class `victim` with one command of class `beside` running next to
  // it, divided by its time alone. At least 1.
  std::array<std::array<double, kNumCommandClasses>, kNumCommandClasses> slowdown{
      {{1, 1, 1}, {1, 1, 1}, {1, 1, 1}}};
  int cores = 0;          // host cores; 0: no limit
  double copy_cores = 0;  // cores that one copy keeps busy (a paced copy sleeps most of its time)
};

// Devices share silicon when both are the host or virtual, or logical parts of one physical GPU.
struct Interference {
  InterferenceMatrix host;
  InterferenceMatrix gpu;
};

// The domain of shared silicon that a device belongs to: 0 the host, 1 + n physical GPU n, -1 its own.
int InterferenceDomain(const DeviceSpec& device);

// kCompute from four floating-point operations a byte on, else kMemory.
CommandClass ClassOf(const OpWork& work);

// What is running in one domain.
struct DomainLoad {
  std::array<int, kNumCommandClasses> active{};
  double cores = 0;  // that the active commands ask for
};

// Slowdown of an active command of class `victim`: with n_b active commands of class b (itself not counted),
//   (1 + sum over b of n_b * (slowdown[victim][b] - 1)) * max(1, cores asked for / cores).
// Pairwise effects add up; too many workers slow everyone in proportion.
double Slowdown(const InterferenceMatrix& matrix, const DomainLoad& load, CommandClass victim);

}  // namespace lanescope
