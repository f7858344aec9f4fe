// SPDX-License-Identifier: Apache-2.0
// Queues that steps fill and empty: FIFO, random shuffle and padding FIFO, with TensorFlow's rules.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "exec/resources/attempts.h"
#include "exec/resources/queue_spec.h"
#include "exec/resources/queue_tuples.h"
#include "exec/resources/resource_manager.h"

namespace lanescope::exec {

class QueueStore;

// An attempt to enqueue, dequeue or close that cannot finish yet waits in the queue and holds no thread: its
// callback runs once, with null or an error, on the thread whose call let it finish (maybe the caller's own,
// before the call returns), and no lock is held meanwhile. Attempts of one side finish strictly in order.
// Callbacks do not throw. Thread-safe; must not end while a call of it runs. Attempts that wait when it ends
// are cancelled.
class TensorQueue final : public AttemptResource {
 public:
  static constexpr char kTypeName[] = "Queue";

  using Done = std::function<void(const Error* error)>;
  // The element or batch is empty where there is an error.
  using Taken = std::function<void(const Error* error, QueueTuple tuple)>;

  // Throws InvalidArgument for a declaration that cannot be.
  TensorQueue(std::string name, QueueSpec spec);
  ~TensorQueue() override;
  TensorQueue(const TensorQueue&) = delete;
  TensorQueue& operator=(const TensorQueue&) = delete;

  // Waits while the queue is full. Throws InvalidArgument for what is no element or batch of this queue.
  AttemptNumber Enqueue(QueueTuple element, Done done);
  // One by one, as there is room: other elements may come between them.
  AttemptNumber EnqueueMany(QueueTuple batch, Done done);
  AttemptNumber Dequeue(Taken taken);
  // A batch of exactly `count`, gathered as elements come. Throws InvalidArgument for a count below 0 and
  // where shapes are not declared.
  AttemptNumber DequeueMany(int64_t count, Taken taken);
  // As Dequeue, but a closed queue gives what is left, if anything is.
  AttemptNumber DequeueUpTo(int64_t count, Taken taken);
  // Waits for the enqueue attempts before it, or cancels them.
  AttemptNumber Close(bool cancel_pending_enqueues, Done done);

  // Elements that it had taken are put back, those that it had put stay.
  bool Cancel(AttemptNumber attempt) override;

  const std::string& name() const { return name_; }
  const QueueSpec& spec() const { return spec_; }

  struct State {
    int64_t size = 0;
    bool is_closed = false;
    int64_t waiting_enqueues = 0;  // with a close among them
    int64_t waiting_dequeues = 0;
  };
  State state() const;
  int64_t size() const { return state().size; }

 private:
  enum class Action { kEnqueue, kClose, kDequeue, kDequeueMany, kDequeueUpTo };
  enum class Progress { kNone, kSome, kComplete };
  struct Attempt;
  using Attempts = std::list<Attempt>;

  AttemptNumber Submit(Attempts* side, Attempt attempt);
  AttemptNumber SubmitDequeue(Action action, int64_t count, Taken taken);
  AttemptNumber CloseAndCancel(Done done);
  // Moves attempts on until none can go further; those that finished go to `finished`.
  void Flush(Attempts* finished);
  bool FlushSide(Attempts* side, Attempts* finished);
  Progress Try(Attempt* attempt);
  Progress TryEnqueue(Attempt* attempt);
  Progress TryDequeue(Attempt* attempt);
  void Abandon(Attempts* side, Attempts::iterator attempt, Attempts* finished);
  // Without the lock.
  void Deliver(Attempts finished);

  const std::string name_;
  const QueueSpec spec_;

  mutable std::mutex mutex_;
  std::unique_ptr<QueueStore> store_;
  bool is_closed_ = false;
  AttemptNumber last_attempt_ = 0;
  Attempts enqueues_;
  Attempts dequeues_;
};

// The queue of that name: a new one, or the one that is there. Throws InvalidArgument where that is declared
// otherwise; `node` is who asks.
std::shared_ptr<TensorQueue> FindOrMakeQueue(ResourceManager* resources, const std::string& container,
                                             const std::string& name, const QueueSpec& spec,
                                             const std::string& node);

}  // namespace lanescope::exec
