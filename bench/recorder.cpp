// SPDX-License-Identifier: Apache-2.0
// Measures what recording costs an executing thread. Goals: reading the clock about 10 ns, pushing under 10
// ns, an op (two clock readings and a push) under 50 ns.
#include "core/record/recorder.h"

#include <benchmark/benchmark.h>

#include <chrono>

namespace lanescope {
namespace {

class NullSink : public EventSink {
 public:
  void Consume(std::span<const Event> events) override { benchmark::DoNotOptimize(events.data()); }
  void CountDropped(int64_t) override {}
};

void BM_SteadyClock(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(std::chrono::steady_clock::now());
}
BENCHMARK(BM_SteadyClock);

void BM_NowNs(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(NowNs());
}
BENCHMARK(BM_NowNs);

// The ring is emptied outside the timed region, so that the cost of a push that is kept is what counts.
void BM_Push(benchmark::State& state) {
  constexpr int kBatch = 1 << 14;
  EventRing ring(kBatch);
  std::vector<Event> drained;
  Event event;
  while (state.KeepRunningBatch(kBatch)) {
    for (int i = 0; i < kBatch; ++i) {
      event.command = Id<Command>(i);
      benchmark::DoNotOptimize(ring.Push(event));
    }
    state.PauseTiming();
    drained.clear();
    ring.Drain(&drained);
    state.ResumeTiming();
  }
}
BENCHMARK(BM_Push);

void BM_RecordOp(benchmark::State& state) {
  NullSink sink;
  Recorder recorder(&sink, 5);
  EventRing* ring = recorder.NewRing();
  Event event;
  for (auto _ : state) {
    event.start_ns = NowNs();
    ++event.command;
    event.end_ns = NowNs();
    benchmark::DoNotOptimize(ring->Push(event));
  }
  state.counters["dropped"] = static_cast<double>(ring->dropped());
}
BENCHMARK(BM_RecordOp);

}  // namespace
}  // namespace lanescope
