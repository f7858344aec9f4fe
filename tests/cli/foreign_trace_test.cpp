// SPDX-License-Identifier: Apache-2.0
// Traces of PyTorch's profiler, opened as they are by the commands that report.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/cli/program.h"

namespace lanescope::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// Two steps with one product of matrices each, of `rows` rows, which takes `length` us; then an all-reduce of
// 4 MB among 8 ranks, of which this one is the only one that there is.
std::string Profile(int rank, int rows, int length) {
  std::string events;
  for (int step = 0; step < 2; ++step) {
    const int at = 1000 * step;
    events += fmt::format(
        R"json({{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#{0}", "pid": 1, "tid": 1, "ts": {1}, "dur": 900}},
{{"ph": "X", "cat": "python_function", "name": "train.py(7): forward", "pid": 1, "tid": 1, "ts": {1}, "dur": 90}},
{{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": {2}, "dur": 50,
  "args": {{"Input Dims": [[{3}, 512], [512, 512]], "Input type": ["float", "float"]}}}},
{{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": {4}, "dur": 5, "args": {{"correlation": {5}}}}},
{{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernelExC", "pid": 1, "tid": 1, "ts": {6}, "dur": 5, "args": {{"correlation": {7}}}}},
{{"ph": "X", "cat": "kernel", "name": "sgemm", "pid": 0, "tid": 7, "ts": {8}, "dur": {9}, "args": {{"device": 0, "stream": 7, "correlation": {5}}}}},
{{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32", "pid": 0, "tid": 9, "ts": {10}, "dur": 100,
  "args": {{"device": 0, "stream": 9, "correlation": {7}, "Collective name": "allreduce", "dtype": "Float", "In msg nelems": 1000000,
  "Group size": 8}}}},
)json",
        step, at, at + 10, rows, at + 20, 2 * step + 1, at + 40, 2 * step + 2, at + 100, length,
        at + 100 + length);
  }
  return fmt::format(
      R"json({{"distributedInfo": {{"rank": {}}}, "deviceProperties": [{{"id": 0, "name": "Tesla V100-SXM2-32GB"}}],
"traceEvents": [{}{{"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {{"name": "python3"}}}}]}})json",
      rank, events);
}

class ForeignTraceTest : public testing::Test {
 protected:
  ForeignTraceTest()
      : small_(folder_.Write("small.json", Profile(0, 64, 200))),
        large_(folder_.Write("large.json", Profile(1, 128, 400))) {}
  Folder folder_;
  const std::string small_, large_;
};

// The product takes twice as long since it has twice the rows: explain says from where it is launched in
// either.
TEST_F(ForeignTraceTest, ExplainSaysWhereKernelsAreLaunchedWithWhichShapes) {
  const Outcome outcome = Lanescope({"explain", small_, large_});
  ASSERT_EQ(outcome.status, 0) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("sgemm\n  A: in aten::mm of [[64,512],[512,512]] (float, float)\n"
                                        "     called by train.py(7): forward"));
  EXPECT_THAT(outcome.output, HasSubstr("  B: in aten::mm of [[128,512],[512,512]] (float, float)\n"));
  const json explained = LanescopeJson({"explain", small_, large_, "--json"});
  const json& reason = explained["longer"].at(0);
  EXPECT_EQ(reason["origin_a"]["shapes"], "[[64,512],[512,512]]");
  EXPECT_EQ(reason["origin_b"]["op"], "aten::mm");
  EXPECT_EQ(explained["path_b"]["launches"], 1);
}

// 4 MB in 100 us are 40 GB/s, by 2 * 7/8 on the bus: 70 of the 150 that NVLink of a V100's module has.
TEST_F(ForeignTraceTest, BusBandwidthStandsBesideTheLinks) {
  const auto bus = [&](const std::vector<std::string>& more) {
    std::vector<std::string> command = {"summary", small_, "--by", "rank"};
    command.insert(command.end(), more.begin(), more.end());
    return Lanescope(command).output;
  };
  EXPECT_THAT(bus({}), testing::ContainsRegex(">= 70 GB/s +150 GB/s +>= 47%"));
  EXPECT_THAT(bus({}), HasSubstr("NVLink of Tesla V100-SXM2-32GB by its data sheet"));
  EXPECT_THAT(bus({"--link", "100GB/s"}), testing::ContainsRegex("100 GB/s +>= 70%"));
  const std::string machine = folder_.File("dgx.machine");
  Lanescope({"devices", "--make", "dgx-a100:8", "-o", machine});
  EXPECT_THAT(bus({"--machine", machine}), testing::ContainsRegex("300 GB/s +>= 23%"));
  const Outcome refused = Lanescope({"summary", small_, "--link", "100GB/s"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.errors, HasSubstr("--by rank"));
}

TEST_F(ForeignTraceTest, AFolderOfRanksNamesThem) {
  const Outcome outcome = Lanescope({"summary", folder_.File(""), "--by", "rank"});
  ASSERT_EQ(outcome.status, 0) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("rank 0 GPU:0"));
  EXPECT_THAT(outcome.output, HasSubstr("rank 1 GPU:0 came last to"));
  const Outcome faster = Lanescope({"simulate", folder_.File(""), "--set", "rank 1 GPU:0.speed=2"});
  EXPECT_EQ(faster.status, 0) << faster.errors;
  EXPECT_THAT(faster.output, HasSubstr("rank 1 GPU:0.speed=2: changes"));
}

// A folder stands for the ranks in it, and names the trace.
TEST_F(ForeignTraceTest, FoldersAreImported) {
  const std::string folder = std::filesystem::path(small_).parent_path().string();
  const Outcome outcome = Lanescope({"import", folder + "/", "-o", folder + "/job.sqlite"});
  ASSERT_EQ(outcome.status, 0) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("job.sqlite: 8 kernels"));
  const std::string page = folder_.File("report.html");
  EXPECT_EQ(Lanescope({"report", folder + "/job.sqlite", "-o", page}).status, 0);
  EXPECT_THAT(ReadText(page), HasSubstr("What GPUs wait for"));
  EXPECT_THAT(Lanescope({"import", folder + "/nowhere"}).errors, HasSubstr("error: NotFound"));
}

// Two GPUs call their kernels otherwise, of which 20% of the time have a name in common: the operator that
// launched them is the same.
TEST_F(ForeignTraceTest, DiffMatchesByOperatorWhereNamesDiffer) {
  std::string other = Profile(0, 64, 600);
  for (size_t at = other.find("sgemm"); at != std::string::npos; at = other.find("sgemm", at)) {
    other.replace(at, 5, "Cijk_Ailk");
  }
  const std::string path = folder_.Write("other.json", other);
  const Outcome outcome = Lanescope({"diff", small_, path});
  ASSERT_EQ(outcome.status, 0) << outcome.errors;
  EXPECT_THAT(outcome.output,
              HasSubstr("Matched: 100% of the time, by the operators that launched the kernels; "
                        "by the names of kernels 20%."));
  EXPECT_THAT(outcome.output, HasSubstr("aten::mm [[64,512],[512,512]]"));
  const json by_kernel = LanescopeJson({"diff", small_, path, "--by", "kernel", "--json"});
  EXPECT_EQ(by_kernel["by"], "kernel");
  EXPECT_DOUBLE_EQ(by_kernel["matched"].get<double>(), 0.2);
  EXPECT_EQ(LanescopeJson({"diff", small_, path, "--json"})["by"], "operator");
}

}  // namespace
}  // namespace lanescope::cli
