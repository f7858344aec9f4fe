// SPDX-License-Identifier: Apache-2.0
// Collectives and cuts that bring a tensor from one layout into another. Internal to core.
#pragma once

#include <string>
#include <vector>

#include "core/graph/op.h"
#include "core/strategies/block_collectives.h"
#include "core/strategies/layout.h"
#include "core/strategies/step_nodes.h"

namespace lanescope {

class LayoutConversions {
 public:
  // Both must outlive it.
  LayoutConversions(StepNodes* nodes, const std::vector<std::string>& devices)
      : nodes_(*nodes), devices_(devices) {}

  // `whole` says of the tensor what it is without devices. `scope`: of the nodes that are added. There is a
  // way from every layout but to terms.
  Shards Convert(const std::string& scope, const Shards& tensor, const TensorInfo& whole, const Layout& from,
                 const Layout& to);
  // The greatest of the devices' elements, on each of them; and their sum.
  Shards Greatest(const std::string& scope, const Shards& tensor, DataType type);
  Shards Sum(const std::string& scope, const Shards& tensor, DataType type);

  NodeBuilder New(std::string_view op, const std::string& scope, std::string_view name, size_t device);
  Endpoint Reshape(const std::string& scope, std::string_view name, Endpoint tensor, const Shape& shape,
                   size_t device);

 private:
  Shards Cut(const std::string& scope, const Shards& tensor, const Shape& shape, const Layout& to);
  Shards Gather(const std::string& scope, const Shards& tensor, const Shape& shape, const Layout& from);
  Shards ScatterSum(const std::string& scope, const Shards& tensor, const Shape& shape, const Layout& to);
  Shards Reduce(const std::string& scope, const Shards& tensor, DataType type, const std::string& how);
  Shards Cast(const std::string& scope, std::string_view name, const Shards& tensor, DataType from,
              DataType to);

  int64_t count() const { return static_cast<int64_t>(devices_.size()); }
  StepNodes& nodes_;
  const std::vector<std::string>& devices_;
};

}  // namespace lanescope
