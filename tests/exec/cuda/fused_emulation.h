// SPDX-License-Identifier: Apache-2.0
// Kernels of fused launches on the host: compiled as C++, blocks one after the other, the threads of a block
// in turns from barrier to barrier, from the first one or from the last. A missing barrier shows as another
// result in one of both orders.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "exec/cuda/fused_text.h"
#include "exec/device/thread_team.h"
#include "tests/exec/cuda/fused_steps.h"

namespace lanescope::exec::test {

inline constexpr int kEmulatedThreads = 8;  // of kernels whose text does not ask for another number

// A text among others: its kernel is called fused<number>.
std::string InNamespace(const cuda::FusedText& text, size_t number);

// The memory that a fused launch works on, filled with numbers on which all functions are tame.
class LaunchMemory {
 public:
  LaunchMemory(const FusedStep& step, const Command& command, unsigned seed);

  std::vector<char>& Of(ValueId value) {
    const Value& root = step_.schedule.RootValue(value);
    return root.variable.exists() ? variables_.at(root.variable) : values_.at(step_.schedule.Root(value));
  }
  // By variable or value, in an order that depends on nothing.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const auto& [variable, bytes] : variables_) visit(types_.at({variable, ValueId()}), bytes);
    for (const auto& [value, bytes] : values_) visit(types_.at({NodeId(), value}), bytes);
  }

 private:
  void Add(ValueId value);
  void Fill(DataType dtype, int64_t bytes, std::vector<char>* memory);
  uint32_t Next() {
    state_ = state_ * 1664525 + 1013904223;
    return state_ >> 8;
  }

  const FusedStep& step_;
  uint32_t state_;
  std::map<NodeId, std::vector<char>> variables_;
  std::map<ValueId, std::vector<char>> values_;
  std::map<std::pair<NodeId, ValueId>, DataType> types_;
};

// A launch on such memory.
class HostLaunch final : public KernelContext {
 public:
  HostLaunch(const FusedStep& step, const Command& command, LaunchMemory* memory);

  Resource& FindOrCreateResource(int, const std::function<std::unique_ptr<Resource>()>&) override;
  uint64_t& random_counter() override { return counter_; }

 private:
  std::unique_ptr<WorkerTeam> team_of_one_;
  std::vector<Variable> owned_;
  uint64_t counter_ = 0;
};

// Kernels of launches, compiled together. Launches of one text are there once.
class EmulatedLaunches {
 public:
  ~EmulatedLaunches();

  // False: there is another launch of these texts.
  bool Add(const FusedStep& step, const Command& command);
  size_t size() const { return cases_.size(); }
  const FusedStep& step(size_t i) const { return *cases_[i].step; }
  const Command& command(size_t i) const { return *cases_[i].command; }
  const cuda::FusedTexts& texts(size_t i) const { return cases_[i].texts; }

  // `without_barriers`: none waits for the others. False: there is no compiler.
  bool Compile(bool without_barriers = false);
  void Run(size_t i, LaunchMemory* memory, bool from_last = false) const;

 private:
  struct Case {
    const FusedStep* step;
    const Command* command;
    cuda::FusedTexts texts;
  };
  std::vector<Case> cases_;
  std::map<std::vector<std::string>, size_t> known_;
  std::string base_;
  void* library_ = nullptr;
};

// Equal, or within 2e-5 of the larger one or of 1; NaN where the other one is NaN.
void ExpectNear(const LaunchMemory& a, const LaunchMemory& b, const std::string& what);

}  // namespace lanescope::exec::test
