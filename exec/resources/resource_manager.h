// SPDX-License-Identifier: Apache-2.0
// Resources that graphs share by name beyond one step: each has a container, a name and a C++ type.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <typeindex>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "exec/resources/resource.h"

namespace lanescope::exec {

// The container of what names none.
inline constexpr char kDefaultContainer[] = "localhost";

// Owns resources; thread-safe. Equal names of different types are different resources. Whoever looked a
// resource up shares it, so that its deletion ends its name, not its work.
class ResourceManager {
 public:
  // Throws AlreadyExists.
  template <typename T>
  void Create(const std::string& container, const std::string& name, std::shared_ptr<T> resource) {
    Insert({container, typeid(T), name}, T::kTypeName, std::move(resource));
  }
  // Throws NotFound.
  template <typename T>
  std::shared_ptr<T> Lookup(const std::string& container, const std::string& name) const {
    return std::static_pointer_cast<T>(Find({container, typeid(T), name}, T::kTypeName));
  }
  // Runs `make` once whoever else asks for the name meanwhile; `make` may throw, and may not use the manager.
  template <typename T>
  std::shared_ptr<T> LookupOrCreate(const std::string& container, const std::string& name,
                                    const std::function<std::shared_ptr<T>()>& make) {
    return std::static_pointer_cast<T>(FindOrMake({container, typeid(T), name}, make));
  }
  // The resources of a type, in all containers.
  template <typename T>
  std::vector<std::shared_ptr<T>> All() const {
    std::vector<std::shared_ptr<T>> all;
    for (auto& resource : FindAll(typeid(T))) all.push_back(std::static_pointer_cast<T>(std::move(resource)));
    return all;
  }
  // Throws NotFound.
  template <typename T>
  void Delete(const std::string& container, const std::string& name) {
    Erase({container, typeid(T), name}, T::kTypeName);
  }
  // Deletes all of a container; one that is not there is empty already.
  void Cleanup(const std::string& container);

 private:
  using Key = std::tuple<std::string, std::type_index, std::string>;

  void Insert(Key key, const char* type, std::shared_ptr<Resource> resource);
  std::shared_ptr<Resource> Find(const Key& key, const char* type) const;
  std::shared_ptr<Resource> FindOrMake(Key key, const std::function<std::shared_ptr<Resource>()>& make);
  std::vector<std::shared_ptr<Resource>> FindAll(std::type_index type) const;
  void Erase(const Key& key, const char* type);
  bool HasContainer(const std::string& container) const;

  mutable std::mutex mutex_;
  std::map<Key, std::shared_ptr<Resource>> resources_;
};

}  // namespace lanescope::exec
