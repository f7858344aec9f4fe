// SPDX-License-Identifier: Apache-2.0
#include "exec/run/fused_kernel.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "exec/run/fused_block.h"
#include "exec/run/fused_unit.h"

namespace lanescope::exec {
namespace {

class FusedKernel final : public Kernel {
 public:
  FusedKernel(const Graph& graph, const Schedule& schedule, const Command& command)
      : parts_(MakeFusedParts(graph, schedule, command)),
        only_(parts_.units.size()),
        idle_(parts_.units.size()) {
    for (size_t i = 0; i < only_.size(); ++i) {
      const FusedUnit& unit = parts_.units[i];
      if (unit.in_blocks && (!unit.is_one_block() || unit.elements == 0)) continue;
      only_[i].emplace(parts_.members, unit);
      if (unit.in_blocks) only_[i]->MoveTo(0, unit.elements);
    }
  }

  void Compute(KernelContext& launch) override {
    for (size_t i = 0; i < only_.size(); ++i) {
      if (only_[i]) {
        only_[i]->Run(launch);
      } else {
        const FusedUnit& unit = parts_.units[i];
        unit.matrix > 0 ? RunByRows(launch, unit) : RunInBlocks(launch, unit);
      }
    }
  }

 private:
  void RunInBlocks(KernelContext& launch, const FusedUnit& unit) const {
    // Workers get as much at once as from ops that run by themselves.
    const int64_t grain = std::max(kElementGrain / unit.block, int64_t{1}) * unit.block;
    launch.team().ParallelFor(unit.elements, grain,
                              [&](int64_t begin, int64_t end) { RunStretch(launch, unit, begin, end); });
  }

  // Blocks end with a matrix. One thread adds up what the rows of a matrix give.
  void RunByRows(KernelContext& launch, const FusedUnit& unit) const {
    const int64_t whole = std::max(unit.block, unit.matrix);
    const int64_t parts = unit.sums ? 1 : (unit.matrix + unit.block - 1) / unit.block;
    const int64_t stretches = (unit.elements + whole - 1) / whole;
    launch.team().ParallelFor(stretches * parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i / parts * whole, past = std::min(first + whole, unit.elements);
        const int64_t from = first + i % parts * unit.block;
        RunStretch(launch, unit, from, parts == 1 ? past : std::min(from + unit.block, past));
      }
    });
  }

  // Block after block on the calling thread.
  void RunStretch(KernelContext& launch, const FusedUnit& unit, int64_t begin, int64_t end) const {
    std::unique_ptr<FusedBlock> block = Take(unit);
    for (int64_t first = begin; first < end; first += unit.block) {
      block->MoveTo(first, std::min(unit.block, end - first));
      block->Run(launch);
    }
    Return(unit, std::move(block));
  }

  // Blocks are kept for the next stretch, of this launch or a later one: making one takes as long as many
  // kernels. There are never more of them than threads.
  std::unique_ptr<FusedBlock> Take(const FusedUnit& unit) const {
    std::vector<std::unique_ptr<FusedBlock>>& idle = idle_[static_cast<size_t>(&unit - parts_.units.data())];
    const std::lock_guard lock(mutex_);
    if (idle.empty()) return std::make_unique<FusedBlock>(parts_.members, unit);
    std::unique_ptr<FusedBlock> block = std::move(idle.back());
    idle.pop_back();
    return block;
  }
  void Return(const FusedUnit& unit, std::unique_ptr<FusedBlock> block) const {
    const std::lock_guard lock(mutex_);
    idle_[static_cast<size_t>(&unit - parts_.units.data())].push_back(std::move(block));
  }

  const FusedParts parts_;
  // By unit: the whole of it, prepared. None of those that run in several blocks.
  std::vector<std::optional<FusedBlock>> only_;
  mutable std::mutex mutex_;  // of idle_
  // By unit: blocks that no thread is in.
  mutable std::vector<std::vector<std::unique_ptr<FusedBlock>>> idle_;
};

}  // namespace

std::unique_ptr<Kernel> MakeFusedKernel(const Graph& graph, const Schedule& schedule,
                                        const Command& command) {
  return std::make_unique<FusedKernel>(graph, schedule, command);
}

}  // namespace lanescope::exec
