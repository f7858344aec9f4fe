// SPDX-License-Identifier: Apache-2.0
#include "exec/resources/queue.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "exec/resources/queue_store.h"

namespace lanescope::exec {

struct TensorQueue::Attempt {
  Action action = Action::kEnqueue;
  int64_t requested = 0;
  int64_t missing = 0;  // elements still to be put or taken
  QueueTuple input;     // of an enqueue: an element, or a batch
  bool is_batch = false;
  std::vector<QueueTuple> elements = {};  // of a dequeue: taken so far
  Done done = nullptr;
  Taken taken = nullptr;
  std::optional<Error> error = std::nullopt;
  AttemptNumber number = 0;

  bool is_enqueue_side() const { return action == Action::kEnqueue || action == Action::kClose; }
};

TensorQueue::TensorQueue(std::string name, QueueSpec spec)
    : name_(std::move(name)),
      spec_((CheckQueueSpec(spec), std::move(spec))),
      store_(std::make_unique<QueueStore>(spec_)) {}

TensorQueue::~TensorQueue() {
  Attempts finished;
  {
    const std::lock_guard lock(mutex_);
    while (!enqueues_.empty()) Abandon(&enqueues_, enqueues_.begin(), &finished);
    while (!dequeues_.empty()) Abandon(&dequeues_, dequeues_.begin(), &finished);
  }
  Deliver(std::move(finished));
}

TensorQueue::AttemptNumber TensorQueue::Enqueue(QueueTuple element, Done done) {
  CheckElement(spec_, element);
  Attempt attempt{.action = Action::kEnqueue, .requested = 1, .missing = 1, .input = std::move(element)};
  attempt.done = std::move(done);
  return Submit(&enqueues_, std::move(attempt));
}

TensorQueue::AttemptNumber TensorQueue::EnqueueMany(QueueTuple batch, Done done) {
  const int64_t count = CheckBatch(spec_, batch);
  if (count == 0) {  // even on a closed queue
    done(nullptr);
    return 0;
  }
  Attempt attempt{.action = Action::kEnqueue,
                  .requested = count,
                  .missing = count,
                  .input = std::move(batch),
                  .is_batch = true};
  attempt.done = std::move(done);
  return Submit(&enqueues_, std::move(attempt));
}

TensorQueue::AttemptNumber TensorQueue::Dequeue(Taken taken) {
  Attempt attempt{.action = Action::kDequeue, .requested = 1, .missing = 1, .input = {}};
  attempt.taken = std::move(taken);
  return Submit(&dequeues_, std::move(attempt));
}

TensorQueue::AttemptNumber TensorQueue::DequeueMany(int64_t count, Taken taken) {
  return SubmitDequeue(Action::kDequeueMany, count, std::move(taken));
}

TensorQueue::AttemptNumber TensorQueue::DequeueUpTo(int64_t count, Taken taken) {
  return SubmitDequeue(Action::kDequeueUpTo, count, std::move(taken));
}

TensorQueue::AttemptNumber TensorQueue::SubmitDequeue(Action action, int64_t count, Taken taken) {
  if (spec_.shapes.empty()) {
    Throw(Code::kInvalidArgument,
          "{}'s DequeueMany and DequeueUpTo require the components to have specified shapes.",
          TensorQueueKindName(spec_.kind));
  }
  if (count < 0) {
    Throw(Code::kInvalidArgument, "Dequeue{}Op requested {} < 0 elements",
          action == Action::kDequeueMany ? "Many" : "UpTo", count);
  }
  if (count == 0) {
    taken(nullptr, JoinElements(spec_, {}));
    return 0;
  }
  Attempt attempt{.action = action, .requested = count, .missing = count, .input = {}};
  attempt.taken = std::move(taken);
  return Submit(&dequeues_, std::move(attempt));
}

TensorQueue::AttemptNumber TensorQueue::Close(bool cancel_pending_enqueues, Done done) {
  if (cancel_pending_enqueues) return CloseAndCancel(std::move(done));
  Attempt attempt{.action = Action::kClose, .input = {}};
  attempt.done = std::move(done);
  return Submit(&enqueues_, std::move(attempt));
}

TensorQueue::AttemptNumber TensorQueue::CloseAndCancel(Done done) {
  Attempts finished;
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    while (!enqueues_.empty()) Abandon(&enqueues_, enqueues_.begin(), &finished);
    Flush(&finished);
  }
  Deliver(std::move(finished));
  done(nullptr);
  return 0;
}

bool TensorQueue::Cancel(AttemptNumber number) {
  Attempts finished;
  {
    const std::lock_guard lock(mutex_);
    for (Attempts* side : {&enqueues_, &dequeues_}) {
      const auto attempt = std::find_if(side->begin(), side->end(),
                                        [&](const Attempt& waiting) { return waiting.number == number; });
      if (attempt == side->end()) continue;
      Abandon(side, attempt, &finished);
      Flush(&finished);  // it may have stood in the way of others
      break;
    }
  }
  if (finished.empty()) return false;
  Deliver(std::move(finished));
  return true;
}

