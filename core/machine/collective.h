// SPDX-License-Identifier: Apache-2.0
// How long collectives among GPUs of a cluster take.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/dtype.h"
#include "core/machine/cluster.h"

namespace lanescope {

enum class CollectiveKind : uint8_t { kAllReduce, kAllGather, kReduceScatter, kBroadcast, kAllToAll };
std::string_view CollectiveKindName(CollectiveKind kind);  // "all-reduce", "all-gather", ...
std::optional<CollectiveKind> ParseCollectiveKind(std::string_view name);

enum class CollectiveAlgorithm : uint8_t {
  kNccl,          // what NCCL would choose: the faster of ring and tree
  kRing,          // every GPU passes parts on to the next
  kTree,          // up and down two binary trees of nodes; all-reduces alone
  kHierarchical,  // within the nodes, between GPUs of equal place, within the nodes; all-reduces alone
};
std::string_view CollectiveAlgorithmName(CollectiveAlgorithm algorithm);  // "nccl", "ring", ...
std::optional<CollectiveAlgorithm> ParseCollectiveAlgorithm(std::string_view name);

// GPUs first, first + stride, ..., `count` of them.
struct RankGroup {
  int first = 0, count = 1, stride = 1;
};

struct Collective {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kNccl;
  // The size of the whole result: of each rank's tensor, or of all that is gathered or scattered. An
  // all-to-all has what one rank sends, its own part included.
  int64_t bytes = 0;
  RankGroup ranks;
  DataType dtype = DataType::kBfloat16;  // of the elements
};

// Alone but for like groups beside it: where a group has a part of a node's GPUs, the others are taken to do
// the same at the same time, so that each GPU has its share of the node's ports. A measured table of the
// cluster decides where it has one for as many GPUs of one node. Throws InvalidArgument for GPUs that the
// cluster does not have, and for trees and hierarchies of what is no all-reduce.
int64_t CollectiveNs(const Cluster& cluster, const Collective& collective);

struct CollectiveEstimate {
  double ns = 0;
  // One standard deviation of log(measured / predicted) over the measurements that the law was fitted to; 0
  // where the time follows from NCCL's formulas alone, of which nothing is known.
  double spread = 0;
};
// CollectiveNs with what is known of its error, and without rounding. A cluster that names its fabric goes by
// a law fitted to what was measured on such GPUs, any other by the formulas that NCCL chooses by.
CollectiveEstimate EstimateCollective(const Cluster& cluster, const Collective& collective);

}  // namespace lanescope
