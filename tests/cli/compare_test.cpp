// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "tests/cli/program.h"

namespace lanescope::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

void ExpectCommonKeys(const json& figures) {
  for (const char* device : {"CPU:0", "GPU:0", "GPU:1"}) {
    EXPECT_TRUE(figures["busy"][device].is_number()) << device;
    EXPECT_TRUE(figures["peak_bytes"][device].is_number_integer()) << device;
  }
  EXPECT_TRUE(figures["steps"].is_number_integer());
  EXPECT_TRUE(figures["critical_path_ns"].is_number_integer());
  for (const char* kind : {"device_to_device", "within_device", "host_to_device", "device_to_host"}) {
    for (const char* key : {"count", "bytes", "ns"})
      EXPECT_TRUE(figures["copies"][kind][key].is_number_integer()) << kind << " " << key;
  }
}

// `explain` and `diff` find the path that `compare` printed; each rounds its own sums.
void ExpectOnePath(const std::string& trace, int run, int64_t critical_path_ns) {
  const std::string name = trace + ":" + std::to_string(run);
  const json path = LanescopeJson({"explain", name, name, "--json"})["path_a"];
  EXPECT_NEAR(path["launch_ns"].get<double>() + path["copy_ns"].get<double>(),
              static_cast<double>(critical_path_ns), 1)
      << run;
  const json parts = LanescopeJson({"diff", name, name, "--json"})["a"]["parts"];
  EXPECT_NEAR(parts["compute_ns"].get<double>() + parts["transfer_ns"].get<double>(),
              static_cast<double>(critical_path_ns), 1)
      << run;
}

// Links that are shared by nobody explain nothing; every effect has its prediction.
TEST(Compare, AblationHasEveryEffect) {
  const json result = LanescopeJson(
      {"compare", Sample("polynomial") + ":single,alternating", "--no-run", "--ablate", "--json"});
  for (const json& row : result["rows"]) {
    const json& without = row["predicted"]["without"];
    for (const char* effect : {"step", "hand-off", "cache transfers", "issue", "link sharing"})
      EXPECT_TRUE(without[effect].is_number_integer()) << effect;
    EXPECT_EQ(without["issue"], row["predicted"]["step_ns"]["value"]);
    EXPECT_TRUE(row["extrapolated_share"].is_number());
  }
}

