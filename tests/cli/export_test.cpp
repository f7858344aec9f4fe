// SPDX-License-Identifier: Apache-2.0
// export, report, and what tables leave out: the program's other ways out.
#include <gmock/gmock.h>

#include <cstdlib>
#include <sstream>

#include "tests/cli/program.h"

namespace lanescope::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// Two steps of a training on two streams, as PyTorch's profiler writes them.
constexpr const char* kForeign = R"json({"traceEvents": [
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1, "ts": 0, "dur": 50},
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#2", "pid": 1, "tid": 1, "ts": 50, "dur": 50},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 10, "dur": 4,
 "args": {"correlation": 1}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 60, "dur": 6,
 "args": {"correlation": 2}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaMemcpyAsync", "pid": 1, "tid": 1, "ts": 70, "dur": 2,
 "args": {"correlation": 3}},
{"ph": "X", "cat": "kernel", "name": "gemm, fast", "pid": 0, "tid": 7, "ts": 20, "dur": 30,
 "args": {"device": 0, "stream": 7, "correlation": 1}},
{"ph": "X", "cat": "kernel", "name": "softmax", "pid": 0, "tid": 7, "ts": 70, "dur": 10,
 "args": {"device": 0, "stream": 7, "correlation": 2}},
{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pinned -> Device)", "pid": 0, "tid": 7, "ts": 80, "dur": 5,
 "args": {"device": 0, "stream": 7, "correlation": 3, "bytes": 64}}]})json";

class ExportCommand : public testing::Test {
 protected:
  std::string Foreign() {
    const std::string trace = folder_.File("foreign.sqlite");
    const Outcome outcome = Lanescope({"import", folder_.Write("foreign.json", kForeign), "-o", trace});
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    return trace;
  }
  std::string Ours() {
    const std::string trace = folder_.File("ours.db");
    for (const char* strategy : {"single", "alternating"}) {
      const Outcome outcome = Lanescope({"simulate", Sample("deepconn_dual"), "--machine",
                                         SampleMachine("k80x2"), "--strategy", strategy, "--trace", trace});
      EXPECT_EQ(outcome.status, 0) << outcome.errors;
    }
    return trace;
  }
  Folder folder_;
};

std::vector<std::string> LinesOf(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST_F(ExportCommand, WritesEveryFormat) {
  const std::string trace = Ours();
  for (const std::string format : {"perfetto", "chrome", "csv", "graphviz"}) {
    const std::string out = folder_.File("out." + format);
    const Outcome outcome = Lanescope({"export", trace + ":2", "--to", format, "-o", out});
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_EQ(outcome.errors, out + "\n");
    EXPECT_THAT(ReadText(out), HasSubstr("GPU:1"));
  }
  const json chrome = json::parse(ReadText(folder_.File("out.chrome")));
  int slices = 0;
  for (const json& event : chrome["traceEvents"]) slices += event["ph"] == "X" ? 1 : 0;
  const json rows =
      LanescopeJson({"query", trace,
                     "SELECT (SELECT COUNT(*) FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE globalPid >> 48 = 2) + "
                     "(SELECT COUNT(*) FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE globalPid >> 48 = 2)",
                     "--json"});
  EXPECT_EQ(slices, rows["rows"][0][0].get<int>() + 1);  // and the step
}

// A run is named as FILE:RUN and by --run alike, by every command.
TEST_F(ExportCommand, RunsAreNamedAlike) {
  const std::string trace = Ours(), out = folder_.File("out.csv"), other = folder_.File("other.csv");
  ASSERT_EQ(Lanescope({"export", trace, "--run", "2", "--to", "csv", "-o", out}).status, 0);
  ASSERT_EQ(Lanescope({"export", trace + ":2", "--to", "csv", "-o", other}).status, 0);
  EXPECT_EQ(ReadText(out), ReadText(other));
  EXPECT_EQ(Lanescope({"summary", trace + ":2"}).output, Lanescope({"summary", trace, "--run", "2"}).output);
  ExpectError(Lanescope({"summary", trace + ":2", "--run", "1"}), 1, "InvalidArgument", "is run 2");
  ExpectError(Lanescope({"export", trace + ":2", "--run", "1", "--to", "csv"}), 1, "InvalidArgument",
              "is run 2");
}

// A file for each GPU, each of which is imported again.
TEST_F(ExportCommand, ChakraHasAFileForEachGpu) {
  constexpr const char* kRank =
      R"json([{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 20,
 "dur": 30, "args": {"device": 0, "stream": 7}}])json";
  const std::string out = folder_.File("job.et"), job = folder_.File("job.sqlite");
  ASSERT_EQ(
      Lanescope({"import", folder_.Write("a.json", kRank), folder_.Write("b.json", kRank), "-o", job}).status,
      0);
  const Outcome outcome = Lanescope({"export", job, "--to", "chakra", "-o", out});
  ASSERT_EQ(outcome.status, 0) << outcome.errors;
  EXPECT_EQ(outcome.errors, folder_.File("job.0.et") + "\n" + folder_.File("job.1.et") + "\n");
  const Outcome summary = Lanescope({"summary", folder_.File("job.1.et")});
  EXPECT_EQ(summary.status, 0) << summary.errors;
  EXPECT_THAT(summary.errors, HasSubstr("1 kernels"));
}

