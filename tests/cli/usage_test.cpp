// SPDX-License-Identifier: Apache-2.0
// Exit statuses, errors of one line, help, and standard streams.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <filesystem>
#include <sstream>

#include "tests/cli/program.h"
#include "tests/support/paths.h"

namespace lanescope::cli {
namespace {

using testing::HasSubstr;

const std::vector<std::string> kCommands = {"devices", "place",     "run",     "serve", "simulate",
                                            "compare", "calibrate", "summary", "query", "diff",
                                            "explain", "import",    "profile", "gui"};

int Shell(const std::string& command) {
  const int how = system(command.c_str());
  return WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
}

TEST(Usage, HelpOfEachCommand) {
  const Outcome main = Lanescope({"--help"});
  EXPECT_EQ(main.status, 0);
  for (const std::string& command : kCommands) {
    EXPECT_THAT(main.output, HasSubstr("\n  " + command));
    const Outcome outcome = Lanescope({command, "--help"});
    EXPECT_EQ(outcome.status, 0) << command;
    EXPECT_EQ(outcome.errors, "") << command;
    EXPECT_THAT(outcome.output, HasSubstr("Usage: lanescope " + command));
  }
  const Outcome version = Lanescope({"--version"});
  EXPECT_EQ(version.status, 0);
  EXPECT_THAT(version.output, testing::MatchesRegex("[0-9]+[.][0-9]+[.][0-9]+( [(]commit [0-9a-f]+[)])?\n"));
}

// Words of a line, in which quotes hold blanks together.
std::vector<std::string> WordsOf(const std::string& line) {
  std::vector<std::string> words;
  std::istringstream text(line);
  for (std::string word; text >> word;) {
    if (word.starts_with('"')) {
      std::string rest;
      std::getline(text, rest, '"');
      word = word.substr(1) + rest;
    }
    words.push_back(word);
  }
  return words;
}

// In an empty folder the example's files are missing, which is status 1; what does not parse is status 2.
TEST(Usage, HelpEndsWithAnExampleThatParses) {
  const auto before = std::filesystem::current_path();
  for (const std::string& command : kCommands) {
    const Folder folder;
    std::filesystem::current_path(folder.File(""));
    std::string help = Lanescope({command, "--help"}).output;
    while (help.ends_with('\n')) help.pop_back();
    EXPECT_EQ(help.find("\nExample"), help.rfind("\nExample")) << help;
    const size_t last = help.rfind('\n');
    EXPECT_TRUE(std::string_view(help).substr(0, last).ends_with("\nExample")) << help;
    std::vector<std::string> words = WordsOf(help.substr(last + 1));
    ASSERT_GE(words.size(), 3u) << command;
    EXPECT_EQ(words[0], "lanescope");
    EXPECT_EQ(words[1], command);
    words.erase(words.begin());
    const Outcome outcome = Lanescope(words);
    EXPECT_EQ(outcome.status, 1) << command << ": " << outcome.errors;
    words.push_back("--bogus");
    if (command != "profile") {  // whose last words are another program's
      EXPECT_EQ(Lanescope(words).status, 2) << command;
    }
    std::filesystem::current_path(before);
  }
}

TEST(Usage, WithoutACommandAllAreListed) {
  const Outcome outcome = Lanescope({});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.output, "");
  for (const std::string& command : kCommands) EXPECT_THAT(outcome.errors, HasSubstr("\n  " + command + " "));
}

TEST(Usage, AMistypedCommandGetsTheLikelyOne) {
  ExpectError(Lanescope({"compar"}), 2, "InvalidArgument", "no subcommand 'compar'; did you mean 'compare'?");
  ExpectError(Lanescope({"serach"}), 2, "InvalidArgument", "did you mean 'search'?");
  EXPECT_THAT(Lanescope({"xyzzy"}).errors, testing::Not(HasSubstr("did you mean")));
}

TEST(Usage, HelpSaysWhichGraphsAreTaken) {
  for (const std::string command : {"place", "run", "simulate", "search", "compare"}) {
    const std::string help = Lanescope({command, "--help"}).output;
    for (const char* kind : {"GraphDef", ".pbtxt", "SavedModel", "ONNX"})
      EXPECT_THAT(help, HasSubstr(kind)) << command;
  }
}

// The table stands once.
TEST(Usage, OtherCommandsSayWhereStrategiesAreDescribed) {
  for (const std::string command : {"run", "simulate", "search", "compare"}) {
    const std::string help = Lanescope({command, "--help"}).output;
    EXPECT_THAT(help, HasSubstr("lanescope place --help")) << command;
    EXPECT_THAT(help, testing::Not(HasSubstr("op by op over the GPUs in turn"))) << command;
  }
}

TEST(Usage, StrategiesAreListedInTheHelp) {
  const std::string help = Lanescope({"place", "--help"}).output;
  for (const char* name :
       {"alternating", "annotated", "single", "tower-split", "@placement.json", "exec:PROGRAM"})
    EXPECT_THAT(help, HasSubstr(name));
}

TEST(Usage, WrongUsageIsStatus2) {
  ExpectError(Lanescope({"fly"}), 2, "InvalidArgument", "fly");
  for (const std::string& command : kCommands)
    ExpectError(Lanescope({command, "--bogus"}), 2, "InvalidArgument", "lanescope " + command + " --help");
  ExpectError(Lanescope({"place"}), 2, "InvalidArgument", "graph");
  ExpectError(Lanescope({"run", Sample("polynomial"), "--steps", "0"}), 2, "InvalidArgument", "--steps");
  ExpectError(Lanescope({"run", Sample("polynomial"), "--steps", "many"}), 2, "InvalidArgument", "--steps");
  ExpectError(Lanescope({"run", Sample("polynomial"), "--seed", "-1"}), 2, "InvalidArgument", "--seed");
  ExpectError(Lanescope({"run", Sample("polynomial"), "--feed", "x"}), 2, "InvalidArgument", "NAME=file.npy");
  ExpectError(Lanescope({"simulate", Sample("polynomial"), "--strategy", "single,alternating"}), 2,
              "InvalidArgument", "--sweep");
  ExpectError(Lanescope({"simulate", Sample("polynomial"), "--sweep", "link.latency=1us..2us"}), 2,
              "InvalidArgument", "--sweep");
  ExpectError(Lanescope({"simulate", Sample("polynomial"), "--set", "link.bandwidth"}), 2, "InvalidArgument",
              "WHAT.KEY=VALUE");
}

// Law: a value that is given empty is a mistake, whatever the option, and never its default.
TEST(Usage, AnEmptyValueIsNoDefault) {
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"run", Sample("polynomial"), "--machine", ""},
                                             {"simulate", Sample("polynomial"), "--cost", ""},
                                             {"run", Sample("polynomial"), "--trace="}})
    ExpectError(Lanescope(command), 2, "InvalidArgument", command[2].substr(0, 7));
}