// Law: every row says what its prediction goes by, whether or not it is measured.
TEST(Compare, PredictionsAloneSayWhatTheyGoBy) {
  const Outcome outcome =
      Lanescope({"compare", Sample("polynomial") + ":single,alternating", "--no-run", "--details"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.output, HasSubstr("uncalibrated"));
  EXPECT_THAT(outcome.output, testing::ContainsRegex("polynomial alternating +100\\.0%"));
  EXPECT_THAT(outcome.output, testing::Not(HasSubstr("Disturbed")));
}

// The verdict is the first line, one table follows, and --details has the others.
TEST(Compare, BeginsWithTheVerdictAndOneTable) {
  const std::vector<std::string> words = {"compare", Sample("deepconn_single") + ":single,alternating",
                                          "--no-run", "--machine", SampleMachine("k80x2")};
  const std::string verdict =
      LanescopeJson({"compare", Sample("deepconn_single") + ":single,alternating", "--no-run", "--machine",
                     SampleMachine("k80x2"), "--json"})["verdict"];
  const std::string brief = Lanescope(words).output;
  EXPECT_THAT(brief, testing::StartsWith(verdict + "\n\nOn 2 x Tesla K80"));
  std::vector<std::string> with_details = words;
  with_details.push_back("--details");
  const std::string whole = Lanescope(with_details).output;
  EXPECT_THAT(whole, testing::StartsWith(verdict + "\n"));
  EXPECT_THAT(brief, HasSubstr("lower bound"));
  for (const char* title : {"Time of commands", "Copies in a step", "Busy; peak memory"}) {
    EXPECT_THAT(brief, testing::Not(HasSubstr(title)));
    EXPECT_THAT(whole, HasSubstr(title));
  }
}

// An op whose work nobody knows may take ten times as long, or a tenth.
TEST(Compare, AWideIntervalSaysWhy) {
  const Folder folder;
  const std::string graph = folder.Write("odd.pbtxt", "node { name: 'a' op: 'Odd' }");
  const Outcome outcome =
      Lanescope({"compare", graph, "--no-run", "--machine", SampleMachine("k80x2"), "--target", "a"});
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
  EXPECT_THAT(outcome.output,
              testing::ContainsRegex("odd annotated: the interval spans a factor of [0-9]+: 100% of "
                                     "the commands' time goes by commands whose work nobody knows"));
}

TEST(Compare, JsonHasTheKeysOfTheContract) {
  const Folder folder;
  const std::string trace = folder.File("t.db");
  const Outcome outcome = Lanescope({"compare", Sample("deepconn_single"), Sample("deepconn_dual"), "--steps",
                                     "2", "--rounds", "2", "--warmup", "1", "--json", "--trace", trace});
  ASSERT_EQ(outcome.status, 0) << outcome.errors;
  EXPECT_THAT(outcome.errors, HasSubstr("round 1 of 2"));
  const json result = json::parse(outcome.output);
  EXPECT_EQ(result["trace"], trace);
  EXPECT_TRUE(result["machine"]["devices"].is_array());
  EXPECT_FALSE(result["verdict"].get<std::string>().empty());
  ASSERT_EQ(result["rows"].size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    const json& row = result["rows"][i];
    EXPECT_THAT(row["graph"].get<std::string>(), HasSubstr(i == 0 ? "deepconn_single" : "deepconn_dual"));
    EXPECT_EQ(row["strategy"], "annotated");
    EXPECT_EQ(row["in_sample"], i == 0);
    EXPECT_TRUE(row["oversubscribed"].is_boolean());
    EXPECT_EQ(row["failed"], nullptr);
    for (const char* key : {"median", "p25", "p75", "min", "max"})
      EXPECT_TRUE(row["measured"]["step_ns"][key].is_number_integer()) << key;
    // Two rounds of two steps; up to two more where other programs disturbed them. Disturbed steps do not
    // count, unless all are.
    const json& disturbed = row["measured"]["disturbed"];
    const int of = disturbed["of"], lost = disturbed["steps"];
    EXPECT_GE(of, 4);
    EXPECT_LE(of, 8);
    EXPECT_EQ(row["measured"]["steps"], lost == of ? of : of - lost);
    EXPECT_TRUE(disturbed["quiet"].is_boolean());
    for (const char* key : {"value", "low", "high"})
      EXPECT_TRUE(row["predicted"]["step_ns"][key].is_number_integer()) << key;
    ExpectCommonKeys(row["measured"]);
    ExpectCommonKeys(row["predicted"]);
    const double measured = row["measured"]["step_ns"]["median"],
                 predicted = row["predicted"]["step_ns"]["value"];
    EXPECT_NEAR(row["error"], (predicted - measured) / measured, 1e-3);
    EXPECT_TRUE(row["noise"].is_number());
    // Three are wanted, but there are two rounds, or some more.
    ASSERT_GE(row["repeats"].size(), 2u);
    ASSERT_LE(row["repeats"].size(), 3u);
    for (const json& repeat : row["repeats"]) {
      const double seen = repeat["measured_ns"], said = repeat["predicted_ns"];
      EXPECT_NEAR(repeat["error"], (said - seen) / seen, 1e-3);
    }
    EXPECT_EQ(row["measured"]["copies"]["device_to_device"]["count"], i == 0 ? 0 : 19);
    EXPECT_EQ(row["predicted"]["copies"]["device_to_device"]["count"], i == 0 ? 0 : 19);
  }
  const json runs =
      LanescopeJson({"query", trace, "SELECT runId, kind, complete FROM LANESCOPE_RUN", "--json"})["rows"];
  for (const json& row : result["rows"]) {
    EXPECT_THAT(runs, testing::Contains(json::array({row["run"]["measured"], "measured", 1})));
    EXPECT_THAT(runs, testing::Contains(json::array({row["run"]["simulated"], "simulated", 1})));
    for (const auto& [kind, figures] : {std::pair("measured", "measured"), {"simulated", "predicted"}})
      ExpectOnePath(trace, row["run"][kind], row[figures]["critical_path_ns"]);
  }
}

// Processes that keep every processor busy, until the end of their life.
class NoisyNeighbours {
 public:
  NoisyNeighbours() {
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    for (long i = 0; i < 2 * processors; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (volatile unsigned x = 0;;) x = x + 1;  // wraps: an overflow would end it
      }
      children_.push_back(child);
    }
  }
  ~NoisyNeighbours() {
    for (const pid_t child : children_) kill(child, SIGKILL);
    for (const pid_t child : children_) waitpid(child, nullptr, 0);
  }

 private:
  std::vector<pid_t> children_;
};

