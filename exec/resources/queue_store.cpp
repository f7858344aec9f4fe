// SPDX-License-Identifier: Apache-2.0
#include "exec/resources/queue_store.h"

#include <iterator>
#include <random>

#include "core/base/error.h"

namespace lanescope::exec {
namespace {

Philox GeneratorOf(const QueueSpec& spec) {
  if (spec.seed != 0 || spec.seed2 != 0) return {spec.seed, spec.seed2};
  std::random_device device;
  const auto word = [&] { return uint64_t{device()} << 32 | device(); };
  const uint64_t seed = word();
  return {seed, word()};
}

}  // namespace

QueueStore::QueueStore(const QueueSpec& spec)
    : is_random_(spec.kind == TensorQueueKind::kRandomShuffle),
      min_after_dequeue_(is_random_ ? spec.min_after_dequeue : 0),
      random_(is_random_ ? GeneratorOf(spec) : Philox(0, 0)) {}

QueueTuple QueueStore::Take() {
  LANESCOPE_CHECK(!elements_.empty());
  if (is_random_) {
    QueueTuple& chosen = elements_[random_.Next() % elements_.size()];
    QueueTuple element = std::move(chosen);
    if (&chosen != &elements_.back()) chosen = std::move(elements_.back());
    elements_.pop_back();
    return element;
  }
  QueueTuple element = std::move(elements_.front());
  elements_.pop_front();
  return element;
}

void QueueStore::PutBack(std::vector<QueueTuple> taken) {
  elements_.insert(is_random_ ? elements_.end() : elements_.begin(), std::make_move_iterator(taken.begin()),
                   std::make_move_iterator(taken.end()));
}

}  // namespace lanescope::exec
