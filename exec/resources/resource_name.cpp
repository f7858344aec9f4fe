// SPDX-License-Identifier: Apache-2.0
#include "exec/resources/resource_name.h"

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "core/base/error.h"
#include "exec/resources/resource_manager.h"

namespace lanescope::exec {
namespace {

bool IsLetterDigitDot(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.';
}

bool IsContainerName(const std::string& name) {
  return IsLetterDigitDot(name.front()) && std::all_of(name.begin(), name.end(), [](char c) {
           return IsLetterDigitDot(c) || c == '-' || c == '/' || c == '_';
         });
}

const std::string& Require(const std::optional<std::string>& attr, const char* name,
                           const std::string& node) {
  if (!attr) Throw(Code::kNotFound, "No attr named '{}' in node '{}'", name, node);
  return *attr;
}

}  // namespace

ResourceName NameResource(const ResourceRequest& request) {
  const std::string& container = Require(request.container, "container", request.node_name);
  if (!container.empty() && !IsContainerName(container)) {
    Throw(Code::kInvalidArgument, "container contains invalid characters: {}", container);
  }
  const std::string& shared_name = Require(request.shared_name, "shared_name", request.node_name);
  if (shared_name.starts_with('_')) {
    Throw(Code::kInvalidArgument, "shared_name cannot start with '_': {}", shared_name);
  }
  ResourceName result;
  result.container = container.empty() ? kDefaultContainer : container;
  if (!shared_name.empty()) {
    result.name = shared_name;
  } else if (request.use_node_name_as_default) {
    result.name = request.node_name;
  } else {
    static std::atomic<int64_t> counter{0};
    result.name = fmt::format("_{}_{}", counter.fetch_add(1), request.node_name);
    result.is_private = true;
  }
  return result;
}

}  // namespace lanescope::exec
