// SPDX-License-Identifier: Apache-2.0
#include "core/machine/machine.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/processors.h"
#include "core/base/units.h"
#include "core/machine/copy_time.h"
#include "core/machine/tasks.h"
#include "core/schedule/cost.h"
#include "tests/support/ids.h"
#include "tests/support/paths.h"

namespace lanescope {
namespace {

std::string MessageOf(const std::string& json) {
  try {
    ParseMachine(json);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    return error.message();
  }
  return "accepted";
}

// Two linked GPUs with the given text in the second link, and in the second GPU.
std::string Sample(const std::string& link, const std::string& gpu = "") {
  return R"({"devices": [{"name": "CPU:0"}, {"name": "GPU:0", "memory": "1GiB"},
            {"name": "GPU:1", "memory": "1GiB")" +
         gpu + R"(}], "buses": [{"name": "pcie", "bandwidth": "9GB/s"}],
            "links": [{"between": ["CPU:0", "GPU:0"], "bandwidth": "10GB/s", "latency": "8us", "bus": "pcie"},
                      {"between": ["CPU:0", "GPU:1"])" +
         link + "}]}";
}

Machine HostLinked() {
  return ParseMachine(Sample(R"(, "bandwidth": "5GB/s", "latency": "2us", "bus": "pcie")"));
}

TEST(UnitsTest, QuantitiesHaveUnits) {
  EXPECT_EQ(ParseBytes("11.17GiB"), 11993696174);
  EXPECT_EQ(ParseBytes("4 KiB"), 4096);
  EXPECT_EQ(ParseBytes("4KB"), 4000);
  EXPECT_EQ(ParseBytes("0B"), 0);
  EXPECT_DOUBLE_EQ(ParseBandwidth("7.55GB/s"), 7.55e9);
  EXPECT_DOUBLE_EQ(ParseBandwidth("1GiB/s"), 1073741824.0);
  EXPECT_EQ(ParseDuration("4.3us"), 4300);
  EXPECT_EQ(ParseDuration("2s"), 2000000000);
}

TEST(UnitsTest, EverythingElseIsRefused) {
  for (const char* bad :
       {"", "GiB", "1", "-1B", "+1B", "1Gb", "1gib", "infB", "nanB", "1e300B", "1GiB ", "1  B"}) {
    EXPECT_THROW(ParseBytes(bad), Error) << bad;
  }
  for (const char* bad : {"1GB", "1Gb/s", "1Gbit/s", "1e30GB/s"})
    EXPECT_THROW(ParseBandwidth(bad), Error) << bad;
  for (const char* bad : {"1", "1m", "1e30s", "0x1s"}) EXPECT_THROW(ParseDuration(bad), Error) << bad;
}

TEST(UnitsTest, FormatsForPeople) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(1536), "1.5 KiB");
  EXPECT_EQ(FormatBytes(22506272), "21.46 MiB");
  EXPECT_EQ(FormatBandwidth(7.55e9), "7.55 GB/s");
  EXPECT_EQ(FormatBandwidth(999'999'999.9), "1 GB/s");
  EXPECT_EQ(FormatBandwidth(999.8e6), "999.8 MB/s");
  EXPECT_EQ(FormatDuration(4300), "4.3 us");
}

TEST(MachineTest, ReadsEveryField) {
  const Machine machine = ParseMachine(R"({"name": "m", "devices": [
      {"name": "GPU:1", "kind": "logical", "model": "X", "memory": "2GiB", "workers": 3, "copy_engines": 1,
       "queue": "in-order", "peak": {"float32": "4.37TFLOP/s", "tf32": "9TFLOP/s", "float8": "70TFLOP/s"},
       "memory_bandwidth": "240GB/s", "rates": "data sheet", "launch": "5us", "physical": 2, "sm_share": 0.5,
       "multiprocessors": 64}]})");
  ASSERT_EQ(machine.num_devices(), 2) << "CPU:0 is added";
  const DeviceSpec& gpu = machine.device(DeviceId(0));
  EXPECT_EQ(gpu.name, "/job:localhost/replica:0/task:0/device:GPU:1");
  EXPECT_EQ(gpu.kind, DeviceKind::kLogical);
  EXPECT_EQ(gpu.memory_bytes, int64_t{2} << 30);
  EXPECT_EQ(gpu.workers, 3);
  EXPECT_EQ(gpu.copy_engines, 1);
  EXPECT_TRUE(gpu.in_order);
  EXPECT_DOUBLE_EQ(gpu.peak_flops.at(DataType::kFloat), 4.37e12);
  EXPECT_EQ(gpu.peak_flops.size(), 1u);
  EXPECT_DOUBLE_EQ(gpu.tf32_flops, 9e12);
  EXPECT_DOUBLE_EQ(gpu.float8_flops, 70e12);
  EXPECT_DOUBLE_EQ(gpu.memory_bandwidth, 240e9);
  EXPECT_EQ(gpu.rates, "data sheet");
  EXPECT_EQ(gpu.multiprocessors, 64);
  EXPECT_EQ(gpu.launch_ns, 5000);
  EXPECT_EQ(gpu.physical, 2);
  EXPECT_DOUBLE_EQ(gpu.sm_share, 0.5);
  EXPECT_EQ(machine.host(), DeviceId(1));
}

