// SPDX-License-Identifier: Apache-2.0
// The elements that a queue holds, and which of them is next. Internal to exec/resources.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "exec/functors/philox.h"
#include "exec/resources/queue_spec.h"
#include "exec/resources/queue_tuples.h"

namespace lanescope::exec {

// Thread-compatible: the queue's lock guards it.
class QueueStore {
 public:
  explicit QueueStore(const QueueSpec& spec);

  int64_t size() const { return static_cast<int64_t>(elements_.size()); }
  // How many elements may be taken from a queue that is still open; of a closed one all may.
  int64_t TakableWhileOpen() const { return size() - min_after_dequeue_; }
  void Put(QueueTuple element) { elements_.push_back(std::move(element)); }
  // The next element; there must be one.
  QueueTuple Take();
  // Puts taken elements back, in the order in which they were taken: a FIFO's to its front.
  void PutBack(std::vector<QueueTuple> taken);

 private:
  const bool is_random_;
  const int64_t min_after_dequeue_;
  PhiloxWords random_;
  std::deque<QueueTuple> elements_;
};

}  // namespace lanescope::exec
