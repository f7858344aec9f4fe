// SPDX-License-Identifier: Apache-2.0
// An op in another size: as where only the batch differs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sims/cost/cost_table.h"

namespace lanescope::sims {

// A signature with the numbers of its shapes and values taken out: "MatMul(float[32,800];float[800,64])->..."
// is of the form "MatMul(float[#,#];float[#,#])->..." and has the numbers 32, 800, 800, 64.
struct SizedForm {
  std::string form;  // attributes stay
  std::vector<int64_t> numbers;
};
SizedForm FormOf(std::string_view signature);
// How much larger `to` is than `from`, of one form: whatever differs does so by this factor. Nothing where
// there is none.
std::optional<double> GrowthOf(std::span<const int64_t> from, std::span<const int64_t> to);

// The time of a launch by measured ones of its form. Refers to the table's launches, by number.
class OpSizes {
 public:
  void Add(const LaunchCost& cost);

  struct Estimate {
    double ns = 0;
    double spread = 0;  // fraction
    double growth = 1;  // from the size that is nearest
  };
  // By one size: as the geometric mean of its operations and its bytes grows, since what bounds it is not
  // known. By several: on the line through the two nearest, as far as it rises.
  std::optional<Estimate> Find(const std::string& device, const std::string& signature, const OpWork& work,
                               double fixed_ns) const;

 private:
  struct Size {
    std::vector<int64_t> numbers;
    double ns = 0, spread = 0;
    OpWork work;
  };
  std::map<std::string, std::vector<Size>> sizes_;  // by device and form
};

}  // namespace lanescope::sims
