// SPDX-License-Identifier: Apache-2.0
// Constants that effects take as given on every machine. All else that they know is measured on the machine
// that is predicted, and lies in its cost table (Delays, Interference, CacheTransferCurve).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/graph/work_pieces.h"

namespace lanescope::sims {

struct Constant {
  std::string_view effect;  // as in AllEffects
  std::string_view name, unit;
  int64_t value = 0;
  std::string_view source;

  constexpr operator int64_t() const { return value; }
};

struct EffectConstants {
  Constant awake_ns{
      "wake-up", "awake_ns", "ns", 100'000,
      "measured: 98% of 88000 hand-offs to threads that slept took less (docs/results/accuracy.md)"};
  Constant awake_handoffs{
      "wake-up", "awake_handoffs", "hand-offs", 2,
      "measured: 89% of 88000 hand-offs took less than so many times their mean (docs/results/accuracy.md)"};
  Constant endless_slice_ns{
      "run-queue delay", "endless_slice_ns", "ns", 1'000'000'000,
      "Linux: a time slice lasts 100 ms at most (kernel/sched/syscalls.c); SCHED_FIFO has none that ends"};
  Constant piece_elements{"cores", "piece_elements", "elements", kPieceElements,
                          "the kernels: they hand out so many at once"};
  Constant piece_flops{"cores", "piece_flops", "operations", kPieceFlops,
                       "the kernels: they hand out so many at once"};
  Constant kept_part{"cache transfers", "kept_part", "1", 2,
                     "measured: 16 of 18 launches that read a copy kept more of their time than one part of "
                     "so many (docs/results/accuracy.md)"};
  Constant flops_per_byte{"shared GPU", "flops_per_byte", "operations a byte", 4,
                          "counted: element-wise ops on float32 do at most 3 for 8 bytes, a product of n x n "
                          "matrices does n / 6"};
  Constant gpu_pieces{"shared GPU", "gpu_pieces", "pieces", 132,
                      "an H100's multiprocessors, each with a piece of work as large as a core's"};
  Constant look{"front end", "look", "% of a gap", 90,
                "measured on an H100: gaps, hand-offs and small kernels of GPT, CIFAR-10 and DeepCoNN on two "
                "logical devices"};
  Constant parts_residual{"front end", "parts_residual", "% of a step", 9,
                          "measured on an H100: nine in ten of 11 predicted steps on two logical devices"};
  Constant single_issue_ns{"issue", "single_issue_ns", "ns", 3'700,
                           "measured on an H100: empty kernels launched one after the other"};
  Constant recorded_issue_ns{
      "issue", "recorded_issue_ns", "ns", 5'000,
      "measured on an H100: copies that began late in graphs of 29 to 816 commands, each between two events"};
  Constant segment_issue_ns{
      "issue", "segment_issue_ns", "ns", 30'000,
      "measured on an H100: from the launch of a graph of 1,237 nodes to its first kernel"};
  Constant feed_byte_ps{"issue", "feed_byte_ps", "ps", 160,
                        "measured beside an H100: a batch of 1.77 MB copied to pinned memory"};
  Constant large_feed_bytes{"issue", "large_feed_bytes", "bytes", 65'536,
                            "chosen: smaller ones take less than launching a segment does"};
};
inline constexpr EffectConstants kEffectConstants;

constexpr auto AllEffectConstants() {
  const EffectConstants& c = kEffectConstants;
  const std::array all = {
      &c.awake_ns,        &c.awake_handoffs,    &c.endless_slice_ns, &c.piece_elements, &c.piece_flops,
      &c.kept_part,       &c.flops_per_byte,    &c.gpu_pieces,       &c.look,           &c.parts_residual,
      &c.single_issue_ns, &c.recorded_issue_ns, &c.segment_issue_ns, &c.feed_byte_ps,   &c.large_feed_bytes};
  static_assert(sizeof(EffectConstants) == all.size() * sizeof(Constant), "a constant is not listed");
  return all;
}

}  // namespace lanescope::sims
