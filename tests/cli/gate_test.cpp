// SPDX-License-Identifier: Apache-2.0
// gate as it is called: statuses, files, stores, and what it refuses.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "tests/cli/program.h"

namespace lanescope::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const std::string kSlow = Sample("deepconn_alternating"), kFast = Sample("deepconn_dual");

std::vector<std::string> Plans(const std::string& base, const std::string& candidate) {
  return {"gate", base, candidate, "--machine", SampleMachine("k80x2")};
}

// A plan beside itself changes nothing; the other placement takes 12% longer, as `simulate` says.
TEST(GateOfPlans, StatusesAndReports) {
  Folder folder;
  EXPECT_EQ(Lanescope(Plans(kFast, kFast)).status, 0);
  std::vector<std::string> arguments = Plans(kFast, kSlow);
  const std::string junit = folder.File("g.xml"), markdown = folder.File("g.md");
  arguments.insert(arguments.end(), {"--junit", junit, "--markdown", markdown, "--json"});
  const Outcome outcome = Lanescope(arguments);
  EXPECT_EQ(outcome.status, 1);
  const json result = json::parse(outcome.output);
  EXPECT_EQ(result["verdict"], "worse");
  const json& step = result["quantities"][0];
  EXPECT_NEAR(step["change"].get<double>(), step["candidate"].get<double>() / step["base"].get<double>() - 1,
              1e-9);
  EXPECT_LE(step["low"], step["change"]);
  EXPECT_GE(step["high"], step["change"]);
  EXPECT_FALSE(result["ops"].empty());
  EXPECT_THAT(ReadText(junit), HasSubstr("<failure"));
  EXPECT_THAT(ReadText(markdown), HasSubstr("### Performance: worse"));
  EXPECT_EQ(Lanescope(arguments).output, outcome.output);
  EXPECT_EQ(Lanescope(Plans(kSlow, kFast)).status, 0);
}

class GateOfTraces : public testing::Test {
 protected:
  std::string Record(const std::string& name, int runs) const {
    const std::string trace = folder_.File(name);
    for (int i = 0; i < runs; ++i) {
      const Outcome outcome = Lanescope({"run", Sample("polynomial"), "--steps", "12", "--trace", trace});
      EXPECT_EQ(outcome.status, 0) << outcome.errors;
    }
    return trace;
  }
  Folder folder_;
};

// One run of each cannot tell 0% from a change that noise makes; a budget of ten times as much holds
// anything.
TEST_F(GateOfTraces, OneRunOfEach) {
  const std::string a = Record("a.db", 1), b = Record("b.db", 1);
  EXPECT_EQ(Lanescope({"gate", a, b, "--budget", "0%"}).status, 3);
  EXPECT_EQ(Lanescope({"gate", a, b, "--what", "memory", "--budget", "0%"}).status, 0);
  ExpectError(Lanescope({"gate", a, b, "--what", "op:Maen"}), 1, "NotFound", "did you mean 'Mean'?");
  ExpectError(Lanescope({"gate", a, b + ":7"}), 1, "NotFound", "7");
  ExpectError(Lanescope({"gate", a, kFast}), 1, "InvalidArgument", "against a trace");
  ExpectError(Lanescope({"gate", a, b, "--budget", "two"}), 1, "InvalidArgument", "budget");
  ExpectError(Lanescope({"gate", a, b, "--what", "speed"}), 1, "InvalidArgument", "speed");
  ExpectError(Lanescope({"gate", folder_.File("none.db"), b}), 1, "NotFound", "none.db");
  ExpectError(Lanescope({"gate", a}), 1, "InvalidArgument", "BASE CANDIDATE");
}

TEST_F(GateOfTraces, Stores) {
  const std::string a = Record("a.db", 2), store = folder_.File("s.db");
  EXPECT_EQ(Lanescope({"gate", a, "--store", store, "--as", "main"}).status, 0);
  const json result = json::parse(Lanescope({"gate", "@main", a, "--store", store, "--json"}).output);
  EXPECT_EQ(result["base_runs"], 2);
  EXPECT_EQ(result["quantities"][0]["change"], 0);
  ExpectError(Lanescope({"gate", "@other", a, "--store", store}), 1, "NotFound", "there are main");
  ExpectError(Lanescope({"gate", "@main", a}), 1, "InvalidArgument", "--store");
  ExpectError(Lanescope({"gate", "@main", a, "--store", a}), 1, "FailedPrecondition",
              "no store of baselines");
  ExpectError(Lanescope({"gate", a, "--as", "main"}), 1, "InvalidArgument", "--store");
}

// A report that cannot be written is an error, whatever the verdict.
TEST_F(GateOfTraces, ReportsAreWholeOrNotThere) {
  const std::string a = Record("a.db", 1), missing = folder_.File("none/g.xml");
  const Outcome outcome = Lanescope({"gate", a, a, "--what", "memory", "--junit", missing});
  ExpectError(outcome, 1, "NotFound", "g.xml");
  // Nor does the other one stay.
  const std::string other = folder_.File("g.md");
  ExpectError(Lanescope({"gate", a, a, "--what", "memory", "--markdown", other, "--junit", missing}), 1,
              "NotFound", "g.xml");
  EXPECT_FALSE(std::filesystem::exists(other));
}

