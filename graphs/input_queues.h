// SPDX-License-Identifier: Apache-2.0
// Input pipelines as part of a graph: queues, what fills them, batches out of them (TensorFlow's
// input_producer, batch and their like). Who fills them when the graph runs is kept in the scope:
// Scope::queue_runners().
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "graphs/input.h"
#include "graphs/scope.h"

namespace lanescope::graphs {

// Runs each of these ops again and again while the graph runs, each in a thread of its own; one that is there
// twice in two. Adds the ops that close the queue.
void AddQueueRunner(Scope& scope, Endpoint queue, const std::vector<Endpoint>& enqueue_ops);

// The tensor, `epochs` times; then OutOfRange. Throws InvalidArgument unless `epochs` > 0.
Endpoint LimitEpochs(Scope& scope, Endpoint tensor, int64_t epochs);

struct ProducerOptions {
  int64_t epochs = 0;  // 0: without end
  bool shuffle = true;
  int64_t seed = 0;  // of the shuffle; 0: any
  int64_t capacity = 32;
  std::string_view shared_name = {};
  std::string_view name = "input_producer";
};
// A queue of the rows of a tensor of known shape, again and again.
Endpoint InputProducer(Scope& scope, const Input& rows, const ProducerOptions& options = {});
// A queue of these texts, as a reader takes the names of its files from. Throws InvalidArgument for none.
Endpoint StringInputProducer(Scope& scope, const std::vector<std::string>& texts,
                             const ProducerOptions& options = {});
// A queue of the numbers from 0 to limit - 1.
Endpoint RangeInputProducer(Scope& scope, const Input& limit, const ProducerOptions& options = {});
// One row of each tensor, the same one: row i of all, in the order of RangeInputProducer. Throws
// InvalidArgument for no tensors.
std::vector<Endpoint> SliceInputProducer(Scope& scope, const std::vector<Endpoint>& tensors,
                                         const ProducerOptions& options = {});

struct BatchOptions {
  int threads = 1;  // that fill the queue
  int64_t capacity = 32;
  bool enqueue_many = false;  // the tensors are batches of examples
  bool pad = false;           // examples may differ in the dimensions whose size is not known
  bool smaller_final_batch = false;
  std::string_view shared_name = {};
  std::string_view name = "batch";
};
// Batches of `size` examples, one tensor for each of `example`. Throws InvalidArgument for examples of
// unknown shape.
std::vector<Endpoint> Batch(Scope& scope, const std::vector<Endpoint>& example, int32_t size,
                            const BatchOptions& options = {});
// Takes several sources, each with a thread of its own.
std::vector<Endpoint> BatchJoin(Scope& scope, const std::vector<std::vector<Endpoint>>& examples,
                                int32_t size, const BatchOptions& options = {.name = "batch_join"});

struct ShuffleOptions {
  int threads = 1;
  int64_t seed = 0;  // 0: any
  bool enqueue_many = false;
  bool smaller_final_batch = false;
  std::string_view shared_name = {};
  std::string_view name = "shuffle_batch";
};
// Batches of examples drawn from a queue of `capacity`, in which `min_after_dequeue` are left to mix. Throws
// InvalidArgument unless capacity > min_after_dequeue.
std::vector<Endpoint> ShuffleBatch(Scope& scope, const std::vector<Endpoint>& example, int32_t size,
                                   int64_t capacity, int64_t min_after_dequeue,
                                   const ShuffleOptions& options = {});
std::vector<Endpoint> ShuffleBatchJoin(Scope& scope, const std::vector<std::vector<Endpoint>>& examples,
                                       int32_t size, int64_t capacity, int64_t min_after_dequeue,
                                       const ShuffleOptions& options = {.name = "shuffle_batch_join"});

}  // namespace lanescope::graphs
