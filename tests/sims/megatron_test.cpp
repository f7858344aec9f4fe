// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <sstream>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/machine/collective.h"
#include "core/machine/machine.h"
#include "sims/megatron/gpt_memory.h"
#include "sims/megatron/gpt_step.h"
#include "sims/megatron/measured_rows.h"
#include "tests/support/paths.h"

namespace lanescope::sims::megatron {
namespace {

std::string InvalidArgumentOf(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& error) {
    EXPECT_EQ(CodeName(error.code()), "InvalidArgument");
    return error.message();
  }
  return "";
}

// Data that is no part of the repository, beside the source tree; empty where it is absent.
std::string Measured(const std::string& name) {
  const auto path = std::filesystem::path(test::SourceDir()) / ".." / "shared" / "data" / "vtrain" / name;
  return std::filesystem::exists(path) ? path.string() : std::string();
}

constexpr GptModel kModel{.layers = 24, .hidden = 2048, .heads = 16, .sequence = 1024};

// A product of whole waves: twice the waves take twice the time beside what every product takes.
TEST(MegatronTest, ProductsTakeWholeWavesOfTiles) {
  const Gpu gpu;
  const double one = ProductSeconds(gpu, 256 * 12, 128 * 9, 4096);
  const double two = ProductSeconds(gpu, 256 * 12, 128 * 18, 4096);
  EXPECT_NEAR(two - gpu.product_s, 2 * (one - gpu.product_s), 1e-9);
  EXPECT_GT(ProductSeconds(gpu, 256 * 12 + 1, 128 * 9, 4096), 1.3 * one) << "a row more opens a wave";
  // Never faster than the peak, nor than memory where the product is thin.
  EXPECT_GT(one, 2 * 256 * 12 * 128 * 9 * 4096.0 / gpu.flops);
  EXPECT_GE(ProductSeconds(gpu, 1 << 20, 64, 64), 2.0 * (1 << 20) * 128 / gpu.memory_bytes_per_s);
}

// Many bytes: 2 (n - 1) / n of them over the ring's rate; across nodes the slower network, shared by its
// rings.
TEST(MegatronTest, AllReducesPassTwiceTheirBytes) {
  const Cluster c;
  EXPECT_EQ(AllReduceSeconds(c, 1e9, {}), 0);
  EXPECT_NEAR(AllReduceSeconds(c, 1e9, {.size = 8, .per_node = 8}), 1.75e9 / 230e9, 1e-4);
  EXPECT_NEAR(AllReduceSeconds(c, 1e9, {.size = 2, .per_node = 8}), 1e9 / 200e9, 1e-4);
  const double one = AllReduceSeconds(c, 1e9, {.size = 16, .per_node = 8, .rings_per_node = 1});
  const double four = AllReduceSeconds(c, 1e9, {.size = 16, .per_node = 2, .rings_per_node = 4});
  EXPECT_NEAR(one, 2 * 15.0 / 16 * 1e9 / 85e9, 1e-3);
  EXPECT_NEAR(four, 4 * one, 1e-3);
}

// NCCL's tests on one node, by bytes in the first column and ns in the sixth.
TEST(MegatronTest, AllReducesAreNearNcclsMeasurements) {
  for (const int gpus : {2, 4, 8}) {
    const std::string path = Measured("allreduce_a100_" + std::to_string(gpus) + "gpus.txt");
    if (path.empty()) GTEST_SKIP() << "the measurements are not here";
    std::istringstream lines(ReadFile(path));
    std::string line;
    std::getline(lines, line);
    double error = 0;
    int rows = 0;
    for (; std::getline(lines, line); ++rows) {
      double bytes = 0, ns = 0;
      ASSERT_EQ(std::sscanf(line.c_str(), "%lf,%*[^,],%*[^,],%*[^,],%*[^,],%lf", &bytes, &ns), 2);
      const double seconds = AllReduceSeconds({}, bytes, {.size = static_cast<double>(gpus), .per_node = 8});
      error += std::abs(seconds * 1e9 / ns - 1);
    }
    EXPECT_LT(error / rows, 0.06) << gpus;
  }
}

TEST(MegatronTest, AStepIsTheSumOfItsParts) {
  const GptStep step =
      EstimateGptStep(kModel, {.batch = 64, .micro_batch = 4, .tensor = 2, .data = 2, .pipeline = 2});
  EXPECT_NEAR(step.seconds,
              step.layers + step.ends + step.messages + step.bubble + step.gradients + step.update, 1e-12);
  EXPECT_GT(step.messages, 0);
}

// More replicas, each with the same work: only their all-reduce is added.
TEST(MegatronTest, ReplicasCostTheirAllReduce) {
  const GptStep two = EstimateGptStep(kModel, {.batch = 16, .micro_batch = 2, .data = 2});
  const GptStep four = EstimateGptStep(kModel, {.batch = 32, .micro_batch = 2, .data = 4});
  EXPECT_EQ(two.layers, four.layers);
  EXPECT_NEAR(four.seconds - two.seconds, four.gradients - two.gradients, 1e-12);
  EXPECT_GT(four.gradients, two.gradients);
}

// p stages fill and drain once a step: more micro-batches leave the bubble as long as it is.
TEST(MegatronTest, TheBubbleDoesNotGrowWithMicroBatches) {
  const GptStep few = EstimateGptStep(kModel, {.batch = 8, .micro_batch = 1, .pipeline = 4});
  const GptStep many = EstimateGptStep(kModel, {.batch = 32, .micro_batch = 1, .pipeline = 4});
  EXPECT_NEAR(few.bubble, many.bubble, 1e-12);
  EXPECT_NEAR(few.bubble, 3 * many.layers / 32, 0.1 * few.bubble) << "three other stages' work";
  EXPECT_NEAR(EstimateGptStep(kModel, {.batch = 8, .micro_batch = 1}).bubble, 0, 1e-12);
}

TEST(MegatronTest, RecomputingRepeatsTheForwardPass) {
  GptLayout layout{.batch = 8, .micro_batch = 8};
  const double kept = EstimateGptStep(kModel, layout).layers;
  layout.recompute = true;
  EXPECT_NEAR(EstimateGptStep(kModel, layout).layers / kept, 4.0 / 3, 0.05);
}

TEST(MegatronTest, MemoryAsksForRecomputing) {
  const Gpu gpu;
  EXPECT_TRUE(FitsWithoutRecomputing(kModel, {.batch = 8, .micro_batch = 8}, gpu));
  const GptModel large{.layers = 30, .hidden = 3072, .heads = 32, .sequence = 2048};
  EXPECT_FALSE(FitsWithoutRecomputing(large, {.batch = 8, .micro_batch = 8}, gpu));
  EXPECT_TRUE(FitsWithoutRecomputing(large, {.batch = 8, .micro_batch = 1, .tensor = 8}, gpu));
}

TEST(MegatronTest, LayoutsDivideTheirModel) {
  const auto message = [](const GptLayout& layout) {
    return InvalidArgumentOf([&] { TimesOf(kModel, layout); });
  };
  EXPECT_EQ(message({.batch = 8, .micro_batch = 1, .pipeline = 5}), "24 layers are no multiple of 5 stages");
  EXPECT_EQ(message({.batch = 8, .micro_batch = 3}),
            "8 sequences of a batch are no multiple of 3 sequences at once");
  EXPECT_NE(message({.batch = 0, .micro_batch = 1}), "");
  EXPECT_NE(message({.batch = NAN, .micro_batch = 1}), "");
}

double MeanErrorOver(const std::string& path) {
  const std::vector<MeasuredRow> rows = ReadMeasuredRows(path, {});
  double sum = 0;
  for (const MeasuredRow& row : rows)
    sum += std::abs(EstimateGptStep(row.model, row.layout).seconds * 1e3 / row.measured_ms - 1);
  return sum / static_cast<double>(rows.size());
}

TEST(MegatronTest, IsWithinFivePercentOnOneNodeAndTenOnMany) {
  const std::string one = Measured("measured_single.csv"), many = Measured("measured_multi.csv");
  if (one.empty() || many.empty()) GTEST_SKIP() << "measured steps are not here";
  EXPECT_LT(MeanErrorOver(one), 0.05);
  EXPECT_LT(MeanErrorOver(many), 0.10);
}

// NCCL's choice by topology beside measured all-reduces of a node of A100s: the middle of all sizes from 16
// MiB on, and never off by half. Smaller ones are bound by latencies that the tables' program adds.
TEST(MegatronTest, CollectivesByTopologyAreNearMeasuredOnes) {
  const Machine machine = MakeCluster("dgx-a100:8");
  for (const int gpus : {2, 4, 8}) {
    const std::string path = Measured(fmt::format("allreduce_a100_{}gpus.txt", gpus));
    if (path.empty()) GTEST_SKIP() << "measured collectives are not here";
    std::istringstream in(ReadFile(path));
    std::string line;
    std::getline(in, line);
    std::vector<double> errors;
    while (std::getline(in, line)) {
      long long bytes = 0, count = 0, ns = 0;
      if (std::sscanf(line.c_str(), "%lld,%lld,float,%lld", &bytes, &count, &ns) != 3 || bytes < 16 << 20)
        continue;
      const auto predicted = static_cast<double>(CollectiveNs(
          *machine.cluster, {CollectiveKind::kAllReduce, CollectiveAlgorithm::kNccl, bytes, {0, gpus, 1}}));
      errors.push_back(std::abs(predicted / static_cast<double>(ns) - 1));
    }
    ASSERT_GT(errors.size(), 100u);
    std::sort(errors.begin(), errors.end());
    EXPECT_LT(errors[errors.size() / 2], 0.2) << gpus;
    EXPECT_LT(errors.back(), 0.5) << gpus;
  }
}

TEST(MegatronTest, RowsAreReadByTheNamesOfTheirColumns) {
  const std::string header =
      "# GPUs,global batch,micro batch,hidden size,attention heads,# layers,sequence length,tensor "
      "parallelism,"
      "data parallelism,pipeline parallelism,iteration time (ms)\n";
  const std::string path = ::testing::TempDir() + "lanescope-megatron-rows.csv";
  const auto read = [&](const std::string& text) {
    WriteFile(path, text);
    return ReadMeasuredRows(path, {});
  };
  const auto rows = read(header + "8,16,2,1024,16,24,1024,2,2,2,310.5\r\n\n");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].layout.micro_batches(), 4);
  EXPECT_EQ(rows[0].measured_ms, 310.5);
  const auto fails = [&](const std::string& text, const std::string& part) {
    const std::string message = InvalidArgumentOf([&] { read(text); });
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  fails(header, "holds no rows");
  fails("a,b\n1,2\n", "line 2: there is no column");
  fails(header + "4,16,2,1024,16,24,1024,2,2,2,310.5\n", "\"# GPUs\"");
  fails(header + "8,16,x,1024,16,24,1024,2,2,2,310.5\n", "\"micro batch\" is no number");
  fails(header + "8,16\n", "is missing");
  fails(header + "8,16,2,1e300,16,24,1024,2,2,2,310.5\n", "line 2: a model and its layout are whole numbers");
  fails("\n" + header + "\n8,16,2,0,16,24,1024,2,2,2,310.5\n",
        "line 4: \"hidden size\" is no number above 0");
  fails(header + "8,16,2,1024,16,24,1024,2,2,2,nan\n", "\"iteration time (ms)\" is no number");
  // A byte order mark, blanks, quotes, other columns, lines of commas.
  const auto same =
      read("\xEF\xBB\xBF \"iteration time (ms)\" ,name," + header.substr(0, header.rfind(",iter")) +
           "\r\n , ,\r\n 310.5 ,\"a, b\",8,16,2,1024,16,24,1024,2,2,2\r\n,,,\r\n");
  ASSERT_EQ(same.size(), 1u);
  EXPECT_EQ(same[0].measured_ms, 310.5);
  EXPECT_EQ(same[0].layout.pipeline, 2);
  // A layout that does not divide its model is predicted by its largest part.
  EXPECT_EQ(read(header + "8,16,2,1024,16,25,1024,2,2,2,310.5\n").size(), 1u);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace lanescope::sims::megatron