TEST(MachineTest, ErrorsNameTheField) {
  const std::string good = R"(, "bandwidth": "5GB/s")";
  EXPECT_EQ(MessageOf(Sample(good)), "accepted");
  const std::pair<std::string, std::string> cases[] = {
      {Sample(R"(, "bandwidth": "5Gb/s")"), "machine.links[1].bandwidth: "},
      {Sample(R"(, "bandwidth": "0GB/s")"), "machine.links[1].bandwidth: "},
      {Sample(R"(, "bandwidth": -5)"), "machine.links[1].bandwidth: "},
      {Sample(""), "machine.links[1].bandwidth: missing"},
      {Sample(good + R"(, "latncy": "1us")"), "machine.links[1].latncy: unknown key"},
      {Sample(good + R"(, "latency": "2000s")"), "machine.links[1].latency: "},
      {Sample(good + R"(, "bus": "x")"), "machine.links[1].bus: no bus 'x'"},
      {Sample(good + R"(, "table": [["2KiB", "1us"], ["1KiB", "2us"]])"), "machine.links[1].table[1]: "},
      {Sample(good + R"(, "table": [["2KiB"]])"), "machine.links[1].table[0]: "},
      {Sample(good + R"(}, {"between": ["GPU:1", "GPU:1"], "bandwidth": "1GB/s")"),
       "machine.links[2].between: "},
      {Sample(good + R"(}, {"between": ["GPU:0", "CPU:0"], "bandwidth": "1GB/s")"),
       "machine.links[2].between: "},
      {Sample(good + R"(}, {"between": ["GPU:0", "GPU:7"], "bandwidth": "1GB/s")"),
       "machine.links[2].between[1]: no device 'GPU:7'"},
      {Sample(good, R"(, "copy_engines": 3)"), "machine.devices[2].copy_engines: "},
      {Sample(good, R"(, "workers": 1.5)"), "machine.devices[2].workers: "},
      {Sample(good, R"(, "workers": 18446744073709551615)"), "machine.devices[2].workers: "},
      {Sample(good, R"(, "peak": {"float33": "1TFLOP/s"})"), "machine.devices[2].peak.float33: "},
      {Sample(good, R"(, "peak": {"tf32": "1GB/s"})"), "machine.devices[2].peak.tf32: "},
      {Sample(good, R"(, "multiprocessors": 0)"), "machine.devices[2].multiprocessors: "},
      {Sample(good, R"(, "rates": 5)"), "machine.devices[2].rates: "},
      {Sample(good, R"(, "kind": "host")"), "machine.devices[2].kind: "},
      {Sample(good, R"(, "kind": "cuda")"), "machine.devices[2].physical: missing"},
      {Sample(good, R"(, "kind": "logical", "physical": 0, "sm_share": 1.5)"),
       "machine.devices[2].sm_share: "},
      {Sample(good, R"(}, {"name": "/gpu:1", "memory": "1GiB")"), "machine.devices[3].name: "},
      {Sample(good, R"(}, {"name": "GPU:1", "memory": "1GiB")"), "machine.devices[3].name: "},
      {Sample(good, R"(}, {"name": "GPU:2")"), "machine.devices[3].memory: missing"},
      {Sample(good, R"(, "memory": "2GiB")"), "machine: the key 'memory' stands twice"},
      {"[]", "machine: must be an object"},
      {"{", "machine: not JSON"},
      {"{}", "machine.devices: missing"},
  };
  for (const auto& [json, message] : cases)
    EXPECT_TRUE(MessageOf(json).starts_with(message)) << MessageOf(json);
}

