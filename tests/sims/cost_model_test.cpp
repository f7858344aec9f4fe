// SPDX-License-Identifier: Apache-2.0
#include "sims/cost/cost_model.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "sims/cost/device_speed.h"
#include "tests/sims/sample_costs.h"
#include "tests/sims/schedule_maker.h"

namespace lanescope::sims {
namespace {

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

// Law: half of the multiprocessors takes twice as long for arithmetic that fills them all, as long for what
// moves memory, and for a small kernel.
TEST(CalibratedCostOfGpus, PartsOfAGpuDoArithmeticInProportion) {
  CostTable table;
  const OpWork large_work{4'000'000'000, 1'000'000}, memory_work{1'000'000, 400'000'000},
      small_work{100, 100};
  table.launches.push_back({"large", "A", "logical NVIDIA H100", 1000, 7, 9, large_work});
  table.launches.push_back({"memory", "B", "logical NVIDIA H100", 300, 3, 9, memory_work});
  table.launches.push_back({"small", "C", "logical NVIDIA H100", 30, 3, 9, small_work});
  const CalibratedCost costs(table);
  DeviceSpec half;
  half.kind = DeviceKind::kLogical;
  half.model = "NVIDIA H100";
  half.sm_share = 0.5;
  EXPECT_EQ(costs.Launch(half, {"large", "A", large_work}).ns, 2000);
  EXPECT_EQ(costs.Launch(half, {"large", "A", large_work}).basis, CostBasis::kFitted);
  EXPECT_EQ(costs.Launch(half, {"memory", "B", memory_work}).ns, 300);
  EXPECT_EQ(costs.Launch(half, {"small", "C", small_work}).ns, 30);
}

// A machine file whose GPU is not there names no model: it stands for the one that was measured, if there is
// no other.
TEST(CalibratedCostOfGpus, WithoutAModelTheOnlyOneIsMeant) {
  CostTable table;
  const OpWork work{100, 100};
  table.launches.push_back({"small", "C", "logical NVIDIA H100", 30, 3, 9, work});
  DeviceSpec gpu;
  gpu.kind = DeviceKind::kLogical;
  EXPECT_EQ(CalibratedCost(table).Launch(gpu, {"small", "C", work}).basis, CostBasis::kMeasured);
  table.launches.push_back({"small", "C", "logical Stub GPU", 90, 3, 9, work});
  EXPECT_EQ(CalibratedCost(table).Launch(gpu, {"small", "C", work}).basis, CostBasis::kAssumed);
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

// A launch of unknown size takes no fit.
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