// Law: what a command reads it does not replace, whatever name it is written by.
TEST_F(GateOfTraces, NothingReplacesWhatIsRead) {
  const std::string a = Record("a.db", 1), same = folder_.File("./a.db");
  const std::string before = ReadText(a);
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"gate", a, a, "--junit", same},
                                             {"gate", a, a, "--markdown", same},
                                             {"report", a, "-o", same},
                                             {"calibrate", a, "-o", same},
                                             {"export", a, "--to", "perfetto", "-o", same}}) {
    ExpectError(Lanescope(command), 1, "InvalidArgument", "would be lost");
  }
  EXPECT_EQ(ReadText(a), before);
  const std::string graph = folder_.Write("g.pbtxt", ReadText(Sample("two_towers_matmul")));
  ExpectError(Lanescope({"place", graph, "-o", graph}), 1, "InvalidArgument", "would be lost");
  ExpectError(Lanescope({"search", graph, "-o", graph}), 1, "InvalidArgument", "would be lost");
}

TEST(GateOfCommands, StatusesAndRefusals) {
  // Three tenths of a second more are worse than nothing whatever the machine does beside it.
  const Outcome worse =
      Lanescope({"gate", "--run", "true", "sleep 0.3", "--rounds", "9", "--warmup", "0", "--budget", "1%"});
  EXPECT_EQ(worse.status, 1) << worse.output << worse.errors;
  EXPECT_THAT(worse.output, HasSubstr("worse: wall"));
  // Too few rounds for any verdict.
  const Outcome few = Lanescope({"gate", "--run", "true", "true", "--rounds", "2", "--warmup", "0"});
  EXPECT_EQ(few.status, 3) << few.output;
  ExpectError(Lanescope({"gate", "--run", "true", "echo why >&2; exit 4"}), 1, "FailedPrecondition",
              "ended with status 4: why");
  ExpectError(Lanescope({"gate", "--run", "true", "true", "--what", "kernels"}), 1, "InvalidArgument",
              "wall time");
  ExpectError(Lanescope({"gate", "--run", "true", "true {trace}"}), 1, "InvalidArgument", "{trace}");
  ExpectError(Lanescope({"gate", "--run", "true {trace}", "true {trace}"}), 1, "FailedPrecondition",
              "wrote no trace");
}

// Two libraries call the kernels of one product differently, the second takes 100 us more of 200: what
// changes is the operator, as it is where the files themselves are gated.
TEST(GateOfCommands, KernelsMatchByOperator) {
  Folder folder;
  const auto import = [&](const std::string& kernel, int us) {
    const std::string from = folder.File(kernel + ".json"), to = folder.File(kernel + ".db");
    const auto event = [](const std::string& kind, const std::string& name, int thread, int start,
                          int length) {
      return R"({"ph": "X", "cat": ")" + kind + R"(", "name": ")" + name + R"(", "pid": )" +
             std::to_string(thread == 7 ? 0 : 10) + R"(, "tid": )" + std::to_string(thread) + R"(, "ts": )" +
             std::to_string(start) + R"(, "dur": )" + std::to_string(length) +
             R"(, "args": {"device": 0, "stream": 7, "correlation": 1}})";
    };
    std::ofstream(from) << R"({"traceEvents": [)" << event("cpu_op", "aten::mm", 10, 100, 50) << ","
                        << event("cuda_runtime", "cudaLaunchKernel", 10, 110, 5) << ","
                        << event("kernel", kernel, 7, 200, us) << "]}";
    EXPECT_EQ(Lanescope({"import", from, "-o", to}).status, 0);
    return "cp " + to + " {trace}";
  };
  const Outcome outcome = Lanescope(
      {"gate", "--run", import("cutlass", 200), import("Cijk", 300), "--rounds", "2", "--warmup", "0"});
  EXPECT_THAT(outcome.output, HasSubstr("aten::mm")) << outcome.errors;
  EXPECT_THAT(outcome.output, testing::Not(HasSubstr("GPU:0   cutlass")));
}

// A profile of PyTorch at {trace} is read by its content, and where the profiler adds an ending it is found.
TEST(GateOfCommands, ReadWhatOtherProfilersWrite) {
  Folder folder;
  const std::string from = folder.Write(
      "profile", R"({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7,
        "ts": 100, "dur": 50, "args": {"device": 0, "stream": 7}}]})");
  for (const std::string ending : {"", ".json", "_0.pt.trace.json"}) {
    const std::string copy = "cp " + from + " {trace}" + ending;
    const Outcome outcome =
        Lanescope({"gate", "--run", copy, copy, "--what", "kernels", "--rounds", "2", "--warmup", "0"});
    EXPECT_EQ(outcome.status, 3) << outcome.errors;
    EXPECT_THAT(outcome.output, HasSubstr("50 us")) << ending;
  }
  const std::string twice = "cp " + from + " {trace}.json; cp " + from + " {trace}_1.json";
  ExpectError(Lanescope({"gate", "--run", twice, twice, "--warmup", "0"}), 1, "FailedPrecondition",
              "several traces, {trace}.json and {trace}_1.json");
  EXPECT_THAT(Lanescope({"summary", from}).output, HasSubstr("gemm"));
  EXPECT_THAT(Lanescope({"gate", from, from, "--what", "kernels"}).output, HasSubstr("50 us"));
}

}  // namespace
}  // namespace lanescope::cli
