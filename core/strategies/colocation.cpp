// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/colocation.h"

#include <string_view>
#include <utility>
#include <vector>

namespace lanescope {

void RenameColocation(Node* node, const std::function<std::optional<std::string>(const std::string&)>& now) {
  constexpr std::string_view kPrefix = "loc:@";
  const auto found = node->attrs.find("_class");
  if (found == node->attrs.end()) return;
  const auto* listed = std::get_if<std::vector<std::string>>(&found->second);
  if (listed == nullptr) return;
  std::vector<std::string> kept;
  for (const std::string& text : *listed) {
    if (!text.starts_with(kPrefix)) {
      kept.push_back(text);
      continue;
    }
    const std::optional<std::string> renamed = now(text.substr(kPrefix.size()));
    if (renamed) kept.push_back(std::string(kPrefix) + *renamed);
  }
  if (kept.empty())
    node->attrs.erase("_class");
  else
    found->second = std::move(kept);
}

}  // namespace lanescope
