// SPDX-License-Identifier: Apache-2.0
#include "cli/graph_choice.h"

#include <filesystem>

#include "cli/options.h"

namespace lanescope::cli {

study::ComparedGraph ParseGraphChoice(const std::string& text, const std::vector<std::string>& strategies) {
  const size_t first = text.find(':');
  if (first != std::string::npos && !std::filesystem::exists(text)) {
    size_t colon = first;
    while (colon != std::string::npos && !std::filesystem::exists(text.substr(0, colon)))
      colon = text.find(':', colon + 1);
    if (colon == std::string::npos) colon = first;
    return {text.substr(0, colon), SplitAtCommas(text.substr(colon + 1))};
  }
  return {text, strategies.empty() ? std::vector<std::string>{"annotated"} : strategies};
}

}  // namespace lanescope::cli
