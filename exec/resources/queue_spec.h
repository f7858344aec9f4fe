// SPDX-License-Identifier: Apache-2.0
// The declaration of a queue, and when two declarations mean one queue.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/dtype.h"
#include "core/graph/shape.h"

namespace lanescope::exec {

enum class TensorQueueKind { kFifo, kRandomShuffle, kPaddingFifo };

// "FIFOQueue", as ops and messages call it.
std::string_view TensorQueueKindName(TensorQueueKind kind);

struct QueueSpec {
  TensorQueueKind kind = TensorQueueKind::kFifo;
  int64_t capacity = -1;  // elements; below 0: no limit
  std::vector<DataType> types;
  std::vector<Shape> shapes;  // of one element, by component; empty: not declared
  // For random shuffle queues: how many elements an open queue keeps, to mix; both seeds 0: random.
  int64_t min_after_dequeue = 0;
  uint64_t seed = 0;
  uint64_t seed2 = 0;
};

// Throws InvalidArgument where no queue can be as declared.
void CheckQueueSpec(const QueueSpec& spec);
// Throws InvalidArgument where `requested`, of node `node`, is not the queue `name` that there is.
void CheckSharedQueue(const std::string& name, const QueueSpec& existing, const QueueSpec& requested,
                      const std::string& node);

}  // namespace lanescope::exec
