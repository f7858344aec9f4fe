// SPDX-License-Identifier: Apache-2.0
#include "study/measure/ensemble.h"

#include <gmock/gmock.h>

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/graph_builder.h"
#include "study/job/job.h"
#include "study/measure/recorded_run.h"
#include "study/workload/placing.h"
#include "tests/core/base/expect_error.h"
#include "tests/study/job_processes.h"
#include "tests/traces/sample_run.h"
#include "traces/read/trace_reader.h"
#include "traces/record/trace_writer.h"

namespace lanescope::study {
namespace {

// Numbers drawn by an op, the same shuffled, which no GPU does, numbers fed by a generator, and how many
// steps a variable of a shared name has seen.
std::unique_ptr<Workload> Network() {
  GraphBuilder builder;
  const Endpoint shape = builder.Const("shape", Tensor::FromValues(Shape{1}, std::vector<int32_t>{4}));
  const Endpoint drawn =
      builder.Op("RandomUniform", "drawn").Input(shape).Attr("dtype", AttrValue(DataType::kFloat)).Build();
  builder.Op("RandomShuffle", "shuffled").Input(drawn).Build();
  const Endpoint fed = builder.Placeholder("fed", DataType::kFloat, Shape{4});
  builder.Op("Neg", "negated").Input(fed).Build();
  const Endpoint steps = builder.Op("VariableV2", "steps")
                             .Attr("dtype", AttrValue(DataType::kFloat))
                             .Attr("shape", Shape{})
                             .Attr("shared_name", "steps_of_all")
                             .Build();
  builder.Op("Assign", "init").Input(steps).Input(builder.Scalar("zero", 0.0F)).Build();
  builder.Op("AssignAdd", "count").Input(steps).Input(builder.Scalar("one", 1.0F)).Build();
  RunSpec spec;
  spec.init = {"init"};
  FeedSpec& feed = spec.feeds["fed"];
  feed.shape = Shape{4};
  feed.generator = "uniform";
  spec.fetches = {"drawn", "negated", "count", "shuffled"};
  return std::make_unique<Workload>("network", builder.Take(), std::move(spec));
}

std::vector<std::vector<float>> Values(const std::vector<Tensor>& tensors) {
  std::vector<std::vector<float>> values;
  for (const Tensor& tensor : tensors)
    values.emplace_back(tensor.data<float>(), tensor.data<float>() + tensor.NumElements());
  return values;
}

std::vector<std::vector<float>> AloneWith(const Workload& workload, uint64_t seed,
                                          const RunRequest& request) {
  const Machine machine = VirtualMachine(2, 1);
  RecordedRunOptions options;
  options.settings.seed = seed;
  RecordedRun run(Place(workload, "single", machine, RooflineCost()), machine, nullptr, options);
  run.RunToEnd(request.warmup, request.steps);
  return Values(run.last_fetches());
}

// Law: network r as a session gives the bits that it gives alone with the run's seed and r, on its own GPU,
// and has a run of its own in the trace.
TEST(Ensemble, SessionsAreRunsOfTheirOwn) {
  const traces::ScratchFile file;
  const auto workload = Network();
  const Machine machine = VirtualMachine(3, 1);
  EnsembleOptions options;
  options.run.settings.seed = 5;
  options.run.warmup = 1;
  options.run.steps = 4;
  int64_t recorded = 0;
  options.on_step = [&](int64_t done) { recorded = done; };
  traces::TraceWriter writer(file.path());
  options.writer = &writer;
  const Ensemble ensemble = RunEnsemble(*workload, machine, options);
  writer.Close();
  EXPECT_EQ(recorded, 12);
  ASSERT_EQ(ensemble.replicas.size(), 3u);
  std::set<int> runs;
  for (size_t r = 0; r < 3; ++r) {
    const Replica& replica = ensemble.replicas[r];
    EXPECT_EQ(replica.device, machine.Gpus()[r]);
    EXPECT_EQ(replica.step_ns.size(), 4u);
    EXPECT_GT(replica.steps_per_second, 0);
    EXPECT_EQ(Values(replica.fetches), AloneWith(*workload, 5 + r, options.run)) << r;
    runs.insert(replica.run_id);
  }
  EXPECT_EQ(runs.size(), 3u);
  EXPECT_GT(ensemble.alone_steps_per_second, 0);
  EXPECT_GT(ensemble.steps_per_second, 0);
  traces::TraceReader reader(file.path());
  for (const traces::TraceRunInfo& run : reader.Runs()) {
    EXPECT_TRUE(run.complete);
    EXPECT_EQ(run.steps, 4);
    EXPECT_EQ(run.strategy, "ensemble");
  }
}

// Law: in one graph a network has its own variables, whatever name they share, and its own feeds: those that
// it has as a session.
TEST(Ensemble, InOneGraphNothingIsShared) {
  const auto workload = Network();
  const Machine machine = VirtualMachine(2, 1);
  EnsembleOptions options;
  options.run.warmup = 2;
  options.run.steps = 3;
  const Ensemble sessions = RunEnsemble(*workload, machine, options);
  options.in_graph = true;
  const Ensemble graph = RunEnsemble(*workload, machine, options);
  ASSERT_EQ(graph.replicas.size(), 2u);
  for (size_t r = 0; r < 2; ++r) {
    const auto one = Values(graph.replicas[r].fetches), other = Values(sessions.replicas[r].fetches);
    ASSERT_EQ(one.size(), 4u);
    EXPECT_EQ(one[1], other[1]) << r;
    EXPECT_THAT(one[2], testing::ElementsAre(5));
    EXPECT_EQ(graph.replicas[r].step_ns, graph.replicas[0].step_ns);
  }
  EXPECT_NE(Values(graph.replicas[0].fetches)[0], Values(graph.replicas[1].fetches)[0]);
  EXPECT_NE(Values(graph.replicas[0].fetches)[1], Values(graph.replicas[1].fetches)[1]);
}

// Law: what ends one ends all, with one error; their steps so far stay in the trace.
TEST(Ensemble, ACancelledOneEndsWhole) {
  const traces::ScratchFile file;
  const auto workload = Network();
  const Machine machine = VirtualMachine(2, 1);
  Cancellation cancellation;
  traces::TraceWriter writer(file.path());
  EnsembleOptions options;
  options.run.steps = 1'000'000;
  options.writer = &writer;
  options.cancellation = &cancellation;
  options.on_step = [&](int64_t done) {
    if (done == 10) cancellation.Cancel();
  };
  EXPECT_EQ(ErrorOf([&] { RunEnsemble(*workload, machine, options); }), "Cancelled: it was stopped");
  writer.Close();
}

// Law: a network that fails says why; the others end with it. Input: a third GPU that lacks the memory.
TEST(Ensemble, AFailureEndsTheOthers) {
  GraphBuilder builder;
  const Endpoint shape = builder.Const("shape", Tensor::FromValues(Shape{1}, std::vector<int32_t>{1 << 20}));
  const Endpoint drawn =
      builder.Op("RandomUniform", "drawn").Input(shape).Attr("dtype", AttrValue(DataType::kFloat)).Build();
  builder.Op("Neg", "negated").Input(drawn).Build();
  RunSpec spec;
  spec.targets = {"negated"};
  const Workload workload("large", builder.Take(), std::move(spec));
  Machine machine = VirtualMachine(3, 1);
  machine.devices[machine.Gpus()[2]].memory_bytes = 1 << 20;
  EXPECT_THAT(ErrorOf([&] { RunEnsemble(workload, machine, {}); }),
              testing::AllOf(testing::HasSubstr("ResourceExhausted"), testing::HasSubstr("GPU:2")));
}

// Input: more GPUs than sessions that one signal can end.
TEST(Ensemble, HasAMostOfNetworks) {
  const auto workload = Network();
  Machine machine = VirtualMachine(kMaxReplicas, 1);
  machine.devices.Add(machine.devices.back());
  EXPECT_THAT(ErrorOf([&] { RunEnsemble(*workload, machine, {}); }),
              testing::HasSubstr("an ensemble has at most 64 networks"));
}

// Two tasks with GPUs, the first of which has two, behind one without.
Machine ThreeTasks() {
  return ParseMachine(R"({"devices": [
      {"name": "/job:ps/task:0/CPU:0", "kind": "host"},
      {"name": "/job:w/task:0/CPU:0", "kind": "host"},
      {"name": "/job:w/task:0/GPU:0", "kind": "virtual", "memory": "1GiB"},
      {"name": "/job:w/task:0/GPU:1", "kind": "virtual", "memory": "1GiB"},
      {"name": "/job:w/task:1/CPU:0", "kind": "host"},
      {"name": "/job:w/task:1/GPU:0", "kind": "virtual", "memory": "1GiB"}],
    "links": [
      {"between": ["/job:w/task:0/CPU:0", "/job:w/task:0/GPU:0"], "bandwidth": "8GB/s"},
      {"between": ["/job:w/task:0/CPU:0", "/job:w/task:0/GPU:1"], "bandwidth": "8GB/s"},
      {"between": ["/job:w/task:1/CPU:0", "/job:w/task:1/GPU:0"], "bandwidth": "8GB/s"},
      {"between": ["/job:ps/task:0/CPU:0", "/job:w/task:0/CPU:0"], "bandwidth": "8GB/s"},
      {"between": ["/job:ps/task:0/CPU:0", "/job:w/task:1/CPU:0"], "bandwidth": "8GB/s"},
      {"between": ["/job:w/task:0/CPU:0", "/job:w/task:1/CPU:0"], "bandwidth": "8GB/s"}]})");
}

