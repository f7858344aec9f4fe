// SPDX-License-Identifier: Apache-2.0
// Collectives beside sums: what comes out on which device, and what is copied for it.
#include "graphs/collectives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/expand/functions.h"
#include "core/graph/op.h"
#include "core/machine/machine.h"
#include "core/place/placer.h"
#include "core/schedule/schedule.h"
#include "graphs/gradients.h"
#include "graphs/ops.h"
#include "tests/core/base/expect_error.h"
#include "tests/exec/reference_interpreter.h"
#include "tests/graphs/floats.h"
#include "tests/graphs/nodes.h"

namespace lanescope::graphs {
namespace {

using exec::test::ReferenceInterpreter;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr CollectiveBy kAll[] = {CollectiveBy::kRing, CollectiveBy::kTree, CollectiveBy::kOneDevice};

// Tensor i is rows x 2, and its element k is 100 i + k.
std::vector<Endpoint> TensorsOn(Scope& s, int gpus, int64_t rows) {
  std::vector<Endpoint> tensors;
  for (int i = 0; i < gpus; ++i) {
    const auto on = s.Device(Gpus(gpus)[static_cast<size_t>(i)]);
    std::vector<float> values;
    for (int64_t k = 0; k < 2 * rows; ++k) values.push_back(static_cast<float>(100 * i + k));
    // Not a constant, which every device would have.
    tensors.push_back(
        op::AddV2(s, op::PlaceholderWithDefault(s, Floats({rows, 2}, values), {rows, 2}), 0.0f));
  }
  return tensors;
}

std::vector<std::vector<float>> ValuesOf(const Scope& s, const std::vector<Endpoint>& tensors) {
  std::vector<std::string> names;
  for (const Endpoint tensor : tensors) names.push_back(NameOf(s, tensor));
  const Graph graph = InlineFunctions(s.graph());
  ReferenceInterpreter session(graph);
  std::vector<std::vector<float>> values;
  for (const Tensor& tensor : session.Run({}, names)) values.push_back(FloatsOf(tensor));
  return values;
}

// Bytes between GPUs in a step that makes the tensors.
int64_t CopiedBytes(const Scope& s, const std::vector<Endpoint>& tensors, int gpus) {
  const Graph graph = InlineFunctions(s.graph());
  const Machine machine = VirtualMachine(gpus, 1);
  CompileRequest request;
  for (const Endpoint tensor : tensors) request.fetches.push_back({tensor.node, -1});
  const Schedule schedule =
      Compile(graph, InferGraph(graph, {}), request, PlaceGraph(graph, machine, {}), machine);
  VerifySchedule(graph, schedule);
  int64_t bytes = 0;
  for (const Command& command : schedule.commands) {
    if (command.kind == CommandKind::kCopy && machine.device(schedule.CopySource(command)).is_gpu() &&
        machine.device(schedule.CopyDestination(command)).is_gpu())
      bytes += command.bytes;
  }
  return bytes;
}

void ExpectOnDevices(const Scope& s, const std::vector<Endpoint>& results, int gpus) {
  ASSERT_EQ(results.size(), static_cast<size_t>(gpus));
  for (size_t i = 0; i < results.size(); ++i) EXPECT_EQ(DeviceOf(s, results[i]), Gpus(gpus)[i]);
}

// Every device has the rows of device 0, then those of device 1, ...
TEST(Collectives, AllGatherJoinsRowsInOrder) {
  for (const CollectiveBy by : kAll) {
    for (const int gpus : {1, 2, 3, 4, 5}) {
      for (const bool as_op : {false, true}) {
        SCOPED_TRACE(std::string(CollectiveByName(by)) + " on " + std::to_string(gpus) +
                     (as_op ? " as op" : ""));
        Scope s;
        const auto results = AllGather(s, TensorsOn(s, gpus, 3), Gpus(gpus), {.by = by, .as_op = as_op});
        ExpectOnDevices(s, results, gpus);
        std::vector<float> expected;
        for (int i = 0; i < gpus; ++i)
          for (int k = 0; k < 6; ++k) expected.push_back(static_cast<float>(100 * i + k));
        for (const std::vector<float>& values : ValuesOf(s, results)) EXPECT_EQ(values, expected);
      }
    }
  }
}

// The sum of element k is n k + 100 (0 + 1 + ... + n - 1); device i has the n-th part of the rows from i n
// on.
TEST(Collectives, ReduceScatterGivesEveryDeviceItsPartOfTheSum) {
  for (const CollectiveBy by : kAll) {
    for (const int gpus : {1, 2, 3, 4}) {
      for (const bool as_op : {false, true}) {
        for (const bool mean : {false, true}) {
          SCOPED_TRACE(std::string(CollectiveByName(by)) + " on " + std::to_string(gpus) +
                       (as_op ? " as op" : "") + (mean ? ", mean" : ""));
          Scope s;
          const auto results = ReduceScatter(s, TensorsOn(s, gpus, 2 * gpus), Gpus(gpus),
                                             {.by = by, .mean = mean, .as_op = as_op});
          ExpectOnDevices(s, results, gpus);
          const auto values = ValuesOf(s, results);
          const int others = 100 * gpus * (gpus - 1) / 2;
          for (int i = 0; i < gpus; ++i) {
            ASSERT_EQ(values[static_cast<size_t>(i)].size(), 4U);
            for (int k = 0; k < 4; ++k) {
              const auto sum = static_cast<float>(gpus * (4 * i + k) + others);
              EXPECT_FLOAT_EQ(values[static_cast<size_t>(i)][static_cast<size_t>(k)],
                              mean ? sum / static_cast<float>(gpus) : sum);
            }
          }
        }
      }
    }
  }
}

TEST(Collectives, BroadcastReachesEveryDevice) {
  for (const CollectiveBy by : kAll) {
    for (const int gpus : {1, 2, 3, 4, 5, 8}) {
      for (const bool as_op : {false, true}) {
        SCOPED_TRACE(std::string(CollectiveByName(by)) + " on " + std::to_string(gpus) +
                     (as_op ? " as op" : ""));
        Scope s;
        const auto results = Broadcast(s, TensorsOn(s, 1, 3)[0], Gpus(gpus), {.by = by, .as_op = as_op});
        ExpectOnDevices(s, results, gpus);
        for (const std::vector<float>& values : ValuesOf(s, results))
          EXPECT_THAT(values, ElementsAre(0, 1, 2, 3, 4, 5));
      }
    }
  }
}

// Bytes that cross between n GPUs, of tensors of B bytes each: (n - 1) n B gathered around a ring, (n - 1) B
// scattered, (n - 1) B sent to all, by any way; written out or as an op.
TEST(Collectives, CopyWhatTheirSchedulesSay) {
  constexpr int kGpus = 4;
  constexpr int64_t kRows = 40, kBytes = kRows * 2 * 4;
  for (const bool as_op : {false, true}) {
    Scope gathers, scatters, sends;
    const CollectiveOptions ring = {.as_op = as_op};
    EXPECT_EQ(
        CopiedBytes(gathers, AllGather(gathers, TensorsOn(gathers, kGpus, kRows), Gpus(kGpus), ring), kGpus),
        3 * 4 * kBytes);
    EXPECT_EQ(
        CopiedBytes(scatters, ReduceScatter(scatters, TensorsOn(scatters, kGpus, kRows), Gpus(kGpus), ring),
                    kGpus),
        3 * kBytes);
    EXPECT_EQ(CopiedBytes(sends, Broadcast(sends, TensorsOn(sends, 1, kRows)[0], Gpus(kGpus), ring), kGpus),
              3 * kBytes);
  }
}

// Each x is read by every device's sum: of gathered squares weighted 1 and 2, 2 x (1 + 2).
TEST(Collectives, WrittenOutOnesHaveGradients) {
  Scope s;
  std::vector<Endpoint> xs, squares;
  for (int i = 0; i < 2; ++i) {
    const auto on = s.Device(Gpus(2)[static_cast<size_t>(i)]);
    xs.push_back(op::PlaceholderWithDefault(s, Floats({1}, {3.0f + static_cast<float>(i)}), {1}));
    squares.push_back(op::Square(s, xs.back()));
  }
  const auto all = AllGather(s, squares, Gpus(2), {.by = CollectiveBy::kTree});
  const auto grads = Gradients(s, {all[0], op::Mul(s, all[1], 2)}, xs);
  EXPECT_THAT(ValuesOf(s, {grads[0].dense(), grads[1].dense()}),
              ElementsAre(ElementsAre(18), ElementsAre(24)));
}

// TensorFlow's: of a sum on one device every tensor gets its gradient; of one tensor for all the sum of
// theirs.
TEST(Collectives, GradientsOfNcclsReduceAndBroadcast) {
  Scope s;
  const auto xs = TensorsOn(s, 2, 1);
  const Endpoint sum = op::NcclReduce(s, xs, "sum");
  const auto of_sum = Gradients(s, {op::Mul(s, sum, 5)}, xs);
  const Endpoint all = op::NcclBroadcast(s, xs[1], {1, 2});
  const auto of_all = Gradients(s, {op::Mul(s, all, 2), op::Mul(s, all, 3)}, {xs[1]});
  EXPECT_THAT(ValuesOf(s, {sum, of_sum[0].dense(), of_sum[1].dense(), of_all[0].dense()}),
              ElementsAre(ElementsAre(100, 102), ElementsAre(5, 5), ElementsAre(5, 5), ElementsAre(5, 5)));
}

TEST(Collectives, WhatDoesNotFitIsRefused) {
  Scope s;
  const Endpoint x = op::Placeholder(s, DataType::kFloat, {.name = "x", .shape = {3, 2}});
  const Endpoint scalar = op::Placeholder(s, DataType::kFloat, {.name = "y", .shape = Shape{}});
  EXPECT_THAT(ErrorOf([&] { AllGather(s, {}, {}); }), HasSubstr("an all-gather of 0 tensors on 0 devices"));
  EXPECT_THAT(ErrorOf([&] { AllGather(s, {scalar}, Gpus(1)); }), HasSubstr("'y', which is a scalar"));
  EXPECT_THAT(ErrorOf([&] {
                ReduceScatter(s, {x, x}, Gpus(2));
              }),
              HasSubstr("3 rows cannot be scattered over 2"));
  EXPECT_THAT(ErrorOf([&] { Broadcast(s, x, {}); }), HasSubstr("a broadcast to no device"));
  op::CollectiveBcastRecv(s, DataType::kFloat, 2, 1, 1, {3, 2});
  EXPECT_THAT(ErrorOf([&] { InlineFunctions(s.graph()); }), HasSubstr("none of the collective"));
}

}  // namespace
}  // namespace lanescope::graphs
