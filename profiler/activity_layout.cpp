// SPDX-License-Identifier: Apache-2.0
#include "profiler/activity_layout.h"

#include <iterator>

namespace lanescope::profiler {

std::string CuptiName(uint32_t version) {
  struct Release {
    uint32_t version;
    const char* cuda;
  };
  constexpr Release kBefore13[] = {{18, "11.8"}, {19, "12.0"}, {20, "12.2"}, {21, "12.3"}, {22, "12.4"},
                                   {23, "12.5"}, {24, "12.6"}, {26, "12.8"}, {27, "12.9"}, {28, "12.9"}};
  if (version >= kCupti13_0) {
    return "CUPTI of CUDA " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100);
  }
  for (const Release& release : kBefore13) {
    if (release.version == version) return std::string("CUPTI of CUDA ") + release.cuda;
  }
  return "CUPTI " + std::to_string(version);
}

}  // namespace lanescope::profiler
