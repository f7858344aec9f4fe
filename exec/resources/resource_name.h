// SPDX-License-Identifier: Apache-2.0
// Under which name a node keeps its resource.
#pragma once

#include <optional>
#include <string>

namespace lanescope::exec {

// The resource that a node asks for; an attribute that it lacks is absent.
struct ResourceRequest {
  std::optional<std::string> container;
  std::optional<std::string> shared_name;
  std::string node_name;
  bool use_node_name_as_default = false;
};

struct ResourceName {
  std::string container;
  std::string name;
  bool is_private = false;  // nobody else can name it: it ends with its node
};

// The shared name, else the node's name where that is the default, else a name that is nobody else's. Throws
// NotFound for a missing attribute, InvalidArgument for a name that is not allowed. Thread-safe.
ResourceName NameResource(const ResourceRequest& request);

}  // namespace lanescope::exec
