// SPDX-License-Identifier: Apache-2.0
// A table of how predictions change without each effect of the model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lanescope::cli {

// A prediction, and the same without each of AllEffects.
struct Ablated {
  std::string label;
  int64_t step_ns = 0;
  std::vector<int64_t> without_ns;
};

// One row an effect that changes any of them; nothing where none was ablated.
void PrintAblation(const std::vector<Ablated>& predictions);

}  // namespace lanescope::cli
