// SPDX-License-Identifier: Apache-2.0
// Time that other programs, or other machines on the same hardware, took from a measured program.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lanescope {

// Over a stretch of time. What the system does not tell is 0.
struct Disturbance {
  int64_t wall_ns = 0;
  // Processor time of other processes, in steps of a clock tick (10 ms); of a program of real-time priority
  // no more than it waited.
  int64_t others_ns = 0;
  int64_t stolen_ns = 0;  // that a hypervisor gave to other machines, in steps of a clock tick
  // That threads of the program were ready to run and had no processor, added up; others_ns where the system
  // does not tell.
  int64_t waited_ns = 0;
  int64_t preempted = 0;  // switches away from threads of the program that wanted to go on

  Disturbance& operator+=(const Disturbance& other) {
    wall_ns += other.wall_ns;
    others_ns += other.others_ns;
    stolen_ns += other.stolen_ns;
    waited_ns += other.waited_ns;
    preempted += other.preempted;
    return *this;
  }
};

// Whether so few of a run's steps count that all of them do: a figure from a few of many says less than one
// from all.
constexpr bool AllStepsCount(size_t left_alone, size_t all) { return 3 * left_alone < all; }

// One measured step. The steps of a round ran one right after the other. Disturbed steps do not count,
// unless most of a run's are (AllStepsCount).
struct StepDisturbance {
  int step = 0;
  int round = 0;
  Disturbance taken;
  bool disturbed = false;
};

}  // namespace lanescope