using FetchesByStep = std::map<std::pair<size_t, int64_t>, std::vector<std::vector<float>>>;

// Laws: each process runs the networks of its own GPUs, or its part of the graph, and the first of them,
// which has none, gets the bits that one process gets; only its own fetches are a process', or in one graph
// all are the first one's. The trace has runs of all.
TEST(Ensemble, OfSeveralProcessesIsThatOfOne) {
  const auto workload = Network();
  const Machine machine = ThreeTasks();
  for (const bool in_graph : {false, true}) {
    EnsembleOptions options;
    options.run.settings.seed = 5;
    options.run.warmup = 1;
    options.run.steps = 3;
    options.in_graph = in_graph;
    FetchesByStep of_one;
    std::mutex mutex;
    options.on_fetches = [&](size_t r, int64_t step, const std::vector<Tensor>& fetches) {
      const std::lock_guard lock(mutex);
      of_one[{r, step}] = Values(fetches);
    };
    const Ensemble one = RunEnsemble(*workload, machine, options);
    ASSERT_EQ(of_one.size(), 9U);

    const traces::ScratchFile file;
    traces::TraceWriter writer(file.path());
    FetchesByStep of_all;
    std::vector<std::set<size_t>> fetched_by(3);
    std::vector<Ensemble> found(3);
    AsProcesses(3, [&](Job* job) {
      EnsembleOptions own = options;
      own.job = job;
      own.writer = job->is_first() ? &writer : nullptr;
      own.on_fetches = [&, job](size_t r, int64_t step, const std::vector<Tensor>& fetches) {
        const std::lock_guard lock(mutex);
        of_all[{r, step}] = Values(fetches);
        fetched_by[static_cast<size_t>(job->transport()->rank())].insert(r);
      };
      found[static_cast<size_t>(job->transport()->rank())] = RunEnsemble(*workload, machine, own);
    });
    writer.Close();
    EXPECT_EQ(of_all, of_one) << in_graph;
    using Replicas = std::set<size_t>;
    EXPECT_EQ(fetched_by, in_graph ? (std::vector<Replicas>{{0, 1, 2}, {}, {}})
                                   : (std::vector<Replicas>{{}, {0, 1}, {2}}));
    EXPECT_TRUE(found[1].replicas.empty() && found[2].replicas.empty());
    ASSERT_EQ(found[0].replicas.size(), 3U);
    EXPECT_GT(found[0].alone_steps_per_second, 0);
    EXPECT_GT(found[0].steps_per_second, 0);
    std::set<int> runs;
    for (size_t r = 0; r < 3; ++r) {
      const Replica& replica = found[0].replicas[r];
      EXPECT_EQ(replica.device, machine.Gpus()[r]);
      EXPECT_EQ(replica.step_ns.size(), 3U);
      EXPECT_GT(replica.steps_per_second, 0);
      EXPECT_EQ(Values(replica.fetches), Values(one.replicas[r].fetches)) << r;
      runs.insert(replica.run_id);
    }
    EXPECT_EQ(runs, in_graph ? std::set<int>({1}) : std::set<int>({1, 2, 3}));

    traces::TraceReader reader(file.path());
    for (const int id : runs) {
      const traces::TraceRun run = reader.ReadRun(id);
      EXPECT_EQ(run.steps.size(), 3U) << id;
      ASSERT_EQ(run.tasks.size(), 3U) << id;
      EXPECT_EQ(run.tasks[2].process, "rank 2 here");
      std::set<DeviceId> used;
      for (const traces::TraceLaunch& launch : run.launches) {
        const DeviceId device = machine.FindDevice(run.FindDevice(launch.device)->name);
        if (machine.device(device).is_gpu()) used.insert(device);
      }
      const std::vector<DeviceId> gpus = machine.Gpus();
      EXPECT_EQ(used, in_graph ? std::set<DeviceId>(gpus.begin(), gpus.end())
                               : std::set<DeviceId>({gpus[static_cast<size_t>(id - 1)]}));
    }
  }
}

}  // namespace
}  // namespace lanescope::study
