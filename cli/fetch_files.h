// SPDX-License-Identifier: Apache-2.0
// The fetches of every step as .npy files in a folder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/graph/tensor.h"

namespace lanescope::cli {

// Not thread-safe.
class FetchFiles {
 public:
  // Makes the folder. `last_step`: the largest number that Save gets. Throws NotFound where the folder or a
  // file cannot be made (the names of nodes may be longer than those of files), InvalidArgument when two of
  // the names would share a file.
  FetchFiles(std::string folder, const std::vector<std::string>& names, int64_t last_step);

  // Writes step000017_NAME.npy for each. Throws what WriteNpy throws.
  void Save(int64_t step, const std::vector<Tensor>& fetches) const;

 private:
  std::string folder_;
  std::vector<std::string> files_;  // of each fetch, without step and ending
};

}  // namespace lanescope::cli
