// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/earliest_start.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <tuple>

#include "core/graph/graph_builder.h"
#include "core/strategies/list_schedule.h"

namespace lanescope {
namespace {

// Any launch takes 1 to 40 us, by its name and device; a copy takes a thousandth of its bytes in us, and more
// where it begins or ends on the host.
class OddCosts : public CostModel {
 public:
  CostEstimate Launch(const Machine&, DeviceId device, const Node& node, std::span<const TensorInfo>,
                      std::span<const TensorInfo>) const override {
    unsigned sum = static_cast<unsigned>(device.number());
    for (const char c : node.name) sum = sum * 31 + static_cast<unsigned char>(c);
    return {.ns = 1000 * (1 + static_cast<int64_t>(sum / 7 % 40))};
  }
  CostEstimate Copy(const Machine& machine, DeviceId src, DeviceId dst, int64_t bytes) const override {
    return {.ns = bytes * (src == machine.host() || dst == machine.host() ? 3 : 1)};
  }
};

// Products, sums and shapes of matrices of three heights and widths, with variables, colocation, waits, and
// ops that only the host has.
class OddGraph {
 public:
  OddGraph(unsigned seed, int ops) : rng_(seed) {
    for (const int rows : kSizes) {
      for (const int columns : kSizes) AddSources(rows, columns);
    }
    for (int i = 0; i < ops; ++i) AddOp(i);
  }
  Graph Take() { return builder_.Take(); }

 private:
  static constexpr int kSizes[] = {4, 16, 40};
  using Size = std::pair<int, int>;

  size_t Below(size_t n) { return rng_() % n; }
  int AnySize() { return kSizes[Below(3)]; }
  Endpoint Any(Size size) {
    const std::vector<Endpoint>& values = values_[size];
    return values[Below(2) == 0 ? Below(values.size()) : values.size() - 1];
  }
  void AddSources(int rows, int columns) {
    const std::string name = fmt::format("{}x{}", rows, columns);
    const Shape shape{rows, columns};
    values_[{rows, columns}] = {builder_.Placeholder("fed" + name, DataType::kFloat, shape),
                                builder_.Op("VariableV2", "variable" + name)
                                    .Attr("dtype", DataType::kFloat)
                                    .Attr("shape", shape)
                                    .Build()};
  }
  void AddOp(int i) {
    const int rows = AnySize(), columns = AnySize(), inner = AnySize();
    const size_t kind = Below(10);
    const std::string name = fmt::format("op{}", i);
    auto node = builder_.Op(kind < 5 ? "MatMul" : kind < 7 ? "Add" : kind < 9 ? "Neg" : "Reshape", name);
    if (kind < 5) {
      node.Input(Any({rows, inner})).Input(Any({inner, columns}));
    } else if (kind < 7) {
      node.Input(Any({rows, columns})).Input(Any({rows, columns}));
    } else if (kind < 9) {
      node.Input(Any({rows, columns}));
    } else {
      const Endpoint shape = builder_.Op("Shape", name + "/shape").Input(Any({rows, columns})).Build();
      node.Input(Any({rows, columns})).Input(shape);
    }
    if (i > 4 && Below(6) == 0)
      node.ControlInput(builder_.graph().FindEndpoint(fmt::format("op{}:0", Below(static_cast<size_t>(i)))));
    if (i > 4 && Below(8) == 0) {
      const std::string with = fmt::format("loc:@op{}", Below(static_cast<size_t>(i)));
      node.Attr("_class", std::vector<std::string>{with});
    }
    values_[{rows, columns}].push_back(node.Build());
  }

  std::mt19937 rng_;
  GraphBuilder builder_;
  std::map<Size, std::vector<Endpoint>> values_;
};

// A step of a graph on a machine whose GPUs hold so many bytes.
struct World {
  World(Graph given, int gpus, int64_t memory_bytes)
      : graph(std::move(given)), machine(VirtualMachine(gpus, 1)), info(InferGraph(graph, {})) {
    for (DeviceSpec& device : machine.devices) {
      if (device.is_gpu()) device.memory_bytes = memory_bytes;
    }
  }
  StrategyInput input() const { return {graph, info, machine, costs, placer}; }

