// SPDX-License-Identifier: Apache-2.0
// Commands of one device that run side by side on its workers.
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "core/schedule/dispatch.h"
#include "exec/device/host_device.h"
#include "exec/kernels/lookup_table.h"
#include "exec/run/executor.h"
#include "tests/exec/session_harness.h"
#include "tests/support/random_graph.h"

namespace lanescope::exec::test {
namespace {

// A table whose look-ups wait for each other: until `expected` of them run at the same time.
class MeetingTable : public LookupTable {
 public:
  explicit MeetingTable(int expected) : expected_(expected) { initialized_ = true; }
  DataType key_type() const override { return DataType::kInt64; }
  DataType value_type() const override { return DataType::kInt64; }
  int64_t size() const override { return 0; }
  void Initialize(const TensorRef&, const TensorRef&) override {}
  void Find(const TensorRef& keys, const TensorRef&, const TensorRef& values, WorkerTeam&) const override {
    std::unique_lock<std::mutex> lock(meeting_);
    ++present_;
    arrived_.notify_all();
    // Far beyond any delay; where commands do not run side by side, the test fails after it.
    const bool met = arrived_.wait_for(lock, std::chrono::seconds(60), [&] { return present_ >= expected_; });
    if (!met) Throw(Code::kDeadlineExceeded, "{} of {} look-ups ran side by side", present_, expected_);
    *values.as<int64_t>() = *keys.as<int64_t>() + 1;
  }

 private:
  const int expected_;
  mutable std::mutex meeting_;
  mutable std::condition_variable arrived_;
  mutable int present_ = 0;
};

// As many look-ups as the device has workers, each small: all of them run at once, in every step.
TEST(SharedWorkers, SmallCommandsRunSideBySide) {
  constexpr int kWorkers = 3;
  GraphBuilder builder;
  const Endpoint table = builder.Op("HashTableV2", "table")
                             .Attr("key_dtype", DataType::kInt64)
                             .Attr("value_dtype", DataType::kInt64)
                             .Build();
  const Endpoint fallback = builder.Const("fallback", Tensor::Scalar<int64_t>(0));
  std::vector<std::string> fetches;
  for (int64_t i = 0; i < kWorkers; ++i) {
    const std::string name = "find" + std::to_string(i);
    const Endpoint key = builder.Const(name + "/key", Tensor::Scalar<int64_t>(10 * i));
    builder.Op("LookupTableFindV2", name).Input(table).Input(key).Input(fallback).Build();
    fetches.push_back(name);
  }
  const Graph graph = builder.Take();
  Machine machine = FastMachine(1);
  machine.devices[machine.host()].workers = kWorkers;
  const CompileRequest request = lanescope::test::RequestFor(graph, fetches, {});
  const auto schedule = std::make_shared<const Schedule>(
      Compile(graph, InferGraph(graph, {}), request, PlaceAll(graph, machine.host()), machine));
  IdVector<DeviceId, std::unique_ptr<Device>> devices;
  for (const DeviceSpec& device : machine.devices) devices.Add(std::make_unique<HostDevice>(device));
  SessionState state;
  LoadedSchedule loaded(graph, machine, schedule, devices, &state);
  const DeviceId host = machine.host();
  IdVector<DeviceId, std::byte*> arenas(devices.size(), nullptr);
  arenas[host] = static_cast<std::byte*>(devices[host]->Allocate(schedule->arena_bytes[host]));
  loaded.Bind(arenas);
  StepState step(loaded);
  Executor executor(machine);
  for (int i = 0; i < 3; ++i) {
    state.resources[table.node] = std::make_unique<MeetingTable>(kWorkers);
    executor.Run(&loaded, &step, 0, {});
    for (int k = 0; k < kWorkers; ++k) EXPECT_EQ(*loaded.Fetch(k).data<int64_t>(), 10 * k + 1);
  }
  devices[host]->Free(arenas[host]);
}

// Law: results are the same bits with any number of workers, small ops and large ones mixed.
TEST(SharedWorkers, ResultsDoNotDependOnTheWorkers) {
  for (unsigned seed = 0; seed < 6; ++seed) {
    const auto random = lanescope::test::MakeRandomGraph(seed, 60, 3, seed % 2 == 0 ? 16 : 50000);
    std::vector<Tensor> expected;
    for (const int workers : {1, 2, 4, 7}) {
      const Machine machine = FastMachine(2, workers);
      const Placement placement = lanescope::test::RandomPlacement(random.graph, machine, seed);
      Session session(random.graph, placement, machine);
      session.Run({{}, {}, random.init});
      std::vector<Tensor> results;
      for (int step = 0; step < 5; ++step) {
        for (Tensor& fetch : session.Run({{}, random.fetches, random.targets}).fetches)
          results.push_back(std::move(fetch));
      }
      if (workers == 1) expected = std::move(results);
      for (size_t i = 0; workers > 1 && i < expected.size(); ++i)
        EXPECT_TRUE(BitwiseEqual(expected[i], results[i]))
            << "seed " << seed << ", " << workers << " workers";
    }
  }
}

}  // namespace
}  // namespace lanescope::exec::test
