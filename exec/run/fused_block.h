// SPDX-License-Identifier: Apache-2.0
// A block of the elements of a fused unit, or all of a node that runs by itself: where its operands lie.
// Internal to exec/run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "exec/run/fused_unit.h"
#include "exec/run/member_context.h"

namespace lanescope::exec {

// Refers to members and unit. MoveTo finds what depends on shapes, and once more only for blocks that differ
// in more than where they begin; Run finds what depends on addresses. One thread at a time.
class FusedBlock {
 public:
  // All of a unit that does not run in blocks; nothing of another before MoveTo.
  FusedBlock(const std::vector<FusedMember>& members, const FusedUnit& unit);

  // The block becomes elements [first, first + n) of the unit, at most `unit.block`.
  void MoveTo(int64_t first, int64_t n);
  // Runs the kernels of the unit's nodes. Throws what they throw.
  void Run(KernelContext& launch);

 private:
  enum class Memory : uint8_t {
    kNone,    // the operand is of a variable, or there is none
    kInput,   // of the launch
    kOutput,  // of the launch
    kSlot,    // working memory of the thread
    kSpread,  // working memory into which an input that is broadcast is copied
    kAxis,    // the number of the last dimension of a block
  };
  struct Place {
    Memory memory = Memory::kNone;
    int number = 0;      // of the input, output or slot
    int64_t offset = 0;  // bytes
    // An element of the operand belongs to so many of the unit; 0: it is the same for all blocks.
    int64_t per = 0;
    int64_t bytes = 0;  // of an element
  };
  // Elements of a result, `rows` runs of `n` from `first` on.
  struct Part {
    int64_t first = 0;
    int64_t rows = 1, n = 0;

    int64_t size() const { return rows * n; }
    Shape Full() const { return Shape{rows, n}; }
  };
  // From one row, or element, of an operand of a loop to the next.
  struct Steps {
    int64_t row = 0, element = 0;
  };
  struct Member {
    const FusedMember* fused;
    MemberContext context;
    std::vector<Place> inputs;
    Place output;
    Part part;
    Part calls{};  // of the loop, where the node has one: rows of so many elements
    std::array<Steps, 2> steps{};
  };

  void FindPeriod();
  bool OnlyBeginsElsewhere(int64_t first, int64_t n) const;
  void Shift(int64_t elements);
  Part PartOf(bool one_a_row) const;
  Part InRuns(const FusedMember& fused) const;
  void PlaceWhole(Member* member) const;
  void PlaceProduct(Member* member) const;
  void PlaceOperands(Member* member) const;
  void FindSteps(Member* member) const;
  void PlaceInput(size_t k, Member* member) const;
  void PlaceBroadcast(size_t k, Member* member) const;
  Place PlaceOfMade(size_t number) const;
  Place PlaceIn(Memory memory, int number, DataType dtype, int64_t per) const;
  int64_t ElementsPer(const FusedMember& fused) const;
  int64_t slot_bytes() const;
  void* AddressOf(const Place& place, KernelContext& launch, std::byte* memory) const;
  void Spread(const Member& member, size_t k, const TensorRef& input, std::byte* to) const;
  void RunLoop(KernelContext& launch, std::byte* memory, const Member& member) const;
  void RunMember(KernelContext& launch, std::byte* memory, Member* member) const;

  const std::vector<FusedMember>& fused_;
  const FusedUnit& unit_;
  std::vector<Member> members_;
  int64_t period_ = 1;  // blocks that begin at its multiples are alike; 0: each is of its own kind
  int64_t first_ = 0, n_ = 0;
};

}  // namespace lanescope::exec