  Graph graph;
  Machine machine;
  GraphInfo info;
  OddCosts costs;
  PlacerOptions placer;
};

// The rule of the header as it stands there: every ready task on every device, one commit after the other.
Placement PlacePairByPair(const StrategyInput& input, const TaskGraph& tasks,
                          const std::vector<int>& favourite_child) {
  const std::vector<double> rank = UpwardRanks(tasks);
  const auto is_gpu = [&](DeviceId device) { return tasks.machine().device(device).is_gpu(); };
  ListSchedule schedule(tasks);
  std::vector<int> ready = schedule.First();
  std::vector<bool> done(rank.size(), false);
  IdVector<DeviceId, int> last(tasks.machine().devices.size(), -1);
  while (!ready.empty()) {
    using Choice = std::tuple<int, int64_t, double, int, DeviceId>;
    Choice best{3, 0, 0, 0, {}};
    for (const int task : ready) {
      const std::vector<DeviceId> devices = schedule.Candidates(task);
      const bool any_gpu = std::any_of(devices.begin(), devices.end(), is_gpu);
      for (const DeviceId device : devices) {
        int64_t start = schedule.Try(task, device).start;
        const int favourite = last[device] < 0 ? -1 : favourite_child[static_cast<size_t>(last[device])];
        if (favourite >= 0 && favourite != task && !done[static_cast<size_t>(favourite)])
          start = std::max(start, schedule.end(last[device]) + tasks.LaunchNs(favourite, device));
        const int unwelcome = !schedule.Fits(task, device) ? 2 : any_gpu && !is_gpu(device) ? 1 : 0;
        best = std::min(best, Choice{unwelcome, start, -rank[static_cast<size_t>(task)], task, device});
      }
    }
    const auto [unwelcome, start, urgency, task, device] = best;
    std::erase(ready, task);
    for (const int next : schedule.Commit(task, device).ready) ready.push_back(next);
    last[device] = task;
    done[static_cast<size_t>(task)] = true;
  }
  return schedule.ToPlacement(input);
}

// Any successor, of two tasks in three.
std::vector<int> AnyFavourites(const TaskGraph& tasks, std::mt19937* rng) {
  std::vector<int> favourite(static_cast<size_t>(tasks.num_tasks()), -1);
  for (int id = 0; id < tasks.num_tasks(); ++id) {
    for (const TaskRead& read : tasks.task(id).reads) {
      const int producer = tasks.tensor(read.tensor).producer;
      if (producer >= 0 && (*rng)() % 3 != 0) favourite[static_cast<size_t>(producer)] = id;
    }
  }
  return favourite;
}

TEST(EarliestStartTest, TakesThePairsThatLookingAtAllOfThemFinds) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const int64_t memory_bytes[] = {0, int64_t{1} << 40, 120'000, 40'000};
    const World world(OddGraph(seed, 20 + static_cast<int>(seed % 90)).Take(), 1 + static_cast<int>(seed % 4),
                      memory_bytes[seed / 4 % 4]);
    const StrategyInput input = world.input();
    const TaskGraph tasks(input);
    std::mt19937 rng(seed);
    const std::vector<int> none(static_cast<size_t>(tasks.num_tasks()), -1);
    for (const std::vector<int>& favourites : {none, AnyFavourites(tasks, &rng)}) {
      const Placement expected = PlacePairByPair(input, tasks, favourites);
      const Placement placement = PlaceByEarliestStart(input, tasks, favourites);
      EXPECT_EQ(placement.device, expected.device);
      EXPECT_EQ(placement.priority, expected.priority);
    }
  }
}

// Laws: a copy from the host takes the queue of the GPU that it goes to, as when it runs, and a queue makes
// one copy after the other. 16 bytes take 48 ns.
TEST(ListScheduleTest, CopiesToTwoGpusDoNotWaitForEachOther) {
  GraphBuilder builder;
  for (const char* name : {"a", "b"}) {
    const Endpoint fed = builder.Placeholder(std::string("fed_") + name, DataType::kFloat, {4});
    builder.Op("Neg", name).Input(fed).Build();
  }
  const World world(builder.Take(), 2, 0);
  const TaskGraph tasks(world.input());
  ListSchedule schedule(tasks);
  const std::vector<int> ready = schedule.First();
  ASSERT_EQ(ready.size(), 2U);
  const std::vector<DeviceId> gpus = world.machine.Gpus();
  schedule.Commit(ready[0], gpus[0]);
  EXPECT_EQ(schedule.FreeAt({gpus[0], QueueKind::kCopyIn}), 48);
  EXPECT_EQ(schedule.Try(ready[1], gpus[1]).start, 48) << "another queue";
  EXPECT_GE(schedule.Try(ready[1], gpus[0]).start, 96) << "the same queue";
}

// All of 20,000 ops can start at once: looking at all pairs for every commit would take minutes.
TEST(EarliestStartTest, ManyReadyTasksAreSpreadOverEqualDevices) {
  constexpr int kOps = 20'000;
  GraphBuilder builder;
  const Endpoint x = builder.Placeholder("x", DataType::kFloat, {64, 64});
  for (int i = 0; i < kOps; ++i) builder.Op("Neg", fmt::format("op{}", i)).Input(x).Build();
  const World world(builder.Take(), 2, 0);
  const TaskGraph tasks(world.input());
  const std::vector<int> none(static_cast<size_t>(tasks.num_tasks()), -1);
  const Placement placement = PlaceByEarliestStart(world.input(), tasks, none);
  std::map<DeviceId, int> ops;
  for (const DeviceId device : placement.device) ++ops[device];
  for (const DeviceId gpu : world.machine.Gpus()) EXPECT_NEAR(ops[gpu], kOps / 2, kOps / 10);
}

}  // namespace
}  // namespace lanescope
