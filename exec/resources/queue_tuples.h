// SPDX-License-Identifier: Apache-2.0
// The elements of queues: what fits a declaration, batches cut into elements and elements joined to batches.
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/tensor.h"
#include "exec/resources/queue_spec.h"

namespace lanescope::exec {

// One tensor a component: an element, or a batch of elements along a first dimension of its own.
using QueueTuple = std::vector<Tensor>;

// Throws InvalidArgument unless `element` is one of the queue.
void CheckElement(const QueueSpec& spec, const QueueTuple& element);
// The number of elements of `batch`. Throws InvalidArgument unless it is a batch of the queue's.
int64_t CheckBatch(const QueueSpec& spec, const QueueTuple& batch);

// Element `index` of a batch.
QueueTuple ElementOf(const QueueTuple& batch, int64_t index);
// All elements as a batch, padded with zeros where dimensions are not declared. Wants declared shapes.
QueueTuple JoinElements(const QueueSpec& spec, const std::vector<QueueTuple>& elements);

}  // namespace lanescope::exec
