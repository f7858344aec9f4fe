// SPDX-License-Identifier: Apache-2.0
// Fused launches on a GPU, and the cache of their kernels.
#include "exec/cuda/fused_launch.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "core/base/file.h"
#include "exec/cuda/kernel_cache.h"
#include "exec/cuda/nvrtc_library.h"
#include "tests/exec/attention_graph.h"
#include "tests/exec/cuda/stub_harness.h"

namespace lanescope::exec::test {
namespace {

// Kernels are found again by what they are made of, and nothing damaged is.
TEST(KernelCache, FindsWhatWasKeptAndNothingElse) {
  const std::string folder = ::testing::TempDir() + "/kernels_" + std::to_string(getpid());
  const cuda::KernelCache cache(folder);
  const std::string binary(
      "\x7f"
      "ELF\0\n",
      6);
  EXPECT_FALSE(cache.Find("key"));
  cache.Keep("key", binary);
  EXPECT_EQ(cache.Find("key"), binary);
  EXPECT_FALSE(cache.Find("other key"));
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    std::string bytes = ReadFile(file.path().string());
    bytes.back() = '!';
    WriteFile(file.path().string(), bytes);
  }
  EXPECT_FALSE(cache.Find("key"));
  EXPECT_FALSE(cuda::KernelCache("").Find("key"));
  std::filesystem::remove_all(folder);
}

// tanh(x * 2 + bias): with fusion one launch of one kernel, which the second session finds in the cache.
TEST(FusedLaunches, AreOneLaunchOfAMadeKernel) {
  std::string reason;
  if (cuda::LoadNvrtc(&reason) == nullptr) GTEST_SKIP() << reason;
  const std::string folder = ::testing::TempDir() + "/fused_kernels_" + std::to_string(getpid());
  setenv("LANESCOPE_KERNEL_CACHE", folder.c_str(), 1);
  GraphBuilder builder;
  const Endpoint x = builder.Placeholder("x", DataType::kFloat, Shape{8, 16});
  const Endpoint bias = builder.Const("bias", Floats(Shape{16}, 0.5f));
  const Endpoint product =
      builder.Op("Mul", "product").Input(x).Input(builder.Const("two", Tensor::Scalar(2.0f))).Build();
  const Endpoint sum = builder.Op("AddV2", "sum").Input(product).Input(bias).Build();
  builder.Op("Tanh", "result").Input(sum).Build();
  const Graph graph = builder.Take();
  for (int run = 0; run < 2; ++run) {
    StubGuard stub;
    {
      const Machine machine = GpuMachine({0});
      SessionOptions options;
      options.fuse = true;
      const Placement placement = PlaceAll(graph, Gpu(machine, 0));
      Session session(graph, placement, machine, options);
      session.Run({{{"x:0", Floats(Shape{8, 16}, 1.0f)}}, {"result:0"}, {}});
      EXPECT_EQ(stub->Calls("cuModuleLoadData"), 1);
      EXPECT_EQ(stub->Calls("cuLaunchKernel"), 1);
      EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
    }
    EXPECT_EQ(stub->live_objects(), 0);
  }
  unsetenv("LANESCOPE_KERNEL_CACHE");
  std::filesystem::remove_all(folder);
}

// Attention and its gradients: one command each, of one kernel forward, and backward of one by rows and one
// by columns. What the first one leaves for the second is given back at the end.
TEST(FusedLaunches, OfAttentionAreMadeKernels) {
  std::string reason;
  if (cuda::LoadNvrtc(&reason) == nullptr) GTEST_SKIP() << reason;
  const std::string folder = ::testing::TempDir() + "/attention_kernels_" + std::to_string(getpid());
  setenv("LANESCOPE_KERNEL_CACHE", folder.c_str(), 1);
  Attention attention({1, 2, 70, 90, 16, 24});
  attention.OfTensorFlow(true);
  {
    StubGuard stub;
    {
      Machine machine = GpuMachine({0});
      machine.devices[Gpu(machine, 0)].peak_flops[DataType::kFloat] = 60e12;
      machine.devices[Gpu(machine, 0)].memory_bandwidth = 1e12;
      SessionOptions options;
      options.fuse = true;
      const Graph& graph = attention.builder.graph();
      const Placement placement = PlaceAll(graph, Gpu(machine, 0));
      Session session(graph, placement, machine, options);
      session.Run({MakeFeeds(attention.spec, 0), attention.spec.fetches, {}});
      EXPECT_EQ(stub->Calls("cuLaunchKernel"), 3);
    }
    EXPECT_EQ(stub->live_objects(), 0);
  }
  unsetenv("LANESCOPE_KERNEL_CACHE");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace lanescope::exec::test
