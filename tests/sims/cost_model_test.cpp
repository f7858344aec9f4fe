// SPDX-License-Identifier: Apache-2.0
#include "sims/cost/cost_model.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "sims/cost/device_speed.h"
#include "sims/effects/fetches.h"
#include "sims/effects/front_end.h"
#include "sims/effects/issue.h"
#include "sims/effects/stream_handoff.h"
#include "sims/engine/interference.h"
#include "tests/core/base/expect_error.h"
#include "tests/sims/effects_of.h"
#include "tests/sims/schedule_maker.h"

namespace lanescope::sims {
namespace {

using ::testing::HasSubstr;

TensorInfo Float(std::initializer_list<Dim> dims) {
  TensorInfo info;
  info.dtype = DataType::kFloat;
  info.shape = Shape(dims);
  return info;
}

Node NodeOf(const std::string& op) {
  Node node;
  node.name = "n";
  node.op = op;
  return node;
}

CostTable SampleTable() {
  CostTable table;
  table.calibrated_on = "two \"virtual\" GPUs, run 1";
  table.common_spread = 0.02;
  for (int i = 1; i <= 4; ++i) {
    const std::string op = i == 4 ? "Other" : "MadeUp";
    table.launches.push_back({.signature = op + "()->float[" + std::to_string(i) + "]",
                              .op = op,
                              .device = "modelled",
                              .ns = 100 + 10 * i,
                              .spread_ns = i,
                              .count = 20,
                              .work = {i, 4 * i}});
  }
  table.copies.push_back({.src = DeviceKind::kModelled,
                          .dst = DeviceKind::kModelled,
                          .overhead_ns = 250,
                          .factor = 1.5,
                          .spread = 0.1,
                          .count = 9,
                          .min_bytes = 1000,
                          .max_bytes = 100'000});
  Delays delays;
  for (auto& classes : delays.gap_ns) classes = {1, 2, 0, 5};
  delays.handoff_ns = {{{3, 4, 14}, {5, 6, 15}, {16, 17, 18}}};
  delays.signal_ns = 19;
  delays.message_overhead_ns = 20;
  delays.message_byte_ns = 0.25;
  delays.step_start_ns = 8;
  delays.step_finish_ns = 9;
  delays.wake_ns[0] = {10, 11};
  Interference interference;
  interference.host = {.cores = 2, .copy_cores = 0.25};
  interference.gpu.slowdown = {{{1, 1.1, 1.2}, {1.3, 1.4, 1.5}, {1.6, 1.7, 1.8}}};
  table.effects = EffectsOf(delays, &interference);
  Fetches fetches;
  fetches.curve = FetchCurve({{64, 12}, {128, 13}});
  table.effects.Put(fetches);
  Issue issue;
  issue.times = {.single_ns = 21, .segment_ns = 22, .recorded_ns = 23, .feed_byte_ns = 0.5};
  table.effects.Put(issue);
  StreamHandOff streams;
  streams.between_ns = 24;
  streams.to_host_ns = 25;
  table.effects.Put(streams);
  FrontEnd front_end;
  front_end.look_ns = 26;
  table.effects.Put(front_end);
  return table;
}

TEST(CostTable, ComesBackAsItWasWritten) {
  const std::string text = CostTableToJson(SampleTable());
  const CostTable table = ParseCostTable(text);
  EXPECT_EQ(CostTableToJson(table), text);
  const Delays delays = DelaysOf(table.effects);
  EXPECT_EQ(delays.handoff(QueueClass::kCopy, QueueClass::kCompute), 5);
  EXPECT_EQ(delays.handoff(QueueClass::kMessage, QueueClass::kCopy), 17);
  EXPECT_EQ(delays.signal_ns, 19);
  EXPECT_EQ(delays.message_overhead_ns, 20);
  EXPECT_EQ(delays.message_byte_ns, 0.25);
  EXPECT_EQ(delays.gap(DeviceKind::kVirtual, QueueClass::kCopy), 2);
  EXPECT_EQ(delays.gap(DeviceKind::kCuda, QueueClass::kStream), 5);
  EXPECT_EQ(table.effects.Get<Issue>().times.single_ns, 21);
  EXPECT_EQ(table.effects.Get<Issue>().times.segment_ns, 22);
  EXPECT_EQ(table.effects.Get<Issue>().times.recorded_ns, 23);
  EXPECT_EQ(table.effects.Get<Issue>().times.feed_byte_ns, 0.5);
  EXPECT_EQ(table.effects.Get<StreamHandOff>().between_ns, 24);
  EXPECT_EQ(table.effects.Get<StreamHandOff>().to_host_ns, 25);
  EXPECT_EQ(table.effects.Get<FrontEnd>().look_ns, 26);
  EXPECT_EQ(delays.wake_ns[0][1], 11);
  EXPECT_DOUBLE_EQ(InterferenceOf(table.effects).gpu.slowdown[2][1], 1.7);
  EXPECT_EQ(table.copies[0].max_bytes, 100'000);
  EXPECT_EQ(table.effects.Get<Fetches>().curve.Ns(128), 13);
}

// Law: cache transfers are read under the name of before, too, and not under both.
TEST(CostTable, ReadsCacheTransfersUnderTheirNameOfBefore) {
  const std::string text = CostTableToJson(SampleTable());
  nlohmann::json file = nlohmann::json::parse(text);
  file["fetches"] = file.at("cache_transfers");
  EXPECT_THAT(ErrorOf([&] { ParseCostTable(file.dump()); }), HasSubstr("fetches"));
  file.erase("cache_transfers");
  EXPECT_EQ(CostTableToJson(ParseCostTable(file.dump())), text);
}

// Laws: other hosts come back as they were written; a file of one host says nothing of others.
TEST(CostTable, KeepsOtherComputers) {
  CostTable written = SampleTable();
  EXPECT_EQ(CostTableToJson(written).find("other_hosts"), std::string::npos);
  EXPECT_TRUE(ParseCostTable(CostTableToJson(written)).effects.Get<Cores>().others.empty());
  auto cores = written.effects.Get<Cores>();
  cores.others = {{{"/job:w/task:1", "/job:w/task:3"}, 8, {0.5, 1.25}}, {{"/job:w/task:2"}, 1, {}}};
  written.effects.Put(cores);
  const std::string text = CostTableToJson(written);
  const CostTable table = ParseCostTable(text);
  EXPECT_EQ(CostTableToJson(table), text);
  const std::vector<OtherComputer> others = table.effects.Get<Cores>().others;
  ASSERT_EQ(others.size(), 2U);
  EXPECT_EQ(others[0].tasks, cores.others[0].tasks);
  EXPECT_EQ(others[0].cores, 8);
  EXPECT_EQ(others[0].speed.compute, 0.5);
  EXPECT_EQ(others[0].speed.memory, 1.25);
  EXPECT_EQ(others[1].speed.compute, 1);
}

// Law: other hosts are read under the name of before, too, and not under both.
TEST(CostTable, ReadsOtherHostsUnderTheirNameOfBefore) {
  CostTable written = SampleTable();
  auto cores = written.effects.Get<Cores>();
  cores.others = {{{"/job:w/task:1"}, 8, {0.5, 1.25}}};
  written.effects.Put(cores);
  const std::string text = CostTableToJson(written);
  nlohmann::json file = nlohmann::json::parse(text);
  nlohmann::json& part = file.at("interference");
  part["other_computers"] = part.at("other_hosts");
  EXPECT_THAT(ErrorOf([&] { ParseCostTable(file.dump()); }), HasSubstr("other_computers"));
  part.erase("other_hosts");
  EXPECT_EQ(CostTableToJson(ParseCostTable(file.dump())), text);
}

nlohmann::json List(std::initializer_list<nlohmann::json> items) {
  nlohmann::json list = nlohmann::json::array();
  for (const nlohmann::json& item : items) list.push_back(item);
  return list;
}

TEST(CostTable, RefusesComputersThatCannotBe) {
  const nlohmann::json good = nlohmann::json::parse(CostTableToJson(SampleTable()));
  const auto error = [&](const nlohmann::json& computers) {
    nlohmann::json file = good;
    file["interference"]["other_hosts"] = computers;
    return ErrorOf([&] { ParseCostTable(file.dump()); });
  };
  const auto computer = [](const char* key, const nlohmann::json& value) {
    nlohmann::json made = {{"tasks", List({"a"})}, {"cores", 1}, {"compute_speed", 1}, {"memory_speed", 1}};
    made[key] = value;
    return made;
  };
  const nlohmann::json a = computer("cores", 1), b = computer("tasks", List({"b"}));
  EXPECT_EQ(error(List({a, b})), "");
  EXPECT_THAT(error(List({a, b, a})), HasSubstr("names task 'a' twice"));
  EXPECT_THAT(error(List({computer("tasks", List({"b", "a", "b"}))})), HasSubstr("names task 'b' twice"));
  EXPECT_THAT(error(List({computer("tasks", List({}))})), HasSubstr("'tasks' must name a task"));
  EXPECT_THAT(error(List({computer("tasks", List({1}))})), HasSubstr("InvalidArgument"));
  EXPECT_THAT(error(List({computer("cores", 0)})), HasSubstr("'cores' must be an integer from 1"));
  EXPECT_THAT(error(List({computer("compute_speed", 0)})), HasSubstr("'compute_speed' must lie between"));
  EXPECT_THAT(error(List({computer("memory_speed", 1001)})), HasSubstr("'memory_speed' must lie between"));
  EXPECT_THAT(error(List({computer("speed", 1)})), HasSubstr("speed"));
  EXPECT_THAT(error(a), HasSubstr("must be a list"));
  EXPECT_THAT(error(List({1})), HasSubstr("other_hosts[0] must be a JSON object"));
  nlohmann::json many = List({});
  for (size_t i = 0; i <= 1024; ++i) many.push_back(computer("tasks", List({std::to_string(i)})));
  EXPECT_THAT(error(many), HasSubstr("more than 1024 tasks"));
  many.erase(0);
  EXPECT_EQ(error(many), "");
}

TEST(CostTable, RefusesHostileFiles) {
  const std::string good = CostTableToJson(SampleTable());
  const auto refused = [](const std::string& text) {
    try {
      ParseCostTable(text);
    } catch (const Error& error) {
      return error.code() == Code::kInvalidArgument;
    }
    return false;
  };
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  EXPECT_TRUE(refused(""));
  EXPECT_TRUE(refused("[]"));
  EXPECT_TRUE(refused("{}"));
  EXPECT_TRUE(refused(std::string(100'000, '[')));
  EXPECT_TRUE(refused(good.substr(0, good.size() / 2)));
  EXPECT_TRUE(refused(with("lanescope-cost", "something")));
  EXPECT_TRUE(refused(with("\"version\": 1", "\"version\": 2")));
  EXPECT_TRUE(refused(with("\"ns\": 110", "\"ns\": -110")));
  EXPECT_TRUE(refused(with("\"ns\": 110", "\"ns\": 1e300")));
  EXPECT_TRUE(refused(with("\"ns\": 110", "\"ns\": \"110\"")));
  EXPECT_TRUE(refused(with("\"count\": 20", "\"count\": 0")));
  EXPECT_TRUE(refused(with("\"factor\": 1.5", "\"factor\": 1e999")));
  EXPECT_TRUE(refused(with("\"src\": \"modelled\"", "\"src\": \"abacus\"")));
  EXPECT_TRUE(refused(with("\"memory\": 1.7", "\"memory\": 0")));
  EXPECT_TRUE(refused(with("\"launches\": [", "\"launches\": 3, \"x\": [")));
  EXPECT_TRUE(refused(with("\"step_start_ns\"", "\"step_begin_ns\"")));
  // Whatever byte is changed, nothing but an Error comes out.
  for (size_t i = 0; i + 2 < good.size(); i += 7) {
    std::string broken = good;
    broken[i] = static_cast<char>(broken[i] ^ 0x15);
    try {
      ParseCostTable(broken);
    } catch (const Error&) {
    }
  }
}

class CalibratedCostTest : public testing::Test {
 protected:
  CostEstimate Launch(const std::string& op, Dim elements) const {
    const std::vector<TensorInfo> out = {Float({elements})};
    return costs_.Launch(machine_, machine_.Gpus()[0], NodeOf(op), {}, out);
  }
  Machine machine_ = StarMachine(2, 1e9, 0, 0);
  CalibratedCost costs_{SampleTable()};
};

TEST_F(CalibratedCostTest, AMeasuredSignatureIsCalibrated) {
  const CostEstimate estimate = Launch("MadeUp", 2);
  EXPECT_EQ(estimate.ns, 120);
  EXPECT_EQ(estimate.spread_ns, 2);
  EXPECT_TRUE(estimate.calibrated());
}

// Law: what was measured on a device of the host's threads stands for another one, in proportion to the
// workers that the work can be split over: two of four million operations, one of a small op.
TEST(CalibratedCostOfThreads, DevicesOfThreadsRunTheSameKernels) {
  CostTable table;
  table.launches.push_back({"large", "A", "virtual 2 workers", 700, 7, 9, {4'000'000, 100}});
  table.launches.push_back({"small", "A", "virtual 2 workers", 30, 3, 9, {100, 100}});
  const CalibratedCost costs(table);
  const Machine machine = VirtualMachine(1, 2);
  DeviceSpec host = machine.device(machine.host());
  const SignedWork large{"large", "A", {4'000'000, 100}}, small{"small", "A", {100, 100}};
  EXPECT_EQ(costs.Launch(machine.device(machine.Gpus()[0]), large).basis, CostBasis::kMeasured);
  EXPECT_EQ(costs.Launch(host, large).ns, 1400);
  EXPECT_EQ(costs.Launch(host, large).basis, CostBasis::kFitted);
  EXPECT_EQ(costs.Launch(host, small).ns, 30);
  host.workers = 2;
  EXPECT_EQ(costs.Launch(host, large).ns, 700);
  host.kind = DeviceKind::kCuda;
  EXPECT_EQ(costs.Launch(host, large).basis, CostBasis::kAssumed) << "rates that nobody gave";
}

// A GPU that was measured and one of its model that is only described, in either direction; another model is
// not.
TEST(CalibratedCostOfModels, HoldWhereverTheModelIs) {
  for (const auto& [measured, kind] : {std::pair("cuda NVIDIA A100", DeviceKind::kModelled),
                                       std::pair("modelled NVIDIA A100", DeviceKind::kCuda)}) {
    CostTable table;
    table.launches.push_back({.signature = "MadeUp()->float[8]",
                              .op = "MadeUp",
                              .device = measured,
                              .ns = 700,
                              .count = 1,
                              .work = {}});
    const CalibratedCost costs(table);
    DeviceSpec gpu;
    gpu.kind = kind;
    gpu.model = "NVIDIA A100";
    const SignedWork work{"MadeUp()->float[8]", "MadeUp", {8, 32}};
    EXPECT_EQ(costs.Launch(gpu, work).ns, 700);
    EXPECT_EQ(costs.Launch(gpu, work).basis, CostBasis::kMeasured);
    gpu.model = "NVIDIA H100";
    EXPECT_NE(costs.Launch(gpu, work).basis, CostBasis::kMeasured);
  }
}

TEST_F(CalibratedCostTest, AnotherShapeTakesTheFitOfItsOp) {
  // The entries of MadeUp lie on ns = 100 + 2.5 bytes (4 bytes an element), so ten elements take 200.
  const CostEstimate estimate = Launch("MadeUp", 10);
  EXPECT_NEAR(static_cast<double>(estimate.ns), 200, 1);
  EXPECT_FALSE(estimate.calibrated());
}

TEST_F(CalibratedCostTest, AnUnknownOpTakesTheFitOfAllOps) {
  // Other has one entry only; all four lie on the same line.
  EXPECT_NEAR(static_cast<double>(Launch("Other", 10).ns), 200, 1);
  EXPECT_FALSE(Launch("NeverSeen", 10).calibrated());
}

// The entries of MadeUp go to 8 elements at most: four times that is near, more is far; another op is far
// whatever its size.
TEST_F(CalibratedCostTest, TellsFitsNearMeasurementsFromExtrapolations) {
  EXPECT_EQ(Launch("MadeUp", 10).basis, CostBasis::kFitted);
  EXPECT_EQ(Launch("MadeUp", 1'000'000).basis, CostBasis::kExtrapolated);
  EXPECT_EQ(Launch("NeverSeen", 10).basis, CostBasis::kExtrapolated);
  const DeviceId a = machine_.Gpus()[0], b = machine_.Gpus()[1];
  EXPECT_EQ(costs_.Copy(machine_, a, b, 400'001).basis, CostBasis::kExtrapolated);
}

// What nobody knows the size of takes no fit.
TEST_F(CalibratedCostTest, NothingIsFittedToAnUnknownSize) {
  TensorInfo unknown;
  unknown.dtype = DataType::kFloat;
  const std::vector<TensorInfo> out = {unknown};
  const CostEstimate estimate = costs_.Launch(machine_, machine_.Gpus()[0], NodeOf("MadeUp"), {}, out);
  EXPECT_EQ(estimate.basis, CostBasis::kNothing);
  EXPECT_GE(estimate.ns, kUnknownNs);
}

// Law: on a host without rates an op takes what its kernel takes elsewhere, a product by its operations on as
// many workers as they suffice for, and an op that was not measured there the usual rate. 1 us is for the
// launch; half of it all is the interval.
TEST_F(CalibratedCostTest, AHostWithoutRatesTakesThoseOfItsKernels) {
  DeviceSpec host = machine_.device(machine_.host());
  host.kind = DeviceKind::kHost;
  const SignedWork relu{"r", "Relu", {1'000'000, 44'700'000}}, other{"o", "Unheard", {10, 20'000'000}},
      product{"m", "MatMul", {106'000'000, 1'000'000}};
  EXPECT_EQ(costs_.Launch(host, relu).ns, 1'001'000);
  EXPECT_EQ(costs_.Launch(host, relu).spread_ns, 500'500);
  EXPECT_EQ(costs_.Launch(host, relu).basis, CostBasis::kExtrapolated);
  EXPECT_EQ(costs_.Launch(host, other).ns, 1'001'000);
  EXPECT_EQ(costs_.Launch(host, product).ns, 1'001'000);
  host.workers = 4;
  EXPECT_EQ(costs_.Launch(host, product).ns, 251'000);
  host.memory_bandwidth = 10e9;
  EXPECT_NE(costs_.Launch(host, relu).basis, CostBasis::kExtrapolated) << "it has a rate";
}

TEST_F(CalibratedCostTest, AnUnknownDeviceTakesTheRooflineWithAWideInterval) {
  machine_.devices[machine_.host()].memory_bandwidth = 20e9;
  const std::vector<TensorInfo> out = {Float({1'000'000})};
  const CostEstimate estimate = costs_.Launch(machine_, machine_.host(), NodeOf("Relu"), {}, out);
  const CostEstimate plain = RooflineCost().Launch(machine_, machine_.host(), NodeOf("Relu"), {}, out);
  EXPECT_EQ(estimate.ns, plain.ns);
  EXPECT_EQ(estimate.spread_ns, plain.ns / 2);
  EXPECT_FALSE(estimate.calibrated());
}

TEST_F(CalibratedCostTest, CopiesTakeTheirFitWithinItsRange) {
  // 250 + 1.5 * bytes at 1 byte per ns; measured from 1 kB to 100 kB, so calibrated from 250 B to 400 kB.
  const DeviceId a = machine_.Gpus()[0], b = machine_.Gpus()[1];
  EXPECT_EQ(costs_.Copy(machine_, a, b, 2000).ns, 3250);
  EXPECT_TRUE(costs_.Copy(machine_, a, b, 2000).calibrated());
  EXPECT_TRUE(costs_.Copy(machine_, a, b, 400'000).calibrated());
  EXPECT_FALSE(costs_.Copy(machine_, a, b, 400'001).calibrated());
  EXPECT_FALSE(costs_.Copy(machine_, a, b, 249).calibrated());
  EXPECT_EQ(costs_.Copy(machine_, a, machine_.host(), 2000).ns, 2000);
  EXPECT_FALSE(costs_.Copy(machine_, a, machine_.host(), 2000).calibrated());
}

// At twice the speed of GPU:0, what was measured there (120 +- 2), a fit of it and an estimate by the
// machine's rates all take half as long; GPU:1 and the copies stay.
TEST_F(CalibratedCostTest, AFasterDeviceTakesItsLaunchesAtThatSpeed) {
  const DeviceId a = machine_.Gpus()[0], b = machine_.Gpus()[1];
  IdVector<DeviceId, double> speed(machine_.devices.size(), 1.0);
  speed[a] = 2;
  const CostAtSpeed faster(costs_, machine_, speed);
  const Machine changed = AtSpeed(machine_, speed);
  const auto launch = [&](const CostModel& costs, DeviceId device, Dim elements) {
    const std::vector<TensorInfo> out = {Float({elements})};
    return costs.Launch(changed, device, NodeOf("MadeUp"), {}, out);
  };
  EXPECT_EQ(launch(faster, a, 2).ns, 60);
  EXPECT_EQ(launch(faster, a, 2).spread_ns, 1);
  EXPECT_TRUE(launch(faster, a, 2).calibrated());
  EXPECT_EQ(launch(faster, a, 10).ns, 100);
  EXPECT_EQ(launch(faster, b, 2).ns, 120);
  EXPECT_EQ(faster.Copy(changed, a, b, 2000).ns, 3250);
  const RooflineCost roofline;
  const std::vector<TensorInfo> out = {Float({1'000'000})};
  const int64_t plain = roofline.Launch(machine_, a, NodeOf("MadeUp"), {}, out).ns;
  EXPECT_EQ(CostAtSpeed(roofline, machine_, speed).Launch(changed, a, NodeOf("MadeUp"), {}, out).ns,
            plain / 2);
}

TEST(CostDevice, TellsWorkersApart) {
  Machine machine = VirtualMachine(1, 3);
  EXPECT_NE(CostDevice(machine.device(machine.Gpus()[0])).find("3 workers"), std::string::npos);
}

}  // namespace
}  // namespace lanescope::sims
