// SPDX-License-Identifier: Apache-2.0
// Collectives and cuts that bring a tensor from one layout into another. Internal to core.
#pragma once

#include <string>
#include <vector>

#include "core/graph/op.h"
#include "core/strategies/block_collectives.h"
#include "core/strategies/layout.h"
#include "core/strategies/ring_order.h"
#include "core/strategies/step_nodes.h"

namespace lanescope {

class LayoutConversions {
 public:
  // Both must outlive it.
  LayoutConversions(StepNodes* nodes, const std::vector<std::string>& devices, RingOrder order)
      : nodes_(*nodes), devices_(devices), order_(order) {}

  // `whole` says of the tensor what it is without devices. `scope`: of the nodes that are added. There is a
  // way from every layout but to terms.
  Shards Convert(const std::string& scope, const Shards& tensor, const TensorInfo& whole, const Layout& from,
                 const Layout& to);
  // The greatest of the devices' elements, on each of them; and their sum.
  Shards Greatest(const std::string& scope, const Shards& tensor, DataType type);
  Shards Sum(const std::string& scope, const Shards& tensor, DataType type);

  const std::string& device(size_t place) const { return devices_[place]; }
  NodeBuilder New(std::string_view op, const std::string& scope, std::string_view name, size_t device);
  Endpoint Reshape(const std::string& scope, std::string_view name, Endpoint tensor, const Shape& shape,
                   size_t device);

 private:
  // As pieces of the devices in another order, [rows, pieces, the rest]; `order`: where each of them was.
  Endpoint Ordered(const std::string& scope, Endpoint tensor, const std::vector<int64_t>& order, int64_t rows,
                   int64_t rest, size_t device);
  // The pieces of the devices, device by device, by their places in the whole; and the other way round.
  std::vector<int64_t> PiecesByDevice() const;
  std::vector<int64_t> PiecesByPlace() const;
  Shards Cut(const std::string& scope, const Shards& tensor, const Shape& shape, const Layout& to);
  Shards Gather(const std::string& scope, const Shards& tensor, const Shape& shape, const Layout& from);
  Shards ScatterSum(const std::string& scope, const Shards& tensor, const Shape& shape, const Layout& to);
  Shards Reduce(const std::string& scope, const Shards& tensor, DataType type, const std::string& how);
  Shards Cast(const std::string& scope, std::string_view name, const Shards& tensor, DataType from,
              DataType to);

  int64_t count() const { return static_cast<int64_t>(devices_.size()); }
  StepNodes& nodes_;
  const std::vector<std::string>& devices_;
  const RingOrder order_;
};

}  // namespace lanescope
