#include "exec/measure/gpu_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exec/cuda/cuda_device.h"
#include "exec/cuda/cuda_module.h"
#include "tests/exec/cuda/stub_harness.h"

namespace lanescope::exec::test {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

// TensorFlow's rules: free less max(300 MiB, 5%), or less 200 MiB where little is free; a fraction is of the
// total; a limit is taken as it is.
// A K80 with 11.07 GiB, of which the context takes 43 MiB.
TEST(GpuMemoryLimit, H15AShareStaysFree) {
  const auto free = static_cast<int64_t>(11.07 * 1024 - 43) * kMiB;
  EXPECT_EQ(GpuMemoryLimit(free, 11441 * kMiB, {}) / kMiB, 10727);
}

TEST(GpuMemoryLimit, FollowsTensorFlow) {
  EXPECT_EQ(GpuMemoryLimit(10000 * kMiB, 12000 * kMiB, {}), 9500 * kMiB);
  EXPECT_EQ(GpuMemoryLimit(4000 * kMiB, 12000 * kMiB, {}), 3700 * kMiB);
  EXPECT_EQ(GpuMemoryLimit(1000 * kMiB, 12000 * kMiB, {}), 800 * kMiB);
  EXPECT_EQ(GpuMemoryLimit(1000 * kMiB, 12000 * kMiB, {.fraction = 0.5}), 6000 * kMiB);
  EXPECT_EQ(GpuMemoryLimit(1000 * kMiB, 12000 * kMiB, {.limit_bytes = 7 * kMiB}), 7 * kMiB);
  ExpectError(Code::kInvalidArgument, {"exclude each other"},
              [] { GpuMemoryLimit(kMiB, kMiB, {.fraction = 0.5, .limit_bytes = 1}); });
  ExpectError(Code::kInvalidArgument, {"oversubscription"},
              [] { GpuMemoryLimit(kMiB, kMiB, {.fraction = 1.5}); });
  ExpectError(Code::kInvalidArgument, {"more than the GPU's"},
              [] { GpuMemoryLimit(kMiB, kMiB, {.limit_bytes = 2 * kMiB}); });
}

// Beside the program of a build, below the prefix of an installation (whose folder for libraries may have the
// architecture's name in it), and from a package of Python's in either.
TEST(CudaModule, IsFoundFromTheProgramAndFromPython) {
  using testing::AllOf;
  using testing::Contains;
  using testing::EndsWith;
  using testing::Not;
  using testing::StartsWith;
  const auto paths = [](const std::string& file) {
    std::vector<std::string> texts;
    for (const auto& path : cuda::CudaModulePaths(file)) texts.push_back(path.string());
    return texts;
  };
  const std::string name = "/liblanescope_cuda.so";
  EXPECT_THAT(paths("/build/bin/lanescope"), Contains("/build/bin" + name));
  EXPECT_THAT(paths("/usr/bin/lanescope"),
              Contains(AllOf(StartsWith("/usr/lib"), EndsWith("/lanescope" + name))));
  EXPECT_THAT(paths("/env/lib/python3.12/site-packages/lanescope/_core.so"),
              Contains(AllOf(StartsWith("/env/lib"), Not(StartsWith("/env/lib/python")),
                             EndsWith("/lanescope" + name))));
  EXPECT_THAT(paths("/build/python/lanescope/_core.so"), Contains("/build/bin" + name));
}

// Each GPU in visible order, linked to the host; to each other only with peer access.
TEST(DetectGpus, DescribesWhatTheDriverShows) {
  StubOptions options;
  options.gpus = 3;
  StubGuard stub(options);
  std::vector<std::string> notes;
  const Machine machine = DetectGpus({}, &notes);
  EXPECT_TRUE(notes.empty());
  ASSERT_EQ(machine.Gpus().size(), 3u);
  const DeviceSpec& gpu = machine.device(machine.Gpus()[2]);
  EXPECT_EQ(gpu.kind, DeviceKind::kCuda);
  EXPECT_EQ(gpu.physical, 2);
  EXPECT_EQ(gpu.model, "Stub GPU");
  EXPECT_TRUE(gpu.in_order);
  // 132 multiprocessors of 128 units, 2 operations a clock of 1.98 GHz.
  EXPECT_NEAR(gpu.peak_flops.at(DataType::kFloat), 66.9e12, 0.1e12);
  EXPECT_EQ(machine.links.size(), 3u + 3u);
  EXPECT_FALSE(machine.RouteBetween(machine.Gpus()[0], machine.Gpus()[1]).staged);
  // The file that is printed reads back as the same machine.
  EXPECT_EQ(MachineToJson(ParseMachine(MachineToJson(machine))), MachineToJson(machine));
}

// Of some of them, by their place: numbered anew, with the links between them; the others are left alone.
TEST(DetectGpus, DescribesSomeOfThem) {
  StubOptions options;
  options.gpus = 3;
  StubGuard stub(options);
  std::vector<std::string> notes;
  EXPECT_EQ(UsableGpus(&notes), (std::vector<int>{0, 1, 2}));
  const Machine machine = DescribeGpus({2, 1}, {});
  ASSERT_EQ(machine.Gpus().size(), 2u);
  EXPECT_EQ(machine.device(machine.FindDevice("GPU:0")).physical, 2);
  EXPECT_EQ(machine.device(machine.FindDevice("GPU:1")).physical, 1);
  EXPECT_EQ(machine.links.size(), 2u + 1u);
  EXPECT_EQ(stub->Calls("cudaDeviceEnablePeerAccess"), 2) << "each of the two for the other";
}

TEST(DetectGpus, CopiesWithoutPeerAccessAreStaged) {
  StubOptions options;
  options.peers = false;
  StubGuard stub(options);
  std::vector<std::string> notes;
  const Machine machine = DetectGpus({}, &notes);
  EXPECT_TRUE(machine.RouteBetween(machine.Gpus()[0], machine.Gpus()[1]).staged);
}

// Law: of several GPUs those with fewer than 8 multiprocessors are left out, unless none has more.
TEST(DetectGpus, H33LeavesSmallGpusOutBesideLargerOnes) {
  StubOptions options;
  options.first_multiprocessors = 7;
  std::vector<std::string> notes;
  {
    StubGuard stub(options);
    EXPECT_EQ(DetectGpus({}, &notes).Gpus().size(), 1u);
  }
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("with 7 multiprocessors: the minimum is 8; TF_MIN_GPU_MULTIPROCESSOR_COUNT"),
            std::string::npos);
  notes.clear();
  options.multiprocessors = 7;
  StubGuard stub(options);
  EXPECT_EQ(DetectGpus({}, &notes).Gpus().size(), 2u);
  EXPECT_TRUE(notes.empty());
}