TEST(Usage, FileNamesSayWhatIsWritten) {
  const Folder folder;
  ExpectError(Lanescope({"place", Sample("polynomial"), "-o", folder.File("placed.txt")}), 2,
              "InvalidArgument", ".pbtxt");
  ExpectError(Lanescope({"simulate", Sample("polynomial"), "--sweep", "link.bandwidth=1GB/s..2GB/s", "--plot",
                         folder.File("plot.gif")}),
              2, "InvalidArgument", ".svg");
}

TEST(Usage, FetchesBeyondTheOutputsAreNamed) {
  ExpectError(Lanescope({"run", Sample("matmul_cpu_gpu"), "--fetch", "MatMul:4"}), 1, "InvalidArgument",
              "outputs of 'MatMul' go from :0 to :0");
}

TEST(Usage, OptionsMayStandBeforeTheGraph) {
  EXPECT_EQ(Lanescope({"place", "--fetch", "Mean:0", Sample("polynomial")}).status, 0);
  EXPECT_EQ(
      Lanescope({"compare", "--no-run", "--strategies", "single,alternating", Sample("polynomial")}).status,
      0);
}

TEST(Usage, UnusableFilesAreStatus1) {
  const Folder folder;
  for (const std::string command : {"place", "run", "simulate", "compare"}) {
    ExpectError(Lanescope({command, folder.File("missing.pb")}), 1, "NotFound", "missing.pb");
    ExpectError(Lanescope({command, folder.Write("malformed.pbtxt", "node { name: 'a' \n op: ")}), 1,
                "InvalidArgument", "malformed.pbtxt");
  }
  for (const std::string command : {"summary", "calibrate"})
    ExpectError(Lanescope({command, folder.File("missing.db")}), 1, "NotFound", "missing.db");
  ExpectError(Lanescope({"query", folder.File("missing.db"), "SELECT 1"}), 1, "NotFound", "missing.db");
}

