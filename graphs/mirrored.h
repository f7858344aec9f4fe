// SPDX-License-Identifier: Apache-2.0
// Data parallelism with a copy of every variable on each device: every replica reads its own copy, gradients
// are averaged over all by an all-reduce, and every device makes the same update of its copies.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "graphs/all_reduce.h"
#include "graphs/optimizer.h"
#include "graphs/parallel.h"
#include "graphs/scope.h"

namespace lanescope::graphs {

// One replica of a model a device. The Scope must outlive it. Not thread-safe.
class Mirrored {
 public:
  // Throws InvalidArgument without devices.
  Mirrored(Scope& scope, std::vector<std::string> devices, AllReduceBy by = AllReduceBy::kRing);

  int num_replicas() const { return static_cast<int>(devices_.size()); }

  // Calls `model(scope, part...)` on every device, for its part of the inputs. Variables of GetVariable
  // are called NAME on the first device and NAME/replica_i on the others, and begin alike.
  template <typename Model, typename... Inputs>
  std::vector<Endpoint> Run(Model&& model, const Inputs&... inputs) {
    const std::vector<std::vector<Endpoint>> parts = {SplitBatch(scope_, inputs, num_replicas())...};
    std::vector<Endpoint> outputs;
    for (int i = 0; i < num_replicas(); ++i) {
      const auto device = scope_.Device(devices_[static_cast<size_t>(i)]);
      const auto replica = scope_.Replica(i);
      [&]<size_t... k>(std::index_sequence<k...>) {
        outputs.push_back(model(scope_, parts[k][static_cast<size_t>(i)]...));
      }
      (std::index_sequence_for<Inputs...>());
    }
    return outputs;
  }

  // The node of one step that lowers the mean of `losses`, one a replica. Throws what Optimizer::Minimize
  // throws, and InvalidArgument where losses are not one a replica.
  Endpoint Minimize(Optimizer& optimizer, const std::vector<Endpoint>& losses,
                    const ApplyOptions& options = {});

 private:
  std::vector<std::vector<GradientOf>> ReduceGradients(std::vector<std::vector<GradientOf>> gradients);
  std::vector<Gradient> ReduceRows(const std::vector<const IndexedSlices*>& rows);

  Scope& scope_;
  const std::vector<std::string> devices_;
  const AllReduceBy by_;
};

}  // namespace lanescope::graphs