TEST_F(ExportCommand, SaysWhatItCannotWrite) {
  const std::string trace = Ours(), out = folder_.File("out");
  ExpectError(Lanescope({"export", trace, "--to", "csv", "-o", out}), 1, "InvalidArgument", "ours.db:2");
  ExpectError(Lanescope({"export", trace + ":1", "--to", "chrome", "--table", "StringIds", "-o", out}), 1,
              "InvalidArgument", "--table");
  ExpectError(Lanescope({"export", trace, "--to", "csv", "--table", "nowhere\"; --", "-o", out}), 1,
              "InvalidArgument", "nowhere");
  ExpectError(Lanescope({"export", Foreign(), "--to", "graphviz", "-o", out}), 1, "FailedPrecondition",
              "dependencies");
  EXPECT_EQ(Lanescope({"export", trace, "--to", "nothing"}).status, 2);
}

TEST_F(ExportCommand, TablesOfATraceAreCsv) {
  const std::string out = folder_.File("runs.csv");
  const Outcome outcome = Lanescope({"export", Ours(), "--to", "csv", "--table", "LANESCOPE_RUN", "-o", out});
  ASSERT_EQ(outcome.status, 0) << outcome.errors;
  const std::vector<std::string> lines = LinesOf(ReadText(out));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(lines[0], HasSubstr("runId"));
}

TEST_F(ExportCommand, TablesAsCsv) {
  const std::string foreign = Foreign();
  EXPECT_EQ(Lanescope({"summary", foreign, "--csv"}).output,
            "run,table,type,name,time_percent,total_ns,calls,avg_ns,min_ns,max_ns\n"
            "1,gpu,kernel,\"gemm, fast\",66.66666666666667,30000,1,30000,30000,30000\n"
            "1,gpu,kernel,softmax,22.22222222222222,10000,1,10000,10000,10000\n"
            "1,gpu,memcpy,[CUDA memcpy HtoD],11.11111111111111,5000,1,5000,5000,5000\n"
            "1,api,api,cudaLaunchKernel,83.33333333333333,10000,2,5000,4000,6000\n"
            "1,api,api,cudaMemcpyAsync,16.666666666666668,2000,1,2000,2000,2000\n");
  EXPECT_THAT(Lanescope({"summary", foreign, "--csv", "--by", "nvtx"}).output,
              HasSubstr("\n1,ProfilerStep#1,1,30000,0,0,0,\"gemm, fast\"\n"));
  EXPECT_EQ(Lanescope({"query", foreign, "SELECT 1 AS a, 'x,y' AS b", "--csv"}).output, "a,b\n1,\"x,y\"\n");
  const std::string ours = Ours();
  const std::vector<std::string> diff =
      LinesOf(Lanescope({"diff", ours, "1", "2", "--csv", "--top", "3"}).output);
  ASSERT_EQ(diff.size(), 4u);
  EXPECT_THAT(diff[0], testing::StartsWith("name,kind,change,"));
  EXPECT_EQ(Lanescope({"summary", foreign, "--csv", "--json"}).status, 2);
}

// API calls of 4, 6 and 2 us; ranges of 50 us each.
TEST_F(ExportCommand, SumsOfNsysHaveApiAndRanges) {
  const std::string foreign = Foreign();
  const std::string csv = Lanescope({"summary", foreign, "--format", "nsys", "--csv"}).output;
  EXPECT_THAT(csv,
              HasSubstr("\n1,api,cudaLaunchKernel,,83.33333333333333,10000,2,5000,5000,4000,6000,1414.21"));
  EXPECT_THAT(csv, HasSubstr("\n1,nvtx,ProfilerStep#1,PushPop,50,50000,1,50000,50000,50000,50000,0\n"));
  const std::string text = Lanescope({"summary", foreign, "--format", "nsys"}).output;
  EXPECT_THAT(text, HasSubstr("NVTX Range Summary:"));
  EXPECT_THAT(text, HasSubstr("CUDA API Summary:"));
  // One step has what was launched in it, and ranges that begin in its time.
  const json step = LanescopeJson({"summary", foreign, "--format", "nsys", "--step", "2", "--json"});
  ASSERT_EQ(step["api_sum"].size(), 2u);
  EXPECT_EQ(step["api_sum"][0]["total"], 6000);
}

