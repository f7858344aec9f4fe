// SPDX-License-Identifier: Apache-2.0
// Records through queues on one core. Goal: a million a second through a FIFO queue of small tensors.
#include <benchmark/benchmark.h>

#include "exec/resources/queue.h"

namespace lanescope::exec {
namespace {

constexpr int64_t kBatch = 128;

QueueSpec SpecOf(TensorQueueKind kind) {
  QueueSpec spec;
  spec.kind = kind;
  spec.capacity = 4 * kBatch;
  spec.types = {DataType::kFloat, DataType::kInt32};
  spec.shapes = {Shape{8}, Shape{}};
  spec.min_after_dequeue = kind == TensorQueueKind::kRandomShuffle ? kBatch : 0;
  spec.seed = 1;
  return spec;
}

void Ignore(const Error* error) { LANESCOPE_CHECK(error == nullptr); }
void Drop(const Error* error, QueueTuple tuple) {
  LANESCOPE_CHECK(error == nullptr);
  benchmark::DoNotOptimize(tuple.data());
}

// One record in, one record out.
void BM_QueueOneByOne(benchmark::State& state) {
  TensorQueue queue("q", SpecOf(TensorQueueKind::kFifo));
  for (auto _ : state) {
    queue.Enqueue({Tensor(DataType::kFloat, Shape{8}), Tensor(DataType::kInt32, Shape{})}, Ignore);
    queue.Dequeue(Drop);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_QueueOneByOne);

// A batch in, a batch out, by kind of queue; a shuffle queue is full to its minimum first.
void BM_QueueBatches(benchmark::State& state) {
  TensorQueue queue("q", SpecOf(static_cast<TensorQueueKind>(state.range(0))));
  const QueueTuple batch = {Tensor(DataType::kFloat, Shape{kBatch, 8}),
                            Tensor(DataType::kInt32, Shape{kBatch})};
  queue.EnqueueMany(batch, Ignore);
  for (auto _ : state) {
    queue.EnqueueMany(batch, Ignore);
    queue.DequeueMany(kBatch, Drop);
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
}
BENCHMARK(BM_QueueBatches)->ArgName("kind")->DenseRange(0, 2);

}  // namespace
}  // namespace lanescope::exec
