// SPDX-License-Identifier: Apache-2.0
#include "exec/resources/resource_manager.h"

#include <vector>

namespace lanescope::exec {
namespace {

// "container/name/type", as messages name a resource.
template <typename Key>
std::string PathOf(const Key& key, const char* type) {
  return fmt::format("{}/{}/{}", std::get<0>(key), std::get<2>(key), type);
}

}  // namespace

void ResourceManager::Insert(Key key, const char* type, std::shared_ptr<Resource> resource) {
  const std::lock_guard lock(mutex_);
  const auto [at, is_new] = resources_.try_emplace(std::move(key), std::move(resource));
  if (!is_new) Throw(Code::kAlreadyExists, "Resource {}", PathOf(at->first, type));
}

std::shared_ptr<Resource> ResourceManager::Find(const Key& key, const char* type) const {
  const std::lock_guard lock(mutex_);
  const auto found = resources_.find(key);
  if (found != resources_.end()) return found->second;
  const std::string& container = std::get<0>(key);
  if (!HasContainer(container)) {
    Throw(Code::kNotFound, "Container {} does not exist. (Could not find resource: {}/{})", container,
          container, std::get<2>(key));
  }
  Throw(Code::kNotFound, "Resource {} does not exist.", PathOf(key, type));
}

std::shared_ptr<Resource> ResourceManager::FindOrMake(
    Key key, const std::function<std::shared_ptr<Resource>()>& make) {
  const std::lock_guard lock(mutex_);
  const auto found = resources_.find(key);
  if (found != resources_.end()) return found->second;
  std::shared_ptr<Resource> made = make();
  resources_.emplace(std::move(key), made);
  return made;
}

std::vector<std::shared_ptr<Resource>> ResourceManager::FindAll(std::type_index type) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Resource>> all;
  for (const auto& [key, resource] : resources_) {
    if (std::get<1>(key) == type) all.push_back(resource);
  }
  return all;
}

void ResourceManager::Erase(const Key& key, const char* type) {
  std::shared_ptr<Resource> erased;  // may end here, after the lock: a resource's end may call back
  const std::lock_guard lock(mutex_);
  const auto found = resources_.find(key);
  if (found == resources_.end()) {
    if (!HasContainer(std::get<0>(key))) {
      Throw(Code::kNotFound, "Container {} does not exist.", std::get<0>(key));
    }
    Throw(Code::kNotFound, "Resource {} does not exist.", PathOf(key, type));
  }
  erased = std::move(found->second);
  resources_.erase(found);
}

void ResourceManager::Cleanup(const std::string& container) {
  std::vector<std::shared_ptr<Resource>> erased;
  const std::lock_guard lock(mutex_);
  std::erase_if(resources_, [&](auto& entry) {
    if (std::get<0>(entry.first) != container) return false;
    erased.push_back(std::move(entry.second));
    return true;
  });
}

bool ResourceManager::HasContainer(const std::string& container) const {
  for (const auto& [key, resource] : resources_) {
    if (std::get<0>(key) == container) return true;
  }
  return false;
}

}  // namespace lanescope::exec
