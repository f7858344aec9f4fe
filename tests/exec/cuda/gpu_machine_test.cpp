// SPDX-License-Identifier: Apache-2.0
#include "exec/measure/gpu_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/processors.h"
#include "exec/cuda/cuda_device.h"
#include "exec/cuda/cuda_module.h"
#include "exec/cuda/gpu_rates.h"
#include "tests/exec/cuda/stub_harness.h"
#include "tests/support/paths.h"

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
  EXPECT_EQ(gpu.rates, "data sheet");
  EXPECT_EQ(gpu.multiprocessors, 132);
  EXPECT_EQ(machine.device(machine.host()).workers, NumProcessors());
  EXPECT_EQ(machine.device(machine.host()).rates, "") << "of the host the driver says nothing";
  EXPECT_EQ(machine.links.size(), 3u + 3u);
  EXPECT_FALSE(machine.RouteBetween(machine.Gpus()[0], machine.Gpus()[1]).staged);
  // The file that is printed reads back as the same machine.
  EXPECT_EQ(MachineToJson(ParseMachine(MachineToJson(machine))), MachineToJson(machine));
}

// By hand: multiprocessors x clock x 2 x multiply-adds a clock, beside what data sheets say (TFLOP/s, dense;
// of an H100 with its tensor cores' clock of 1830 MHz). Two transfers a clock of the memory.
TEST(RateGpu, FollowsDataSheets) {
  struct Sheet {
    int capability, multiprocessors;
    int64_t clock_khz, memory_clock_khz;
    int bus_bits;
    double float32, float64, tf32, float16, float8, gigabytes;
  };
  for (const Sheet& sheet : {Sheet{80, 108, 1410000, 1593000, 5120, 19.5, 9.7, 156, 312, 0, 2039},
                             Sheet{90, 132, 1830000, 2619000, 5120, 61.8, 30.9, 494.7, 989.4, 1978.9, 3352},
                             Sheet{89, 142, 2520000, 9001000, 384, 91.6, 1.43, 183, 366, 733, 864},
                             Sheet{86, 84, 1740000, 7251000, 384, 37.4, 0.58, 74.8, 149.7, 0, 696}}) {
    cuda::GpuProperties properties;
    properties.compute_capability = sheet.capability;
    properties.clock_khz = sheet.clock_khz;
    properties.memory_clock_khz = sheet.memory_clock_khz;
    properties.memory_bus_bits = sheet.bus_bits;
    DeviceSpec gpu;
    cuda::RateGpu(properties, sheet.multiprocessors, &gpu);
    const auto expect = [&](double flops, double tera) {
      EXPECT_NEAR(flops / 1e12, tera, 0.01 * tera) << sheet.capability;
    };
    expect(gpu.peak_flops.at(DataType::kFloat), sheet.float32);
    expect(gpu.peak_flops.at(DataType::kDouble), sheet.float64);
    expect(gpu.tf32_flops, sheet.tf32);
    expect(gpu.peak_flops.at(DataType::kHalf), sheet.float16);
    expect(gpu.peak_flops.at(DataType::kBfloat16), sheet.float16);
    expect(gpu.float8_flops, sheet.float8);
    EXPECT_NEAR(gpu.memory_bandwidth / 1e9, sheet.gigabytes, 0.01 * sheet.gigabytes);
    EXPECT_EQ(gpu.rates, "data sheet");
  }
}

// A clock that the driver does not say, and an architecture that nobody knows yet, give no rate.
TEST(RateGpu, LeavesUnknownRatesOut) {
  cuda::GpuProperties properties;
  properties.compute_capability = 90;
  DeviceSpec gpu;
  cuda::RateGpu(properties, 132, &gpu);
  EXPECT_TRUE(gpu.peak_flops.empty());
  EXPECT_EQ(gpu.tf32_flops, 0);
  EXPECT_EQ(gpu.rates, "");
  properties.compute_capability = 990;
  properties.clock_khz = 1000000;
  properties.memory_clock_khz = 1000000;
  properties.memory_bus_bits = 1024;
  cuda::RateGpu(properties, 132, &gpu);
  EXPECT_TRUE(gpu.peak_flops.empty());
  EXPECT_EQ(gpu.memory_bandwidth, 256e9);
  EXPECT_EQ(gpu.rates, "data sheet");
}

// Parts of a GPU in a file: what the driver says, unless the file does. Halves of 132 multiprocessors in
// groups of 8 are 64 each; 4 are in no group.
TEST(CompleteGpus, TellsWhatPartsReallyHave) {
  StubGuard stub;
  Machine halves = ReadMachine(lanescope::test::SourceDir() + "/samples/machines/one-gpu-as-two-halves.json");
  CompleteGpus(&halves);
  for (const DeviceId d : halves.Gpus()) {
    const DeviceSpec& part = halves.device(d);
    EXPECT_EQ(part.multiprocessors, 64);
    EXPECT_NEAR(part.peak_flops.at(DataType::kFloat), 66.9e12 * 64 / 132, 0.1e12);
    EXPECT_NEAR(part.memory_bandwidth, 3352e9, 1e9) << "which they share";
    EXPECT_EQ(part.model, "Stub GPU");
    EXPECT_EQ(part.rates, "data sheet");
  }
  EXPECT_EQ(MachineToJson(ParseMachine(MachineToJson(halves))), MachineToJson(halves));
  Machine shared = ReadMachine(lanescope::test::SourceDir() + "/samples/machines/one-gpu-as-two.json");
  DeviceSpec& given = shared.devices[shared.FindDevice("GPU:1")];
  given.peak_flops = {{DataType::kFloat, 1e12}};
  given.model = "mine";
  CompleteGpus(&shared);
  EXPECT_EQ(shared.device(shared.FindDevice("GPU:0")).multiprocessors, 132);
  EXPECT_EQ(given.peak_flops, (std::map<DataType, double>{{DataType::kFloat, 1e12}}));
  EXPECT_EQ(given.model, "mine");
  EXPECT_EQ(given.rates, "");
  EXPECT_EQ(stub->live_objects(), 0);
}

// Without a GPU, or with another one than the file names, nothing is added.
TEST(CompleteGpus, LeavesOtherMachinesAlone) {
  StubGuard stub;
  Machine machine = GpuMachine({0, 1});
  machine.devices[machine.FindDevice("GPU:1")].physical = 7;
  CompleteGpus(&machine);
  EXPECT_EQ(machine.device(machine.FindDevice("GPU:1")).rates, "");
  Machine here = VirtualMachine(2, 1);
  const std::string before = MachineToJson(here);
  CompleteGpus(&here);
  EXPECT_EQ(MachineToJson(here), before);
}

// Some of them, by their place, are numbered anew, with the links between them; the others are left alone.
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

// A rate that was not measured stays the data sheet's, and the label says so.
TEST(MeasureGpus, SaysWhatWasMeasured) {
  StubGuard stub;
  Machine machine = GpuMachine({0, 1});
  CompleteGpus(&machine);
  const double half = machine.device(machine.Gpus()[0]).peak_flops.at(DataType::kHalf);
  MeasureGpus(&machine, 4, 1);
  EXPECT_EQ(machine.device(machine.Gpus()[0]).rates, "measured: float32 and memory; data sheet: the rest");
  EXPECT_EQ(machine.device(machine.Gpus()[0]).peak_flops.at(DataType::kHalf), half);
  Machine bare = GpuMachine({0, 1});
  MeasureGpus(&bare, 4, 1);
  EXPECT_EQ(bare.device(bare.Gpus()[0]).rates, "measured");
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