TEST(MachineTest, WritingAndReadingLosesNothing) {
  for (const char* name : {"two-virtual-gpus", "four-virtual-gpus", "k80x2", "dgx-h100"}) {
    const Machine machine = ReadMachine(test::SourceDir() + "/samples/machines/" + name + ".json");
    const std::string text = MachineToJson(machine);
    EXPECT_EQ(MachineToJson(ParseMachine(text)), text) << name;
  }
  Machine odd = VirtualMachine(1, 2);
  odd.devices[DeviceId(1)].memory_bytes = 1234567891;
  odd.devices[DeviceId(1)].tf32_flops = 1.25e12;
  odd.devices[DeviceId(1)].float8_flops = 3e12;
  odd.devices[DeviceId(1)].rates = "measured";
  odd.devices[DeviceId(1)].multiprocessors = 7;
  odd.links[0].bandwidth = 7.5512345678e9;
  odd.links[0].latency_ns = 4321;
  odd.links[0].table = {{100, 3}, {4096, 77}};
  const Machine back = ParseMachine(MachineToJson(odd));
  EXPECT_EQ(back.devices[DeviceId(1)].memory_bytes, 1234567891);
  EXPECT_EQ(back.devices[DeviceId(1)].tf32_flops, 1.25e12);
  EXPECT_EQ(back.devices[DeviceId(1)].float8_flops, 3e12);
  EXPECT_EQ(back.devices[DeviceId(1)].rates, "measured");
  EXPECT_EQ(back.devices[DeviceId(1)].multiprocessors, 7);
  EXPECT_EQ(back.links[0].bandwidth, 7.5512345678e9);
  EXPECT_EQ(back.links[0].latency_ns, 4321);
  EXPECT_EQ(back.links[0].table, odd.links[0].table);
}

TEST(MachineTest, FindsDevicesByAnyName) {
  const Machine machine = VirtualMachine(2, 1);
  for (const char* name : {"GPU:1", "/gpu:1", "/device:GPU:1", "/job:localhost/replica:0/task:0/device:GPU:1",
                           "/job:localhost/replica:0/task:0/gpu:1"}) {
    EXPECT_EQ(machine.FindDevice(name).number(), 2) << name;
  }
  for (const char* name : {"GPU:2", "/job:other/gpu:1", "GPU", "/gpu:*", "", "gpu:1"}) {
    EXPECT_EQ(machine.FindDevice(name).number(), -1) << name;
  }
}

TEST(MachineTest, DirectRouteUsesTheLink) {
  const Machine machine = ReadMachine(test::SourceDir() + "/samples/machines/k80x2.json");
  const DeviceId gpu0 = machine.FindDevice("GPU:0"), gpu1 = machine.FindDevice("GPU:1");
  const Route there = machine.RouteBetween(gpu0, gpu1), back = machine.RouteBetween(gpu1, gpu0);
  EXPECT_EQ(there.link, 0);
  EXPECT_FALSE(there.staged);
  EXPECT_EQ(there.latency_ns, 4300);
  EXPECT_DOUBLE_EQ(there.bandwidth, 7.55e9);
  EXPECT_EQ(there.resources, std::vector<int>{0});
  EXPECT_EQ(back.resources, std::vector<int>{1}) << "a duplex link has one resource per direction";
  EXPECT_EQ(machine.ResourceName(0), "GPU:0 -> GPU:1");
  EXPECT_EQ(machine.ResourceName(1), "GPU:1 -> GPU:0");
}

