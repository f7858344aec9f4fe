// SPDX-License-Identifier: Apache-2.0
// Law: kernels that are made for a GPU compute what the host's fused launches compute, whatever their nodes.
#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>

#include "core/schedule/fusion.h"
#include "core/schedule/row_products.h"
#include "exec/run/fused_kernel.h"
#include "tests/exec/cuda/fused_emulation.h"
#include "tests/support/random_arithmetic.h"
#include "tests/support/random_attention.h"

namespace lanescope::exec::test {
namespace {

using lanescope::test::RandomArithmetic;
using lanescope::test::RandomAttention;

template <typename Random>
FusedStep StepOf(const Random& random, const std::vector<std::string>& targets) {
  Graph graph = random.graph();
  CompileRequest request;
  for (const auto& [name, tensor] : random.feeds()) {
    TensorInfo info;
    info.dtype = tensor.dtype();
    info.shape = tensor.shape();
    request.feeds.emplace_back(graph.FindEndpoint(name), info);
  }
  for (const std::string& fetch : random.fetches()) request.fetches.push_back(graph.FindEndpoint(fetch));
  for (const std::string& target : targets) request.fetches.push_back({graph.FindNode(target), -1});
  return CompileFused(std::move(graph), std::move(request));
}

// The graph is compiled for a virtual GPU, which shares more.
bool FitsHardware(const FusedStep& step, const Command& command) {
  return std::ranges::all_of(step.schedule.FusedNodes(command), [&](const FusedNode& member) {
    return RunsFusedOnHardware(step.graph.node(member.node), member.dtype);
  });
}

// `LANESCOPE_SEEDS=from-to` takes others.
std::pair<unsigned, unsigned> Seeds(unsigned count) {
  unsigned from = 0, to = count;
  if (const char* seeds = std::getenv("LANESCOPE_SEEDS"); seeds != nullptr) {
    EXPECT_EQ(std::sscanf(seeds, "%u-%u", &from, &to), 2);
  }
  return {from, to};
}

void ExpectHostsResults(const EmulatedLaunches& launches) {
  for (size_t i = 0; i < launches.size(); ++i) {
    const FusedStep& step = launches.step(i);
    const Command& command = launches.command(i);
    LaunchMemory memory(step, command, static_cast<unsigned>(i));
    LaunchMemory emulated(memory);
    HostLaunch launch(step, command, &memory);
    MakeFusedKernel(step.graph, step.schedule, command)->Compute(launch);
    launches.Run(i, &emulated);
    ExpectNear(memory, emulated,
               LaunchOp(step.graph, step.schedule, command) + "\n" + launches.texts(i).kernels[0].text);
  }
}

// In doubles, so that no comparison depends on how two libraries round.
TEST(RandomArithmetic, OnAGpuIsThatOfTheHost) {
  const auto [from, to] = Seeds(30);
  std::deque<FusedStep> steps;
  EmulatedLaunches launches;
  for (unsigned seed = from; seed < to; ++seed) {
    RandomArithmetic::Options options;
    options.ops = 25;
    options.most_elements = seed % 4 == 0 ? 3000 : 200;
    options.wide = true;
    const RandomArithmetic random(seed, options);
    steps.push_back(StepOf(random, random.targets()));
    for (const Command& command : steps.back().schedule.commands) {
      if (command.fused >= 0 && FitsHardware(steps.back(), command)) launches.Add(steps.back(), command);
    }
  }
  ASSERT_GT(launches.size(), to - from);
  if (!launches.Compile()) GTEST_SKIP() << "no compiler is here";
  ExpectHostsResults(launches);
}

// Products, too; sums over rows have kernels of their own.
TEST(RandomAttention, OnAGpuIsThatOfTheHost) {
  const auto [from, to] = Seeds(12);
  std::deque<FusedStep> steps;
  EmulatedLaunches launches;
  for (unsigned seed = from; seed < to; ++seed) {
    steps.push_back(StepOf(RandomAttention(seed, DataType::kDouble, 70), {}));
    for (const Command& command : steps.back().schedule.commands) {
      if (command.fused >= 0 && FitsHardware(steps.back(), command)) launches.Add(steps.back(), command);
    }
  }
  if (!launches.Compile()) GTEST_SKIP() << "no compiler is here";
  ExpectHostsResults(launches);
}

}  // namespace
}  // namespace lanescope::exec::test