// Law: what is measured beside programs that keep all processors busy is run as often as it may be, and said
// not to be relied on.
TEST(Compare, SaysThatOthersDisturbedIt) {
  const NoisyNeighbours neighbours;
  const Folder folder;
  const std::vector<std::string> words = {"compare",   Sample("polynomial"),
                                          "--machine", SampleMachine("two-virtual-gpus"),
                                          "--rounds",  "1",
                                          "--warmup",  "1",
                                          "--steps",   "100"};
  const Outcome table = Lanescope(words);
  ASSERT_EQ(table.status, 0) << table.errors;
  EXPECT_THAT(table.output,
              HasSubstr("Do not rely on these figures: hardly any quiet time came. Other programs"));
  EXPECT_THAT(table.errors, HasSubstr("round 2 of 2"));
  std::vector<std::string> as_json = words;
  as_json.push_back("--json");
  const json disturbed = json::parse(Lanescope(as_json).output)["rows"][0]["measured"]["disturbed"];
  EXPECT_EQ(disturbed["quiet"], false);
  EXPECT_EQ(disturbed["of"], 200);
  EXPECT_GT(disturbed["others"].get<double>(), 0.5);
}

TEST(Compare, SimulatesModelledMachines) {
  const std::vector<std::string> arguments{"compare",
                                           Sample("deepconn_single"),
                                           Sample("deepconn_dual"),
                                           Sample("deepconn_alternating"),
                                           "--no-run",
                                           "--machine",
                                           SampleMachine("k80x2")};
  const Outcome table = Lanescope(arguments);
  ASSERT_EQ(table.status, 0) << table.errors;
  EXPECT_EQ(table.errors, "");
  EXPECT_THAT(table.output, HasSubstr("Predicted\n"));
  EXPECT_THAT(table.output, testing::Not(HasSubstr("Measured")));
  auto with_json = arguments;
  with_json.push_back("--json");
  const json result = LanescopeJson(with_json);
  EXPECT_EQ(result["trace"], nullptr);
  ASSERT_EQ(result["rows"].size(), 3u);
  const std::vector<int> copies{0, 19, 23};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(result["rows"][i]["measured"], nullptr);
    EXPECT_EQ(result["rows"][i]["error"], nullptr);
    EXPECT_EQ(result["rows"][i]["in_sample"], false);
    EXPECT_EQ(result["rows"][i]["predicted"]["copies"]["device_to_device"]["count"], copies[i]);
  }
}

// On two K80 tower-split wins from 45.9 GB/s on: a sweep that ends before must not call it the winner.
TEST(Compare, TheVerdictKnowsWhereTheSweepEnds) {
  const auto compare = [](const std::string& range) {
    return Lanescope({"compare", Sample("deepconn_single") + ":single,tower-split", "--no-run", "--machine",
                      SampleMachine("k80x2"), "--sweep", range});
  };
  EXPECT_THAT(compare("link.bandwidth=1GB/s..10GB/s").output,
              HasSubstr("tower-split wins at no bandwidth up to 10 GB/s"));
  EXPECT_THAT(compare("link.bandwidth=1GB/s..100GB/s").output, HasSubstr("tower-split wins above 45."));
  ExpectError(compare("link.bandwidth=fast"), 2, "InvalidArgument", "--sweep");
}

// A sweep that means nothing is refused before minutes of measuring.
TEST(Compare, ABadSweepIsRefusedAtOnce) {
  const Outcome outcome =
      Lanescope({"compare", Sample("polynomial") + ":single", "--sweep", "link.bandwidth=2GB/s..1GB/s"});
  ExpectError(outcome, 1, "InvalidArgument", "--sweep");
}

TEST(Compare, AGraphMayNameItsStrategies) {
  const Folder folder;
  const std::string program = folder.Write("all_on_1.sh", "echo '{\"nodes\": {}}'\n");
  const json result =
      LanescopeJson({"compare", Sample("polynomial") + ":single,exec:sh " + program, "--no-run", "--json"});
  ASSERT_EQ(result["rows"].size(), 2u);
  EXPECT_EQ(result["rows"][0]["strategy"], "single");
  EXPECT_EQ(result["rows"][1]["strategy"], "exec:sh " + program);
  ExpectError(Lanescope({"compare", folder.File("none.pb") + ":single", "--no-run"}), 1, "NotFound",
              "none.pb'");
}

