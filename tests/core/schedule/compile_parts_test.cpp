// SPDX-License-Identifier: Apache-2.0
// The data structures that the passes of core/schedule/compile share, each against its plain definition.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "core/base/rows.h"
#include "core/schedule/compile/arena.h"
#include "core/schedule/compile/free_ranges.h"
#include "core/schedule/compile/happens_before.h"

namespace lanescope::compile {
namespace {

TEST(Rows, TransposeListsTheRowsOfEveryItem) {
  Rows<> rows;
  for (const std::vector<int>& row : {std::vector<int>{2, 0}, {}, {2, 2, 1}, {0}}) {
    for (const int item : row) rows.Append(item);
    rows.SortOpenRow();
    rows.EndRow();
  }
  const Rows<> turned = Transpose(rows, 4);
  ASSERT_EQ(turned.size(), 4u);
  const auto row = [&](int i) { return std::vector<int>(turned[i].begin(), turned[i].end()); };
  EXPECT_EQ(row(0), (std::vector<int>{0, 3}));
  EXPECT_EQ(row(1), (std::vector<int>{2}));
  EXPECT_EQ(row(2), (std::vector<int>{0, 2}));
  EXPECT_EQ(row(3), std::vector<int>{});
}

// Law: under any insertions and removals the ranges come in the order of (bytes, offset).
TEST(FreeRanges, BehaveAsASortedSet) {
  std::mt19937 rng(3);
  FreeRanges ranges;
  std::set<std::pair<int64_t, int64_t>> model;
  for (int step = 0; step < 20000; ++step) {
    // Grows to a thousand ranges, then shrinks to nothing, again and again.
    const bool grow = step / 2000 % 2 == 0;
    if (grow ? rng() % 4 != 0 : rng() % 4 == 0) {
      const auto bytes = static_cast<int64_t>(1 + rng() % 7), offset = static_cast<int64_t>(rng() % 5000);
      if (model.emplace(bytes, offset).second)
        ranges.Insert({bytes, offset, static_cast<int>(bytes * 5000 + offset)});
    } else if (!model.empty()) {
      const auto at = std::next(model.begin(), static_cast<int>(rng() % std::min<size_t>(model.size(), 50)));
      ranges.Erase({at->first, at->second, static_cast<int>(at->first * 5000 + at->second)});
      model.erase(at);
    }
    const auto least = static_cast<int64_t>(rng() % 8);
    std::vector<int> seen, expected;
    ranges.FindBlock(least, 5, [&](const FreeRange& range) {
      seen.push_back(range.block);
      return false;
    });
    for (auto at = model.lower_bound({least, -1}); at != model.end() && expected.size() < 5; ++at)
      expected.push_back(static_cast<int>(at->first * 5000 + at->second));
    ASSERT_EQ(seen, expected) << step;
  }
}

struct Dag {
  IdVector<CommandId, std::vector<CommandId>> predecessors;
  IdVector<CommandId, int> queue;  // its in-order queue, -1 none
};

Dag RandomDag(unsigned seed, int commands, int queues) {
  std::mt19937 rng(seed);
  Dag dag;
  for (const CommandId c : IdRange<CommandId>(static_cast<size_t>(commands))) {
    std::set<CommandId> before;
    for (unsigned k = rng() % 3; c.number() > 0 && k > 0; --k)
      before.emplace(std::max(0, c.number() - 1 - static_cast<int>(rng() % 40)));
    dag.predecessors.Add({before.begin(), before.end()});
    dag.queue.Add(queues > 0 && rng() % 2 == 0 ? static_cast<int>(rng() % static_cast<unsigned>(queues))
                                               : -1);
  }
  return dag;
}

// reaches[b][a]: a path of dependencies and queue orders leads from a to b.
std::vector<std::vector<bool>> Closure(const Dag& dag) {
  const size_t count = dag.predecessors.size();
  std::vector<std::vector<bool>> reaches(count, std::vector<bool>(count));
  std::vector<CommandId> tail(8);
  for (const CommandId id : dag.predecessors.ids()) {
    const size_t c = id.index();
    std::vector<CommandId> before = dag.predecessors[id];
    if (dag.queue[id] >= 0) {
      CommandId& last = tail[static_cast<size_t>(dag.queue[id])];
      if (last.exists()) before.push_back(last);
      last = id;
    }
    for (const CommandId b : before) {
      const size_t from = b.index();
      reaches[c][from] = true;
      for (size_t a = 0; a < count; ++a) reaches[c][a] = reaches[c][a] || reaches[from][a];
    }
  }
  return reaches;
}

// Law: for a command in a chain the answer is that of the transitive closure, for any other it is no.
TEST(HappensBefore, IsTheClosureForCommandsInChains) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    const int queues = static_cast<int>(seed % 3);
    const Dag dag = RandomDag(seed, 300, queues);
    const auto reaches = Closure(dag);
    HappensBefore order(queues, dag.predecessors.size());
    for (const CommandId c : dag.predecessors.ids()) order.Add(dag.predecessors[c], dag.queue[c]);
    int outside = 0;
    for (const CommandId a : IdRange<CommandId>(300)) {
      if (!order.InChain(a)) ++outside;
      for (const CommandId b : IdRange<CommandId>(300)) {
        const bool expected = order.InChain(a) && reaches[b.index()][a.index()];
        ASSERT_EQ(order.Before(a, b), expected) << seed << ": " << a.number() << " before " << b.number();
      }
    }
    EXPECT_LT(outside, 250) << seed;
  }
}