TensorQueue::State TensorQueue::state() const {
  const std::lock_guard lock(mutex_);
  return {store_->size(), is_closed_, static_cast<int64_t>(enqueues_.size()),
          static_cast<int64_t>(dequeues_.size())};
}

TensorQueue::AttemptNumber TensorQueue::Submit(Attempts* side, Attempt attempt) {
  Attempts node, finished;
  node.push_back(std::move(attempt));
  AttemptNumber number;
  {
    const std::lock_guard lock(mutex_);
    number = node.front().number = ++last_attempt_;
    side->splice(side->end(), node);
    Flush(&finished);
  }
  Deliver(std::move(finished));
  return number;
}

void TensorQueue::Flush(Attempts* finished) {
  bool has_changed = true;
  while (has_changed) {
    has_changed = FlushSide(&enqueues_, finished);
    has_changed |= FlushSide(&dequeues_, finished);
  }
}

bool TensorQueue::FlushSide(Attempts* side, Attempts* finished) {
  bool has_changed = false;
  while (!side->empty()) {
    const Progress progress = Try(&side->front());
    has_changed |= progress != Progress::kNone;
    if (progress != Progress::kComplete) break;
    finished->splice(finished->end(), *side, side->begin());
  }
  return has_changed;
}

TensorQueue::Progress TensorQueue::Try(Attempt* attempt) {
  if (attempt->action == Action::kEnqueue) return TryEnqueue(attempt);
  if (attempt->action != Action::kClose) return TryDequeue(attempt);
  if (is_closed_)
    attempt->error = Error(Code::kCancelled, fmt::format("Queue '{}' is already closed.", name_));
  is_closed_ = true;
  return Progress::kComplete;
}

TensorQueue::Progress TensorQueue::TryEnqueue(Attempt* attempt) {
  if (is_closed_) {
    attempt->error =
        Error(Code::kCancelled, fmt::format("{} '{}' is closed.", TensorQueueKindName(spec_.kind), name_));
    return Progress::kComplete;
  }
  const auto has_room = [&] { return spec_.capacity < 0 || store_->size() < spec_.capacity; };
  Progress progress = Progress::kNone;
  while (has_room()) {
    store_->Put(attempt->is_batch ? ElementOf(attempt->input, attempt->requested - attempt->missing)
                                  : std::move(attempt->input));
    progress = Progress::kSome;
    if (--attempt->missing == 0) return Progress::kComplete;
  }
  return progress;
}

TensorQueue::Progress TensorQueue::TryDequeue(Attempt* attempt) {
  const int64_t size = store_->size();
  if (is_closed_ && size < attempt->missing) {
    store_->PutBack(std::exchange(attempt->elements, {}));
    if (attempt->action != Action::kDequeueUpTo || store_->size() == 0) {
      attempt->error =
          Error(Code::kOutOfRange,
                fmt::format("{} '{}' is closed and has insufficient elements (requested {}, current size {})",
                            TensorQueueKindName(spec_.kind), name_, attempt->requested, size));
      return Progress::kComplete;
    }
    attempt->missing = store_->size();
  }
  int64_t takable = is_closed_ ? store_->size() : store_->TakableWhileOpen();
  Progress progress = Progress::kNone;
  for (; takable > 0; --takable) {
    attempt->elements.push_back(store_->Take());
    progress = Progress::kSome;
    if (--attempt->missing == 0) return Progress::kComplete;
  }
  return progress;
}

void TensorQueue::Abandon(Attempts* side, Attempts::iterator attempt, Attempts* finished) {
  store_->PutBack(std::exchange(attempt->elements, {}));
  attempt->error = Error(Code::kCancelled, attempt->is_enqueue_side() ? "Enqueue operation was cancelled"
                                                                      : "Dequeue operation was cancelled");
  finished->splice(finished->end(), *side, attempt);
}

void TensorQueue::Deliver(Attempts finished) {
  for (Attempt& attempt : finished) {
    if (attempt.is_enqueue_side()) {
      attempt.done(attempt.error ? &*attempt.error : nullptr);
      continue;
    }
    QueueTuple result;
    if (!attempt.error && attempt.action == Action::kDequeue) result = std::move(attempt.elements.front());
    if (!attempt.error && attempt.action != Action::kDequeue) {
      try {
        result = JoinElements(spec_, attempt.elements);
      } catch (const Error& error) {  // a padded batch may be larger than a tensor can be
        attempt.error = error;
      }
    }
    attempt.taken(attempt.error ? &*attempt.error : nullptr, std::move(result));
  }
}

std::shared_ptr<TensorQueue> FindOrMakeQueue(ResourceManager* resources, const std::string& container,
                                             const std::string& name, const QueueSpec& spec,
                                             const std::string& node) {
  const auto queue = resources->LookupOrCreate<TensorQueue>(
      container, name, [&] { return std::make_shared<TensorQueue>(name, spec); });
  CheckSharedQueue(name, queue->spec(), spec, node);
  return queue;
}

}  // namespace lanescope::exec