TEST(Usage, ATruncatedGraphIsRefused) {
  const Folder folder;
  ASSERT_EQ(Lanescope({"place", Sample("polynomial"), "-o", folder.File("whole.pb")}).status, 0);
  const std::string whole = ReadText(folder.File("whole.pb"));
  ExpectError(Lanescope({"place", folder.Write("cut.pb", whole.substr(0, whole.size() / 2))}), 1,
              "InvalidArgument", "cut.pb");
}

TEST(Usage, WrongRunConfigurationsAreRefused) {
  const Folder folder;
  const std::string graph = folder.Write("g.pbtxt", ReadText(Sample("polynomial")));
  folder.Write("g.run.json", "{\"fetches\": [\"Mean:0\",}");
  ExpectError(Lanescope({"run", graph}), 1, "InvalidArgument", "g.run.json");
  folder.Write("g.run.json", R"({"fetchs": ["Mean:0"]})");
  ExpectError(Lanescope({"place", graph}), 1, "InvalidArgument", "fetchs");
  folder.Write("g.run.json", R"({"fetches": ["nothing:0"]})");
  ExpectError(Lanescope({"simulate", graph}), 1, "NotFound", "nothing");
}

TEST(Usage, AnUnknownStrategyListsTheOthers) {
  for (const std::string command : {"place", "run", "simulate"}) {
    const Outcome outcome = Lanescope({command, Sample("polynomial"), "--strategy", "alternatig"});
    ExpectError(outcome, 1, "NotFound", "alternatig");
    EXPECT_THAT(outcome.errors,
                HasSubstr("alternating, annotated, greedy, heft, m-etf, m-sct, parameter-server, "
                          "parameter-server-bytes, parameter-server-turn, round-robin, single, tower-split"));
    for (const char* other : {"data-parallel", "pipeline", "@placement.json", "exec:PROGRAM"})
      EXPECT_THAT(outcome.errors, HasSubstr(other));
  }
}

TEST(Usage, WrongMachinesAreRefused) {
  const Folder folder;
  const std::string machine =
      folder.Write("m.json", R"({"name": "m", "devices": [{"name": "CPU:0", "memry": "1GiB"}]})");
  for (const std::string command : {"place", "run", "simulate"}) {
    ExpectError(Lanescope({command, Sample("polynomial"), "--machine", machine}), 1, "InvalidArgument",
                "memry");
  }
  ExpectError(Lanescope({"devices", "--machine", folder.File("none.json")}), 1, "NotFound", "none.json");
  // A name that is no file is that of a machine.
  EXPECT_EQ(Lanescope({"devices", "--machine", "dgx-h100"}).status, 0);
  ExpectError(Lanescope({"devices", "--machine", "rtx4090"}), 1, "InvalidArgument",
              "`lanescope devices --machines` lists them");
}

TEST(Usage, TheReaderOfTheOutputMayGoAway) {
  const std::string program = lanescope::test::ProgramPath();
  const std::string place = program + " place " + Sample("deepconn_single") + " --json";
  EXPECT_EQ(Shell("bash -c 'set -o pipefail; " + place + " | head -c 10 >/dev/null'"), 0);
  EXPECT_EQ(Shell(place + " >/dev/full 2>/dev/null"), 1);
}

// The trace must not be opened under the number of a closed standard stream.
TEST(Usage, ClosedStandardStreamsSpoilNothing) {
  const Folder folder;
  const std::string run = lanescope::test::ProgramPath() + " run " + Sample("polynomial") +
                          " --steps 2 --trace " + folder.File("t.db");
  Shell(run + " <&- >&- 2>&-");
  EXPECT_EQ(
      LanescopeJson({"query", folder.File("t.db"), "SELECT complete FROM LANESCOPE_RUN", "--json"})["rows"],
      nlohmann::json::parse("[[1]]"));
}

TEST(Devices, PrintsAMachineFileThatItReads) {
  const Folder folder;
  const Outcome first = Lanescope({"devices", "--json"});
  ASSERT_EQ(first.status, 0);
  EXPECT_EQ(first.errors, "");
  const std::string file = folder.Write("m.json", first.output);
  EXPECT_EQ(Lanescope({"devices", "--json", "--machine", file}).output, first.output);
  EXPECT_THAT(Lanescope({"devices", "--machine", file}).output, HasSubstr("GPU:1"));
  for (const std::string name : {"k80x2", "dgx-h100", "four-virtual-gpus"}) {
    const std::string once = Lanescope({"devices", "--json", "--machine", SampleMachine(name)}).output;
    EXPECT_EQ(Lanescope({"devices", "--json", "--machine", folder.Write("n.json", once)}).output, once);
  }
}

}  // namespace
}  // namespace lanescope::cli