// Staged: both links, latencies added, the narrowest part's bandwidth: min(10, 5, 9) = 5 GB/s; 8 + 2 us.
TEST(MachineTest, RouteThroughTheHostIsStaged) {
  const Machine machine = HostLinked();
  const Route route = machine.RouteBetween(DeviceId(1), DeviceId(2));
  EXPECT_TRUE(route.staged);
  EXPECT_EQ(route.link, -1);
  EXPECT_EQ(route.latency_ns, 10000);
  EXPECT_DOUBLE_EQ(route.bandwidth, 5e9);
  EXPECT_EQ(route.resources, (std::vector<int>{1, 4, 2})) << "GPU:0 up, the bus once, GPU:1 down";
}

TEST(MachineTest, SharedDirectionsAndMissingRoutes) {
  Machine machine = VirtualMachine(2, 1);
  machine.links[0].duplex = false;
  EXPECT_EQ(machine.RouteBetween(DeviceId(0), DeviceId(1)).resources,
            machine.RouteBetween(DeviceId(1), DeviceId(0)).resources);
  machine.links.clear();
  try {
    machine.RouteBetween(DeviceId(1), DeviceId(2));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kNotFound);
  }
  EXPECT_TRUE(machine.RouteBetween(DeviceId(1), DeviceId(1)).resources.empty());
}

// Three tasks on two computers: p and q on one, r alone, all linked to each other.
std::string TwoComputers(const std::string& nics) {
  const auto link = [](const char* a, const char* b) {
    return fmt::format(
        R"({{"between": ["/job:{}/task:0/CPU:0", "/job:{}/task:0/CPU:0"], "bandwidth": "8GB/s"}})", a, b);
  };
  return fmt::format(
      R"({{"devices": [{{"name": "/job:p/task:0/CPU:0"}}, {{"name": "/job:q/task:0/CPU:0"}},
                       {{"name": "/job:r/task:0/CPU:0"}}],
           "links": [{}, {}, {}], "nics": {}}})",
      link("p", "q"), link("p", "r"), link("q", "r"), nics);
}

// Resources: 6 of the links, then out and in of each interface. What stays on a computer passes none.
TEST(MachineTest, LinksOfAComputerShareItsNetworkInterface) {
  const Machine machine = ParseMachine(TwoComputers(
      R"([{"tasks": ["/job:p/task:0", "/job:q/task:0"], "bandwidth": "2GB/s"}, {"tasks": ["/job:r/task:0"],
          "bandwidth": "1GB/s"}])"));
  const DeviceId p(0), q(1), r(2);
  EXPECT_EQ(machine.num_resources(), 10);
  EXPECT_EQ(machine.RouteBetween(p, q).resources, (std::vector<int>{0}));
  EXPECT_EQ(machine.RouteBetween(p, r).resources, (std::vector<int>{2, 6, 9}));
  EXPECT_EQ(machine.RouteBetween(q, r).resources, (std::vector<int>{4, 6, 9}));
  EXPECT_EQ(machine.RouteBetween(r, p).resources, (std::vector<int>{3, 8, 7}));
  EXPECT_EQ(machine.RouteBetween(p, q).bandwidth, 8e9);
  EXPECT_EQ(machine.RouteBetween(p, r).bandwidth, 1e9);
  EXPECT_EQ(machine.RouteBetween(p, r).link, 1) << "its table counts";
  EXPECT_EQ(machine.ResourceBandwidth(6), 2e9);
  EXPECT_EQ(machine.ResourceName(6), "NIC of /job:p/task:0/CPU:0, out");
  EXPECT_EQ(machine.ResourceName(9), "NIC of /job:r/task:0/CPU:0, in");
  EXPECT_EQ(MachineToJson(ParseMachine(MachineToJson(machine))), MachineToJson(machine));
}

TEST(MachineTest, NetworkInterfacesAreChecked) {
  const std::pair<std::string, std::string> cases[] = {
      {R"([{"tasks": ["/job:x/task:0"], "bandwidth": "1GB/s"}])",
       "machine.nics[0].tasks[0]: no task '/job:x/task:0'"},
      {R"([{"tasks": ["/job:p/task:0/CPU:0"], "bandwidth": "1GB/s"}])", "machine.nics[0].tasks[0]: no task"},
      {R"([{"tasks": ["CPU:0"], "bandwidth": "1GB/s"}])", "machine.nics[0].tasks[0]: no task"},
      {R"([{"tasks": [], "bandwidth": "1GB/s"}])", "machine.nics[0].tasks: must name a task"},
      {R"([{"tasks": ["/job:p/task:0"]}])", "machine.nics[0].bandwidth: missing"},
      {R"([{"tasks": ["/job:p/task:0", "/job:p/task:0"], "bandwidth": "1GB/s"}])",
       "machine.nics[0].tasks[1]: the task has a network interface already"},
  };
  for (const auto& [nics, message] : cases)
    EXPECT_TRUE(MessageOf(TwoComputers(nics)).starts_with(message)) << MessageOf(TwoComputers(nics));
}