TEST_F(ExportCommand, TopAndWidthBoundTables) {
  const std::string ours = Ours();
  const std::string text = Lanescope({"summary", ours, "--run", "1", "--top", "2", "--width", "60"}).output;
  EXPECT_THAT(text, HasSubstr(" more; --top 0 shows all\n"));
  const std::string table = text.substr(text.find('\n') + 1, text.find("more;") - text.find('\n'));
  const std::vector<std::string> lines = LinesOf(table);
  ASSERT_EQ(lines.size(), 5u);  // title, columns, two rows, how many more
  for (const std::string& line : lines) EXPECT_LE(line.size(), 60u) << line;
  EXPECT_EQ(Lanescope({"summary", ours, "--width", "3"}).status, 2);
  const std::string one = Lanescope({"query", ours, "SELECT runId FROM LANESCOPE_RUN", "--top", "1"}).output;
  EXPECT_EQ(one, "runId\n-----\n    1\n");
}

// Files and folders of PyTorch's profiler are read as they are, and nothing stays behind.
TEST_F(ExportCommand, ProfilersTracesAreOpenedDirectly) {
  const std::string file = folder_.Write("rank0.json", kForeign);
  const Outcome summary = Lanescope({"summary", file, "--csv"});
  EXPECT_EQ(summary.status, 0);
  EXPECT_EQ(summary.output, Lanescope({"summary", Foreign(), "--csv"}).output);
  EXPECT_EQ(summary.errors, file + ": 2 kernels, 1 copies, 0 memory sets, 3 API calls, 2 ranges\n");
  Folder ranks;
  ranks.Write("a.json", kForeign);
  ranks.Write("b.json", kForeign);
  const json both = LanescopeJson({"summary", ranks.File(""), "--by", "rank", "--json"});
  EXPECT_EQ(both["devices"].size(), 2u);
  EXPECT_EQ(both["waits"]["devices"][1]["device"], "file 2 GPU:0");
  Folder empty;
  ExpectError(Lanescope({"summary", empty.File("")}), 1, "NotFound", "holds no trace");
}

// The first that there is; empty: none.
std::string Browser() {
  for (const std::string name : {"chromium-headless-shell", "chromium", "google-chrome"}) {
    if (std::system(("command -v " + name + " > /dev/null").c_str()) == 0) return name;
  }
  return "";
}

// The page draws by itself, in a browser without a display and without a network.
TEST_F(ExportCommand, AReportDrawsInABrowser) {
  const std::string page = folder_.File("report.html"), ours = folder_.File("measured.db"),
                    foreign = Foreign();
  for (const char* strategy : {"single", "alternating"}) {
    ASSERT_EQ(
        Lanescope({"run", Sample("polynomial"), "--strategy", strategy, "--steps", "5", "--trace", ours})
            .status,
        0);
  }
  const Outcome outcome = Lanescope({"report", ours, foreign, "-o", page});
  ASSERT_EQ(outcome.status, 0) << outcome.errors;
  const std::string text = ReadText(page);
  for (const char* part : {"Crossover", "What to do next", "class=\"verdict\"", "The first run (A)",
                           "cudaLaunchKernel", "polynomial.pbtxt alternating"})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_LT(text.size(), size_t{4} << 20);
  // Sentences about several runs together come before those about each.
  EXPECT_LT(text.find("The first run (A)"), text.find("What to do next"));
  EXPECT_LT(text.find("Against A"), text.find("GPU activities"));
  EXPECT_EQ(Lanescope({"report", ours + ":2", "-o", page}).status, 0);
  EXPECT_EQ(ReadText(page).find("The first run (A)"), std::string::npos);
  ASSERT_EQ(Lanescope({"report", ours, foreign, "-o", page}).status, 0);
  const std::string browser = Browser();
  if (browser.empty())
    GTEST_SKIP()
        << "needs a browser (package chromium-headless-shell, as scripts/install-packages.sh has it)";
  const std::string dom = folder_.File("dom.html");
  const std::string command =
      browser + " --headless --no-sandbox --disable-gpu --user-data-dir=" + folder_.File("profile") +
      " --virtual-time-budget=2000 --dump-dom file://" + page + " > " + dom + " 2> /dev/null";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const std::string drawn = ReadText(dom);
  const size_t at = drawn.find("data-drawn=\"");
  ASSERT_NE(at, std::string::npos) << "the script did not run";
  EXPECT_GT(std::atoi(drawn.c_str() + at + 12), 100);
}

}  // namespace
}  // namespace lanescope::cli