TEST(Compare, ARowThatFailsSaysWhy) {
  const Outcome outcome =
      Lanescope({"compare", Sample("polynomial") + ":single,no-such", "--no-run", "--json"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.errors, HasSubstr("error: FailedPrecondition: 1 of 2 rows could not be compared; "
                                        "polynomial no-such says: "));
  const json result = json::parse(outcome.output);
  EXPECT_EQ(result["rows"][0]["failed"], nullptr);
  EXPECT_EQ(result["rows"][1]["failed"]["code"], "NotFound");
  EXPECT_EQ(result["rows"][1]["measured"], nullptr);
  EXPECT_EQ(result["rows"][1]["predicted"], nullptr);
}

TEST(Compare, ATableWithAFailedRowIsPrintedAndStatus1) {
  const Outcome outcome = Lanescope({"compare", Sample("polynomial") + ":single,no-such", "--no-run"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.output, HasSubstr("polynomial single"));
  EXPECT_THAT(outcome.output, HasSubstr("NotFound"));
}

TEST(Compare, LogsEveryRowsPlacement) {
  const Outcome outcome =
      Lanescope({"compare", Sample("matmul_cpu_gpu") + ":annotated,single", "--no-run",
                 "--log-device-placement", "--json", "--machine", SampleMachine("k80x2")});
  ASSERT_EQ(outcome.status, 0) << outcome.errors;
  EXPECT_TRUE(json::accept(outcome.output));
  EXPECT_EQ(
      outcome.errors,
      "Device mapping:\n"
      "/job:localhost/replica:0/task:0/device:GPU:0 -> device: 0, name: Tesla K80 (one of its two GK210)\n"
      "/job:localhost/replica:0/task:0/device:GPU:1 -> device: 1, name: Tesla K80 (one of its two GK210)\n"
      "matmul_cpu_gpu annotated\n"
      "MatMul: (MatMul): /job:localhost/replica:0/task:0/device:GPU:0\n"
      "a: (Const): /job:localhost/replica:0/task:0/device:CPU:0\n"
      "b: (Const): /job:localhost/replica:0/task:0/device:CPU:0\n"
      "matmul_cpu_gpu single\n"
      "MatMul: (MatMul): /job:localhost/replica:0/task:0/device:GPU:0\n"
      "a: (Const): /job:localhost/replica:0/task:0/device:GPU:0\n"
      "b: (Const): /job:localhost/replica:0/task:0/device:GPU:0\n");
}

TEST(Compare, CtrlCEndsTheMicrobenchmarks) {
  // Where this process gets no core for seconds, the signal may come after the microbenchmarks: then once
  // more.
  bool in_microbenchmarks = false;
  for (int attempt = 0; attempt < 10 && !in_microbenchmarks; ++attempt) {
    const Folder folder;
    const std::string trace = folder.File("t.db");
    Process compare({"compare", Sample("polynomial") + ":single", "--trace", trace});
    ASSERT_TRUE(compare.WaitForFile(trace, 1));
    compare.Signal(SIGINT);
    const Outcome outcome = compare.Wait();
    EXPECT_EQ(outcome.status, 130) << outcome.errors;
    in_microbenchmarks = outcome.errors.find("round 1") == std::string::npos;
  }
  EXPECT_TRUE(in_microbenchmarks);
}

TEST(Compare, CtrlCKeepsTheTrace) {
  const Folder folder;
  const std::string trace = folder.File("t.db");
  Process compare(
      {"compare", Sample("polynomial") + ":single,alternating", "--steps", "1000000", "--trace", trace});
  ASSERT_TRUE(compare.WaitForFile(trace + "-wal", 1 << 20));
  compare.Signal(SIGINT);
  const Outcome outcome = compare.Wait();
  EXPECT_EQ(outcome.status, 130) << outcome.errors;
  EXPECT_EQ(outcome.output, "");
  EXPECT_THAT(outcome.errors, HasSubstr("\nerror: Cancelled: "));
  const json rows = LanescopeJson(
      {"query", trace, "SELECT complete = 0 OR error IS NOT NULL FROM LANESCOPE_RUN", "--json"})["rows"];
  EXPECT_EQ(rows, json::parse("[[1], [1]]"));
  EXPECT_EQ(Lanescope({"summary", trace}).status, 0);
}

}  // namespace
}  // namespace lanescope::cli