// latency + bytes / bandwidth: 4.3 us + 7,550,000 B / 7.55 GB/s = 4.3 us + 1 ms.
TEST(CopyTimeTest, LatencyAndBandwidth) {
  const Machine machine = ReadMachine(test::SourceDir() + "/samples/machines/k80x2.json");
  const Route route = machine.RouteBetween(machine.FindDevice("GPU:0"), machine.FindDevice("GPU:1"));
  EXPECT_EQ(CopyNs(machine, route, 7550000), 1004300);
  EXPECT_EQ(CopyNs(machine, route, 0), 4300);
}

// Table (1000 B, 10 ns), (3000 B, 30 ns), (4000 B, 60 ns): flat below, straight between, 0.03 ns/B above.
TEST(CopyTimeTest, MeasuredTable) {
  Machine machine = VirtualMachine(1, 1);
  machine.links[0].table = {{1000, 10}, {3000, 30}, {4000, 60}};
  const Route route = machine.RouteBetween(DeviceId(0), DeviceId(1));
  EXPECT_EQ(CopyNs(machine, route, 1), 10);
  EXPECT_EQ(CopyNs(machine, route, 2000), 20);
  EXPECT_EQ(CopyNs(machine, route, 4000), 60);
  EXPECT_EQ(CopyNs(machine, route, 6000), 120);
}

TEST(VirtualMachineTest, LinksAllToAll) {
  const Machine machine = VirtualMachine(3, 2);
  EXPECT_EQ(machine.num_devices(), 4);
  EXPECT_EQ(machine.links.size(), 6u);
  EXPECT_EQ(machine.Gpus(), test::Ids<DeviceId>({1, 2, 3}));
  EXPECT_EQ(machine.device(DeviceId(3)).workers, 2);
  EXPECT_EQ(machine.device(machine.host()).kind, DeviceKind::kHost);
  EXPECT_THROW(VirtualMachine(-1, 1), Error);
  EXPECT_THROW(VirtualMachine(1, 0), Error);
}

// Two tasks with a GPU each, joined by their hosts; the second one's host is not listed.
Machine TwoTasks() {
  return ParseMachine(R"({"devices": [
    {"name": "/job:worker/task:0/CPU:0"}, {"name": "/job:worker/task:0/GPU:0", "memory": "1GiB"},
    {"name": "/job:worker/task:1/GPU:0", "memory": "1GiB"}, {"name": "/job:worker/task:1/CPU:0"}],
    "links": [
    {"between": ["/job:worker/task:0/CPU:0", "/job:worker/task:0/GPU:0"], "bandwidth": "8GB/s", "latency": "1us"},
    {"between": ["/job:worker/task:1/CPU:0", "/job:worker/task:1/GPU:0"], "bandwidth": "4GB/s", "latency": "2us"},
    {"between": ["/job:worker/task:0/CPU:0", "/job:worker/task:1/CPU:0"], "bandwidth": "1GB/s", "latency": "50us"}]})");
}

// Devices of two tasks are told apart wherever they are named, and the file says them as it was read.
TEST(MachineTest, DevicesOfTasks) {
  const Machine machine = TwoTasks();
  EXPECT_EQ(machine.devices[DeviceId(1)].local_name(), "/job:worker/task:0/GPU:0");
  EXPECT_EQ(machine.devices[DeviceId(2)].name, "/job:worker/replica:0/task:1/device:GPU:0");
  EXPECT_EQ(machine.FindDevice("/job:worker/task:1/GPU:0"), DeviceId(2));
  EXPECT_EQ(machine.FindDevice("GPU:0"), DeviceId(1));
  EXPECT_EQ(machine.host(), DeviceId(0));
  EXPECT_EQ(MachineToJson(ParseMachine(MachineToJson(machine))), MachineToJson(machine));
  const MachineTasks tasks = TasksOf(machine);
  EXPECT_EQ(tasks.names, (std::vector<std::string>{"/job:worker/task:0", "/job:worker/task:1"}));
  EXPECT_EQ(tasks.host_of[DeviceId(2)], DeviceId(3));
  EXPECT_FALSE(tasks.SameTask(DeviceId(1), DeviceId(2)));
}