// Rates, tables of all links in both directions, and nothing left on the device.
TEST(MeasureGpus, FillsTheMachine) {
  StubGuard stub;
  Machine machine = GpuMachine({0, 1});
  const GpuMeasurement measured = MeasureGpus(&machine, int64_t{1} << 20, 2);
  EXPECT_EQ(stub->live_objects(), 0);
  EXPECT_EQ(measured.interference.size(), 2u);
  EXPECT_EQ(measured.links_busy.size(), machine.links.size());
  for (const LinkSpec& link : machine.links) {
    ASSERT_GE(link.table.size(), 3u);
    EXPECT_EQ(link.table.back().first, int64_t{1} << 20);
    for (size_t i = 1; i < link.table.size(); ++i) {
      EXPECT_GT(link.table[i].first, link.table[i - 1].first);
      EXPECT_GE(link.table[i].second, link.table[i - 1].second);
    }
  }
  for (const DeviceId gpu : machine.Gpus()) {
    EXPECT_GT(machine.device(gpu).peak_flops.at(DataType::kFloat), 0);
    EXPECT_GT(machine.device(gpu).memory_bandwidth, 0);
  }
  EXPECT_NO_THROW(ParseMachine(MachineToJson(machine)));
}

TEST(MeasureGpus, StopsWhenCancelled) {
  StubGuard stub;
  Machine machine = GpuMachine({0, 1});
  const std::atomic<bool> cancelled{true};
  ExpectError(Code::kCancelled, {}, [&] { MeasureGpus(&machine, 1 << 20, 1, &cancelled); });
  EXPECT_EQ(stub->live_objects(), 0);
}

// Shares of 16 groups: by size, each at least one, never more than there are.
TEST(Partitions, GroupsForShares) {
  EXPECT_EQ(cuda::GroupsForShares({0.5, 0.5}, 16), (std::vector<int>{8, 8}));
  EXPECT_EQ(cuda::GroupsForShares({0.75, 0.25}, 16), (std::vector<int>{12, 4}));
  EXPECT_EQ(cuda::GroupsForShares({0.01, 0.99}, 16), (std::vector<int>{1, 15}));
  EXPECT_EQ(cuda::GroupsForShares({0.99, 0.01}, 16), (std::vector<int>{15, 1}));
}

}  // namespace
}  // namespace lanescope::exec::test
