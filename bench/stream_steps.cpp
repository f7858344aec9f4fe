// SPDX-License-Identifier: Apache-2.0
// Demands of a step on the driver of its GPUs, counted on a CUDA made of host memory: calls, and nodes of
// recorded graphs that note a time. Steps whose commands are not timed ("0") have none of the latter.
#include <benchmark/benchmark.h>

#include "core/record/recorder.h"
#include "tests/exec/cuda/stub_harness.h"

namespace lanescope::exec {
namespace {

class NullSink : public EventSink {
 public:
  void Consume(std::span<const Event>) override {}
  void CountDropped(int64_t) override {}
};

void StreamStep(benchmark::State& state, const char* graph, bool graphs) {
  const test::StubGuard stub;
  NullSink sink;
  Recorder recorder(&sink);
  test::SampleRun run(graph, "tower-split", test::GpuMachine({0, 1}), {.graphs = graphs});
  PreparedStep& step = run.session().Prepare(run.Request());
  run.session().Record(&recorder, &step, 0);
  run.session().SetTiming(state.range(0) != 0);
  for (int i = 0; i < 3; ++i) run.Step();
  const int64_t calls = stub->all_calls(), nodes = stub->event_nodes();
  for (auto _ : state) run.Step();
  const auto per_step = [&](int64_t count) {
    return benchmark::Counter(static_cast<double>(count), benchmark::Counter::kAvgIterations);
  };
  state.counters["calls"] = per_step(stub->all_calls() - calls);
  state.counters["event_nodes"] = per_step(stub->event_nodes() - nodes);
  run.session().Record(nullptr, nullptr, 0);
}

BENCHMARK_CAPTURE(StreamStep, deepconn_graphs, "deepconn_single", true)->ArgName("timed")->Arg(0)->Arg(1);
BENCHMARK_CAPTURE(StreamStep, deepconn_streams, "deepconn_single", false)->ArgName("timed")->Arg(0)->Arg(1);
BENCHMARK_CAPTURE(StreamStep, cifar10_graphs, "cifar10_towers", true)->ArgName("timed")->Arg(0)->Arg(1);

}  // namespace
}  // namespace lanescope::exec
