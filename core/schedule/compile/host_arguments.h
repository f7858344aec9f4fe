// SPDX-License-Identifier: Apache-2.0
// Which inputs and outputs of a node stay in host memory when it runs on a GPU.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "core/schedule/compile/draft.h"

namespace lanescope::compile {

// By flat input (output) number; missing at the end: false.
struct HostArguments {
  std::vector<bool> inputs, outputs;
};
inline const HostArguments kNoHostArguments;

// Asks the kernel table, once for all nodes of an op that have the same dtypes where these decide. Not
// thread-safe.
class HostArgumentsTable {
 public:
  explicit HostArgumentsTable(const Draft* draft) : draft_(*draft) {}

  // `inputs`: the dtypes of the node's inputs. Valid until the next call.
  const HostArguments& OnGpu(NodeId node, std::span<const DataType> inputs);

 private:
  static constexpr size_t kMaxPacked = 8;

  uint64_t PackedTypes(NodeId node, std::span<const DataType> inputs) const;
  HostArguments Ask(NodeId node) const;

  const Draft& draft_;
  // By op and PackedTypes of a node.
  std::map<std::pair<const OpTraits*, uint64_t>, HostArguments> known_;
  HostArguments other_;  // of the last node that known_ cannot serve
};

}  // namespace lanescope::compile