// A copy between GPUs of two tasks passes both hosts: 1 + 50 + 2 us, and as fast as the network.
TEST(MachineTest, RoutesBetweenTasks) {
  const Machine machine = TwoTasks();
  const Route route = machine.RouteBetween(DeviceId(1), DeviceId(2));
  EXPECT_TRUE(route.staged);
  EXPECT_EQ(route.resources.size(), 3u);
  EXPECT_EQ(route.latency_ns, 53000);
  EXPECT_DOUBLE_EQ(route.bandwidth, 1e9);
}

// A task without a host gets one of default size; what another task has is modelled for the rest.
TEST(MachineTest, EveryTaskHasAHost) {
  const Machine machine = ParseMachine(R"({"devices": [{"name": "/job:ps/task:0/CPU:0"},
                                          {"name": "/job:worker/task:0/GPU:0", "memory": "1GiB"}]})");
  ASSERT_EQ(machine.num_devices(), 3);
  EXPECT_EQ(machine.devices[DeviceId(2)].local_name(), "/job:worker/task:0/CPU:0");
  const Machine seen = SeenByTask(machine, 0);
  EXPECT_EQ(seen.devices[DeviceId(0)].kind, DeviceKind::kHost);
  EXPECT_EQ(seen.devices[DeviceId(1)].kind, DeviceKind::kModelled);
}

// A host beside physical GPUs has the processors of this process; those that exist in files alone have one
// worker.
TEST(MachineTest, HostsBesidePhysicalGpusHaveTheProcessorsOfThisProcess) {
  const auto workers = [](const std::string& host, const std::string& kind) {
    const Machine machine = ParseMachine(
        fmt::format(R"({{"devices": [{}{{"name": "GPU:0", "memory": "1GiB", "kind": "{}"{}}}]}})", host, kind,
                    kind == "modelled" || kind == "virtual" ? "" : R"(, "physical": 0)"));
    return machine.device(machine.host()).workers;
  };
  for (const char* kind : {"cuda", "logical"}) {
    EXPECT_EQ(workers(R"({"name": "CPU:0"}, )", kind), NumProcessors()) << kind;
    EXPECT_EQ(workers("", kind), NumProcessors()) << kind;
    EXPECT_EQ(workers(R"({"name": "CPU:0", "workers": 3}, )", kind), 3) << kind;
  }
  for (const char* kind : {"modelled", "virtual"}) EXPECT_EQ(workers("", kind), 1) << kind;
  const Machine other = ParseMachine(R"({"devices": [
    {"name": "/job:ps/task:0/CPU:0"},
    {"name": "/job:worker/task:0/GPU:0", "kind": "cuda", "physical": 0, "memory": "1GiB"}]})");
  EXPECT_EQ(other.device(other.FindDevice("/job:ps/task:0/CPU:0")).workers, 1) << "beside no GPU";
}

// One physical GPU number is another GPU in another task; names without a task do not go with such that have
// one.
TEST(MachineTest, PhysicalGpusAreOfTheirTask) {
  const Machine machine = ParseMachine(R"({"devices": [
    {"name": "/job:worker/task:0/GPU:0", "kind": "cuda", "physical": 0, "memory": "1GiB"},
    {"name": "/job:worker/task:1/GPU:0", "kind": "cuda", "physical": 0, "memory": "1GiB"}]})");
  EXPECT_EQ(machine.num_devices(), 4);
  EXPECT_THAT(MessageOf(R"({"devices": [{"name": "/job:worker/GPU:0", "memory": "1GiB"}]})"),
              ::testing::HasSubstr("/job:worker/task:1/GPU:0"));
}

}  // namespace
}  // namespace lanescope
