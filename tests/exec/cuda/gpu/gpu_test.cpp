// SPDX-License-Identifier: Apache-2.0
// Tests that need a GPU. Skipped, with the reason, where there is none.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "core/record/recorder.h"
#include "exec/cuda/api.h"
#include "exec/cuda/cuda_module.h"
#include "exec/measure/gpu_machine.h"
#include "tests/exec/sample_run.h"

namespace lanescope::exec::test {
namespace {

class Gpu : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string reason;
    module_ = cuda::LoadCudaModule(&reason);
    if (module_ == nullptr) GTEST_SKIP() << "no GPU: " << reason;
  }
  cuda::Api& api() { return module_->api(); }
  cuda::CudaModule* module_ = nullptr;
};

// Losses of a sample's first steps. They agree with virtual devices' within float32 rounding that training
// amplifies.
std::vector<float> Losses(const std::string& graph, const std::string& strategy, const Machine& machine,
                          int steps, const DeviceOptions& options = {}) {
  SampleRun run(graph, strategy, machine, options);
  std::vector<float> losses;
  for (int step = 0; step < steps; ++step) losses.push_back(run.Step()[0].data<float>()[0]);
  EXPECT_EQ(run.session().graph_problem(), "");
  return losses;
}

void ExpectClose(const std::vector<float>& actual, const std::vector<float>& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    EXPECT_NEAR(actual[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << "step " << i;
  }
}

Machine LargeGpuMachine(const std::vector<int>& physical) { return GpuMachine(physical, int64_t{2} << 30); }

TEST_F(Gpu, CopiesThereAndBack) {
  api().MakeCurrent(0);
  const auto stream = api().CreateStream(nullptr);
  const int64_t bytes = 3 << 20;
  auto* from = static_cast<unsigned char*>(api().AllocateHost(bytes));
  auto* to = static_cast<unsigned char*>(api().AllocateHost(bytes));
  void *a = api().Allocate(bytes), *b = api().Allocate(bytes);
  for (int64_t i = 0; i < bytes; ++i) from[i] = static_cast<unsigned char>(i * 7 + 1);
  api().Copy(stream, a, 0, from, kHostMemory, bytes);
  api().Copy(stream, b, 0, a, 0, bytes);
  api().Copy(stream, to, kHostMemory, b, 0, bytes);
  api().Synchronize(stream);
  EXPECT_EQ(std::memcmp(from, to, static_cast<size_t>(bytes)), 0);
  api().Free(0, a);
  api().Free(0, b);
  api().FreeHost(from);
  api().FreeHost(to);
  api().DestroyStream(stream);
}

// An event on one stream orders another behind it, in a recorded graph too.
TEST_F(Gpu, RecordsAGraphOverTwoStreams) {
  api().MakeCurrent(0);
  const auto first = api().CreateStream(nullptr), second = api().CreateStream(nullptr);
  const auto fork = api().CreateEvent(false), join = api().CreateEvent(false);
  const int64_t bytes = 1 << 20;
  auto* host = static_cast<char*>(api().AllocateHost(bytes));
  void *a = api().Allocate(bytes), *b = api().Allocate(bytes);
  api().BeginCapture(first);
  api().Copy(first, a, 0, host, kHostMemory, bytes);
  api().Record(fork, first);
  api().Wait(second, fork);
  api().Copy(second, b, 0, a, 0, bytes);
  api().Record(join, second);
  api().Wait(first, join);
  api().Copy(first, host, kHostMemory, b, 0, bytes);
  EXPECT_EQ(api().CapturedNodes(first).size(), 3u);
  const auto graph = api().EndCapture(first);
  for (int round = 0; round < 3; ++round) {
    std::fill_n(host, bytes, static_cast<char>(round + 1));
    api().LaunchGraph(graph, first);
    api().Synchronize(first);
    EXPECT_EQ(host[bytes - 1], round + 1);
  }
  api().DestroyGraph(graph);
  api().Free(0, a);
  api().Free(0, b);
  api().FreeHost(host);
  for (const auto event : {fork, join}) api().DestroyEvent(event);
  for (const auto stream : {first, second}) api().DestroyStream(stream);
}

class GpuLosses : public Gpu, public ::testing::WithParamInterface<std::pair<const char*, const char*>> {};

// Losses are those of virtual devices, however the steps are issued.
TEST_P(GpuLosses, AreThoseOfVirtualDevices) {
  const auto& [graph, strategy] = GetParam();
  const auto expected = Losses(graph, strategy, FastMachine(2), 6);
  for (const bool graphs : {false, true}) {
    SCOPED_TRACE(graphs ? "with graphs" : "without graphs");
    DeviceOptions options;
    options.graphs = graphs;
    ExpectClose(Losses(graph, strategy, LargeGpuMachine({0, 0}), 6, options), expected, 2e-3);
    if (api().DeviceCount() >= 2)
      ExpectClose(Losses(graph, strategy, LargeGpuMachine({0, 1}), 6, options), expected, 2e-3);
  }
}

INSTANTIATE_TEST_SUITE_P(Samples, GpuLosses,
                         ::testing::Values(std::pair{"deepconn_single", "single"},
                                           std::pair{"deepconn_single", "tower-split"},
                                           std::pair{"deepconn_single", "alternating"},
                                           std::pair{"cifar10_towers", "annotated"}),
                         [](const auto& test) {
                           std::string name = fmt::format("{}_{}", test.param.first, test.param.second);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// Shares of the multiprocessors: the same losses.
TEST_F(Gpu, GreenContexts) {
  if (api().PartitionGroups(0).size() < 2) GTEST_SKIP() << "this GPU or driver has no green contexts";
  Machine machine = LargeGpuMachine({0, 0});
  for (DeviceSpec& device : machine.devices) device.sm_share = device.is_gpu() ? 0.5 : 0;
  ExpectClose(Losses("deepconn_single", "alternating", machine, 3),
              Losses("deepconn_single", "alternating", FastMachine(2), 3), 2e-3);
}

class EventLog : public EventSink {
 public:
  void Consume(std::span<const Event> batch) override {
    events.insert(events.end(), batch.begin(), batch.end());
  }
  void CountDropped(int64_t) override {}
  std::vector<Event> events;
};

// Every launch and copy has a duration inside its step, give or take the alignment of the clocks.
TEST_F(Gpu, TimesLieInTheirStep) {
  for (const bool graphs : {false, true}) {
    DeviceOptions options;
    options.graphs = graphs;
    SampleRun run("deepconn_single", "alternating", LargeGpuMachine({0, 0}), options);
    run.Step();
    PreparedStep& step = run.session().Prepare(run.Request());
    EventLog log;
    {
      Recorder recorder(&log);
      run.session().Record(&recorder, &step, 0);
      for (int i = 0; i < 3; ++i) run.Step();
      run.session().Record(nullptr, nullptr, 0);
    }
    std::map<int, std::pair<int64_t, int64_t>> steps;
    for (const Event& event : log.events) {
      if (event.kind == EventKind::kStep) steps[event.step] = {event.start_ns, event.end_ns};
    }
    constexpr int64_t kClockError = 200000;
    std::set<std::pair<int, CommandId>> seen;
    for (const Event& event : log.events) {
      if (event.kind != EventKind::kCommand) continue;
      EXPECT_TRUE(seen.insert({event.step, event.command}).second);
      EXPECT_GE(event.start_ns, steps.at(event.step).first - kClockError);
      EXPECT_LE(event.end_ns, steps.at(event.step).second + kClockError);
    }
    EXPECT_GT(seen.size(), 100u);
  }
}

// Sessions give their memory back.
TEST_F(Gpu, SessionsLeakNothing) {
  Losses("two_towers_matmul", "annotated", LargeGpuMachine({0, 0}), 2);
  const int64_t before = api().Memory(0).free;
  for (int i = 0; i < 3; ++i) Losses("two_towers_matmul", "annotated", LargeGpuMachine({0, 0}), 2);
  EXPECT_GE(api().Memory(0).free, before - (int64_t{64} << 20));
}

TEST_F(Gpu, MeasuresItself) {
  std::vector<std::string> notes;
  Machine machine = DetectGpus({}, &notes);
  ASSERT_FALSE(machine.Gpus().empty());
  const GpuMeasurement measured = MeasureGpus(&machine, int64_t{16} << 20, 3);
  EXPECT_FALSE(measured.links.empty());
  const DeviceSpec& gpu = machine.device(machine.Gpus()[0]);
  EXPECT_GT(gpu.peak_flops.at(DataType::kFloat), 1e12);
  EXPECT_GT(gpu.memory_bandwidth, 1e11);
}

}  // namespace
}  // namespace lanescope::exec::test
