// SPDX-License-Identifier: Apache-2.0
// Things made or measured for a GPU, kept in files: binaries of kernels, so that a text is compiled once,
// and times of algorithms. Internal to exec/cuda.
#pragma once

#include <optional>
#include <string>

namespace lanescope::exec::cuda {

// One file an entry, named by the hash of its key, which holds all that the content depends on. The folder
// may be shared by any number of processes: files appear whole, and what is damaged or of another key is as
// if it were not there. Nothing here throws: without a folder nothing is kept.
class KernelCache {
 public:
  explicit KernelCache(std::string folder) : folder_(std::move(folder)) {}

  std::optional<std::string> Find(const std::string& key) const;
  void Keep(const std::string& key, const std::string& binary) const;

 private:
  std::string FileOf(const std::string& key) const;

  const std::string folder_;  // empty: none
};

// $LANESCOPE_KERNEL_CACHE, else lanescope/kernels in $XDG_CACHE_HOME or ~/.cache; "" where none of them is
// set.
std::string KernelCacheFolder();

}  // namespace lanescope::exec::cuda