// Law: where commands run in order, what was freed after different ones is free as a whole, and the free end
// of the memory only grows by what it lacks. Blocks of 100, 200 and 300 bytes: 600 fit where they were, and
// 700 take 100 more.
TEST(Arena, WhatIsFreedByTurnsIsOneRange) {
  HappensBefore order(1, 8);
  Arena arena(&order);
  auto add = [&, count = 0]() mutable {
    order.Add(std::span<const CommandId>(), 0);
    return CommandId(count++);
  };
  std::vector<int> blocks;
  for (const int64_t bytes : {100, 200, 300}) blocks.push_back(arena.Take(bytes, add()));
  EXPECT_EQ(arena.end(), 600);
  for (const int number : {1, 0, 2}) {
    const HappensBefore::Place user = order.PlaceOf(add());
    arena.Give(blocks[static_cast<size_t>(number)], {&user, 1});
  }
  const CommandId last = add();
  const int all = arena.Take(600, last);
  EXPECT_EQ(arena.offset(all), 0);
  EXPECT_EQ(arena.end(), 600);
  const HappensBefore::Place user = order.PlaceOf(last);
  arena.Give(all, {&user, 1});
  EXPECT_EQ(arena.offset(arena.Take(700, add())), 0);
  EXPECT_EQ(arena.end(), 700);
}

// Law: held blocks do not overlap, and memory is taken again only by a command that comes after the one that
// used it last.
TEST(Arena, MemoryIsReusedOnlyAfterItsLastUser) {
  constexpr int64_t kGrain = 64;
  const Dag dag = RandomDag(5, 2000, 2);
  HappensBefore order(2, dag.predecessors.size());
  Arena arena(&order);
  std::mt19937 rng(5);
  struct Held {
    int block;
    size_t begin, end;  // in grains
  };
  std::vector<Held> held;
  struct Grain {
    bool held = false;
    CommandId last_user = {};
  };
  std::vector<Grain> memory;
  size_t total = 0;
  for (const CommandId c : dag.queue.ids()) {
    order.Add(dag.predecessors[c], dag.queue[c]);
    const size_t grains = 1 + rng() % 4;
    const int block = arena.Take(static_cast<int64_t>(grains) * kGrain, c);
    const auto begin = static_cast<size_t>(arena.offset(block) / kGrain);
    total += grains;
    memory.resize(static_cast<size_t>(arena.end() / kGrain));
    for (size_t g = begin; g < begin + grains; ++g) {
      ASSERT_FALSE(memory[g].held) << c.number();
      ASSERT_TRUE(!memory[g].last_user.exists() || order.Before(memory[g].last_user, c)) << c.number();
      memory[g].held = true;
    }
    held.push_back({block, begin, begin + grains});
    if (held.size() < 8 || !order.InChain(c)) continue;
    std::swap(held[rng() % held.size()], held.back());
    for (size_t g = held.back().begin; g < held.back().end; ++g) memory[g] = {false, c};
    const HappensBefore::Place user = order.PlaceOf(c);
    arena.Give(held.back().block, {&user, 1});
    held.pop_back();
  }
  EXPECT_LT(memory.size(), total / 2);
}

}  // namespace
}  // namespace lanescope::compile
