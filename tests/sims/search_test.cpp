// SPDX-License-Identifier: Apache-2.0
#include "sims/search/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <new>
#include <optional>
#include <thread>

#include "core/base/error.h"
#include "core/base/stop_point.h"
#include "sims/search/lower_bound.h"
#include "tests/sims/placement_world.h"

namespace lanescope::sims {
namespace {

// Rounds alone end a search whose result is compared, however slow the machine is.
constexpr int64_t kEndless = 24 * int64_t{3'600'000'000'000};

std::vector<SearchStart> StartsOf(const StrategyInput& input) {
  std::vector<SearchStart> starts;
  for (const char* name : {"single", "alternating", "heft", "m-etf"})
    starts.push_back({name, PlaceByStrategy(name, input)});
  return starts;
}

TEST(SearchTest, IsNeverWorseThanItsStartsNorBetterThanTheBound) {
  for (unsigned seed = 1; seed <= 4; ++seed) {
    const PlacementWorld world(seed, 30, 2);
    const StrategyInput input = world.input();
    const SearchResult result = SearchPlacements(input, {}, StartsOf(input), {.rounds = 2});
    ASSERT_FALSE(result.best.empty());
    const FoundPlacement& best = result.best.front();
    EXPECT_EQ(best.step_ns, world.StepOf(best.placement)) << "as `simulate` says";
    for (const FoundPlacement& start : result.starts) EXPECT_LE(best.step_ns, start.step_ns) << start.origin;
    EXPECT_LT(best.step_ns, result.starts.front().step_ns) << "two GPUs beat one";
    EXPECT_GE(best.step_ns, FindLowerBound(input, TaskGraph(input), {}).step_ns);
  }
}

TEST(SearchTest, ThreadsDoNotChangeTheAnswer) {
  const PlacementWorld world(7, 30, 2);
  const StrategyInput input = world.input();
  const auto search = [&](int threads, uint64_t seed) {
    return SearchPlacements(input, {}, StartsOf(input),
                            {.seed = seed, .threads = threads, .budget_ns = kEndless, .rounds = 2});
  };
  const SearchResult one = search(1, 1), four = search(4, 1);
  ASSERT_EQ(one.best.size(), four.best.size());
  EXPECT_EQ(one.evaluations, four.evaluations);
  for (size_t i = 0; i < one.best.size(); ++i) {
    EXPECT_EQ(one.best[i].step_ns, four.best[i].step_ns);
    EXPECT_EQ(one.best[i].placement.device, four.best[i].placement.device);
    EXPECT_EQ(one.best[i].placement.priority, four.best[i].placement.priority);
  }
}

// Ranks as threads: each hands in a text and gets all of them when the last has.
class ThreadRanks {
 public:
  explicit ThreadRanks(int size) : texts_(static_cast<size_t>(size)) {}
  Ranks Of(int rank) {
    return {rank, static_cast<int>(texts_.size()), [this, rank](const std::string& mine) {
              std::unique_lock lock(mutex_);
              texts_[static_cast<size_t>(rank)] = mine;
              const int turn = turn_;
              if (++arrived_ == static_cast<int>(texts_.size())) {
                arrived_ = 0;
                all_ = texts_;
                ++turn_;
                all_arrived_.notify_all();
              }
              all_arrived_.wait(lock, [&] { return turn_ != turn; });
              return all_;
            }};
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_arrived_;
  std::vector<std::string> texts_, all_;
  int arrived_ = 0, turn_ = 0;
};

// Law: N ranks find what one process with N times the restarts finds, and all of them know it.
TEST(SearchTest, RanksFindWhatMoreRestartsFind) {
  const PlacementWorld world(7, 30, 2);
  const StrategyInput input = world.input();
  const SearchResult one =
      SearchPlacements(input, {}, StartsOf(input), {.restarts = 3, .budget_ns = kEndless, .rounds = 2});
  ThreadRanks ranks(3);
  std::vector<SearchResult> results(3);
  std::vector<std::thread> threads;
  for (int r = 0; r < 3; ++r) {
    threads.emplace_back([&, r] {
      results[static_cast<size_t>(r)] = SearchPlacements(
          input, {}, StartsOf(input), {.ranks = ranks.Of(r), .budget_ns = kEndless, .rounds = 2});
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const SearchResult& result : results) {
    EXPECT_EQ(result.evaluations, one.evaluations);
    ASSERT_EQ(result.best.size(), one.best.size());
    for (size_t i = 0; i < one.best.size(); ++i) {
      EXPECT_EQ(result.best[i].step_ns, one.best[i].step_ns);
      EXPECT_EQ(result.best[i].placement.device, one.best[i].placement.device);
    }
  }
}

// Law: chains that run elsewhere, in parts of any size, find what threads find.
TEST(SearchTest, ChainsElsewhereFindWhatThreadsFind) {
  const PlacementWorld world(7, 30, 2);
  const StrategyInput input = world.input();
  const SearchOptions part{.seed = 3, .restarts = 2, .budget_ns = kEndless};
  SearchOptions asked = part;
  asked.rounds = 2;
  const SearchResult here = SearchPlacements(input, {}, StartsOf(input), asked);
  asked.elsewhere = [&](const std::string& state, int chains) {
    std::vector<std::string> texts;
    for (int first = 0; first < chains; first += 5)
      texts.push_back(SearchChains(input, {}, part, state, first, std::min(5, chains - first)));
    return texts;
  };
  const SearchResult there = SearchPlacements(input, {}, StartsOf(input), asked);
  EXPECT_EQ(there.evaluations, here.evaluations);
  ASSERT_EQ(there.best.size(), here.best.size());
  for (size_t i = 0; i < here.best.size(); ++i) {
    EXPECT_EQ(there.best[i].step_ns, here.best[i].step_ns);
    EXPECT_EQ(there.best[i].placement.device, here.best[i].placement.device);
  }
}

TEST(SearchTest, ChainsOfAnotherSearchAreRefused) {
  const PlacementWorld world(7, 30, 2);
  const StrategyInput input = world.input();
  const auto code = [&](const std::string& state, int first, int count) {
    try {
      SearchChains(input, {}, {}, state, first, count);
    } catch (const Error& error) {
      return error.code();
    }
    return Code::kUnknown;
  };
  EXPECT_EQ(code("no JSON", 0, 1), Code::kInvalidArgument);
  EXPECT_EQ(code("{}", 0, 1), Code::kInvalidArgument);
  const auto of_elites = [](const std::string& elites) {
    return R"({"round": 0, "memory_share": 1.0, "elites": )" + elites + "}";
  };
  EXPECT_EQ(code(of_elites("[]"), 0, 1), Code::kInvalidArgument);
  EXPECT_EQ(code(of_elites(R"([["x", 1, [0, 99], []]])"), 0, 1), Code::kInvalidArgument)
      << "fewer groups than the graph has, and no such device";
}

// The optimum of all placements of nine groups on three devices, or better by other priorities.
TEST(SearchTest, FindsTheOptimumOfASmallGraph) {
  const PlacementWorld world(3, 2, 0);
  const StrategyInput input = world.input();
  const TaskGraph tasks(input);
  std::vector<size_t> choice(tasks.groups().size(), 0);
  int64_t fastest = INT64_MAX;
  for (bool more = true; more;) {
    std::vector<DeviceId> devices;
    for (size_t g = 0; g < choice.size(); ++g) devices.push_back(tasks.groups()[g].devices[choice[g]]);
    fastest = std::min(fastest, world.StepOf(tasks.ToPlacement(input, devices, {})));
    size_t g = 0;
    while (g < choice.size() && ++choice[g] == tasks.groups()[g].devices.size()) choice[g++] = 0;
    more = g < choice.size();
  }
  const SearchResult result = SearchPlacements(input, {}, StartsOf(input), {.rounds = 4});
  EXPECT_LE(result.best.front().step_ns, fastest);
}

// A start that does not fit is reported; what is found fits.
TEST(SearchTest, MemoryLimitsAreHard) {
  PlacementWorld world(4, 30, 8);
  for (const DeviceId gpu : world.machine.Gpus()) world.machine.devices[gpu].memory_bytes = 1024;
  const StrategyInput input = world.input();
  std::vector<SearchStart> starts = StartsOf(input);
  Placement on_host = starts.front().placement;
  on_host.device.assign(on_host.device.size(), world.machine.host());
  starts.push_back({"host", on_host});
  const SearchResult result = SearchPlacements(input, {}, starts, {.rounds = 2});
  ASSERT_FALSE(result.failed.empty());
  EXPECT_EQ(result.failed.front().first, "single");
  EXPECT_EQ(result.failed.front().second.code(), Code::kResourceExhausted);
  const Schedule schedule =
      Compile(input.graph, input.info, *input.step, result.best.front().placement, input.machine);
  for (const DeviceId gpu : world.machine.Gpus()) EXPECT_LE(schedule.peak_bytes[gpu], 1024);
}

// Starts that are placed one after the other; `before_second` is called before the second.
StartSource StartsWith(const StrategyInput& input, const std::function<void()>& before_second) {
  return [starts = StartsOf(input), before_second, next = size_t{0}]() mutable -> std::optional<SearchStart> {
    if (next == 1) before_second();
    if (next == starts.size()) return std::nullopt;
    StopPoint();
    return starts[next++];
  };
}

// The time of a copy is asked for in every thread that simulates; those of a search have no memory for it.
class CostsOfOneThread : public RooflineCost {
 public:
  CostEstimate Copy(const Machine& machine, DeviceId src, DeviceId dst, int64_t bytes) const override {
    if (std::this_thread::get_id() != owner_) throw std::bad_alloc();
    return RooflineCost::Copy(machine, src, dst, bytes);
  }

 private:
  const std::thread::id owner_ = std::this_thread::get_id();
};

// Law: what a thread of the search throws, whatever it is, comes to whoever searches.
TEST(SearchTest, AThreadWithoutMemoryEndsTheSearchAlone) {
  const PlacementWorld world(7, 30, 2);
  const CostsOfOneThread costs;
  const StrategyInput input = world.input();
  const StrategyInput failing{input.graph, input.info, input.machine, costs, input.placer, input.step};
  for (const int threads : {1, 4}) {
    EXPECT_THROW(SearchPlacements(failing, {}, StartsWith(failing, [] {}), {.threads = threads, .rounds = 2}),
                 std::bad_alloc);
  }
}

TEST(SearchTest, AnInterruptKeepsTheBest) {
  const PlacementWorld world(2, 30, 2);
  const StrategyInput input = world.input();
  std::atomic<bool> interrupted = false;
  const SearchResult result = SearchPlacements(input, {}, StartsWith(input, [&] { interrupted = true; }),
                                               {.interrupted = &interrupted});
  EXPECT_FALSE(result.settled);
  EXPECT_EQ(result.rounds, 0);
  ASSERT_EQ(result.starts.size(), 1u);
  EXPECT_EQ(result.best.front().origin, "single");
  EXPECT_EQ(result.best.front().step_ns, world.StepOf(result.best.front().placement));
}

TEST(SearchTest, AnInterruptBeforeThereIsAnythingEndsTheSearch) {
  const PlacementWorld world(2, 30, 2);
  const StrategyInput input = world.input();
  const std::atomic<bool> interrupted = true;
  try {
    SearchPlacements(input, {}, StartsOf(input), {.interrupted = &interrupted});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kCancelled);
  }
}

// The first start takes all the time that there is: no other is placed, nothing is tried.
TEST(SearchTest, ABudgetThatIsOverLeavesTheFirstStart) {
  const PlacementWorld world(3, 30, 2);
  const StrategyInput input = world.input();
  const SearchResult result =
      SearchPlacements(input, {}, StartsWith(input, [] { FAIL() << "a second start"; }), {.budget_ns = 1});
  EXPECT_FALSE(result.settled);
  EXPECT_EQ(result.evaluations, 0);
  ASSERT_EQ(result.best.size(), 1u);
  EXPECT_EQ(result.best.front().step_ns, world.StepOf(result.best.front().placement));
}

// One of two ranks runs out of time before the first round, and both end.
TEST(SearchTest, RanksEndTogetherWhereOneHasNoTime) {
  const PlacementWorld world(4, 20, 1);
  const StrategyInput input = world.input();
  ThreadRanks ranks(2);
  std::vector<SearchResult> results(2);
  std::vector<std::thread> threads;
  for (int r = 0; r < 2; ++r) {
    threads.emplace_back([&, r] {
      const int64_t budget_ns = r == 0 ? 60'000'000'000 : 1;
      results[static_cast<size_t>(r)] = SearchPlacements(
          input, {}, StartsOf(input), {.ranks = ranks.Of(r), .budget_ns = budget_ns, .rounds = 2});
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const SearchResult& result : results) EXPECT_EQ(result.rounds, 0);
  EXPECT_EQ(results[0].starts.size(), 4u);
}

}  // namespace
}  // namespace lanescope::sims
