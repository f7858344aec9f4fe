// SPDX-License-Identifier: Apache-2.0
// A session's hold on a resource that other sessions may name.
#pragma once

#include <memory>
#include <utility>

#include "core/base/error.h"
#include "exec/device/kernel.h"
#include "exec/resources/resource_manager.h"
#include "exec/resources/resource_name.h"

namespace lanescope::exec {

// The resource's name by its node's attributes; one with its default may be left out of a file.
inline ResourceName NameOfResource(const Node& node) {
  return NameResource({.container = node.StringAttr("container", ""),
                       .shared_name = node.StringAttr("shared_name", ""),
                       .node_name = node.name});
}

// One that no other session can name ends with it.
template <typename T>
class NamedHandle final : public Resource {
 public:
  NamedHandle(ResourceManager* resources, ResourceName name, std::shared_ptr<T> resource)
      : resources_(resources), name_(std::move(name)), resource_(std::move(resource)) {}
  ~NamedHandle() override {
    if (!name_.is_private) return;
    try {
      resources_->Delete<T>(name_.container, name_.name);
    } catch (const Error&) {  // its container was emptied before
    }
  }
  NamedHandle(const NamedHandle&) = delete;
  NamedHandle& operator=(const NamedHandle&) = delete;

  const std::shared_ptr<T>& resource() const { return resource_; }

 private:
  ResourceManager* const resources_;
  const ResourceName name_;
  const std::shared_ptr<T> resource_;
};

}  // namespace lanescope::exec
