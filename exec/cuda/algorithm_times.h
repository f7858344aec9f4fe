// SPDX-License-Identifier: Apache-2.0
// How long the algorithms for a piece of work took on a GPU, kept from run to run beside the kernels made
// there (kernel_cache.h), so that a GPU is asked once. Internal to exec/cuda.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lanescope::exec::cuda {

// By algorithm, in ns; nothing for one that could not be run.
using AlgorithmTimes = std::vector<std::optional<int64_t>>;

// The quickest; of several the first. Nothing where none could be run.
std::optional<size_t> QuickestOf(const AlgorithmTimes& times);

// `key` holds all that the times depend on, GPU and library too; `names`, without blanks, say which
// algorithms there are. Nothing: they were never measured, others were, or what was kept is damaged.
std::optional<AlgorithmTimes> FindAlgorithmTimes(const std::string& key,
                                                 const std::vector<std::string>& names);
// Replaces what was kept. Never throws: where nothing can be written, nothing is kept.
void KeepAlgorithmTimes(const std::string& key, const std::vector<std::string>& names,
                        const AlgorithmTimes& times);

}  // namespace lanescope::exec::cuda
