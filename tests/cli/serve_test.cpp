// SPDX-License-Identifier: Apache-2.0
// Parameter servers and those who use them, started by mpirun on this computer.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include <cstdlib>

#include "tests/cli/mpirun.h"
#include "tests/cli/program.h"
#include "tests/support/paths.h"

namespace lanescope::cli {
namespace {

using nlohmann::json;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

std::string Cluster(const std::string& name) {
  return lanescope::test::SourceDir() + "/samples/clusters/" + name + ".pbtxt";
}

// One serves, two run the simple client of the third seed. Law: every increment of both counts, unless two
// meet; the first has given x its value, and has emptied the container of x before, which the other, told to
// as well, left to it. What each printed is in a file of its own.
TEST(Serve, TwoClientsCountTogether) {
  SKIP_WITHOUT_MPIRUN();
  const Folder folder;
  const std::string machine = SampleMachine("one-ps-two-workers"), graph = Cluster("simple_client");
  const auto client = [&](int number) {
    return fmt::format(
        "-n 1 sh -c \"PROGRAM run {} --machine {} --steps 20 --warmup 0 --reset localhost --json --trace "
        "'{}' > '{}'\"",
        graph, machine, folder.File("t{rank}.db"), folder.File(std::to_string(number)));
  };
  const Ranks ranks =
      Mpirun(folder, fmt::format("-n 1 PROGRAM serve --machine {} : {} : {}", machine, client(1), client(2)));
  ASSERT_EQ(ranks.status, 0) << ranks.errors;
  EXPECT_THAT(ranks.output, ContainsRegex("/job:ps/task:0 served rank 1 on .*, emptied localhost\n"));
  EXPECT_THAT(ranks.output, ContainsRegex("/job:ps/task:0 served rank 2 on .*, 20 steps\n"));
  double most = 0;
  for (const int number : {1, 2}) {
    const json run = json::parse(ReadText(folder.File(std::to_string(number))));
    EXPECT_EQ(run["ranks"][0]["task"], fmt::format("/job:worker/task:{}", number - 1));
    EXPECT_GE(run["staleness"]["mean"], 0) << run;
    most = std::max(most, run["fetches"][0]["values"][0].get<double>());
    // The client's trace has what the server did.
    const json lanes =
        LanescopeJson({"query", folder.File(fmt::format("t{}.db", number)),
                       "SELECT COUNT(DISTINCT deviceId) FROM CUPTI_ACTIVITY_KIND_KERNEL", "--json"});
    EXPECT_EQ(lanes["rows"][0][0], 2) << lanes;
  }
  EXPECT_GE(most, 20);
  EXPECT_LE(most, 40);
}

// One client that drives all: the bits of one process.
TEST(Serve, InGraphReplicationIsOneRun) {
  SKIP_WITHOUT_MPIRUN();
  const Folder folder;
  const std::string machine = SampleMachine("two-tasks"),
                    run =
                        fmt::format("run {} --machine {} --strategy tower-split --steps 3 --warmup 1 --json",
                                    Sample("deepconn_dual"), machine);
  const Ranks served =
      Mpirun(folder, fmt::format("-n 1 PROGRAM {} : -n 1 PROGRAM serve --machine {}", run, machine));
  ASSERT_EQ(served.status, 0) << served.errors;
  const json one = LanescopeJson({"run", Sample("deepconn_dual"), "--machine", machine, "--strategy",
                                  "tower-split", "--steps", "3", "--warmup", "1", "--json"});
  // Before it or behind it is what the server says.
  const size_t begin = served.output.find('{'), end = served.output.rfind('}');
  ASSERT_LT(begin, end) << served.output;
  const json all = json::parse(served.output.substr(begin, end + 1 - begin));
  EXPECT_EQ(all["fetches"], one["fetches"]);
}

// The error of one client is its own: the other runs all its steps, and mpirun ends with a failure.
TEST(Serve, AFailedClientLeavesTheOthers) {
  SKIP_WITHOUT_MPIRUN();
  const Folder folder;
  const std::string machine = SampleMachine("one-ps-two-workers"), graph = Cluster("simple_client");
  const Ranks ranks = Mpirun(
      folder,
      fmt::format("-n 1 PROGRAM serve --machine {} : -n 1 PROGRAM run {} --machine {} --steps 50 : -n 1 "
                  "PROGRAM run {} --machine {} --strategy @nothing.json",
                  machine, graph, machine, graph, machine));
  EXPECT_EQ(ranks.status, 1);
  EXPECT_THAT(ranks.errors, HasSubstr("rank 2 of 3 on "));
  EXPECT_THAT(ranks.errors, HasSubstr("nothing.json"));
  EXPECT_THAT(ranks.output, HasSubstr("simple_client.pbtxt placed by annotated: 50 steps"));
}

TEST(Serve, IsForProcessesThatMpirunStarts) {
  ExpectError(Lanescope({"serve"}), 1, "FailedPrecondition", "mpirun -n 1 lanescope serve");
  ExpectError(Lanescope({"run", Sample("polynomial"), "--reset", "localhost"}), 1, "InvalidArgument",
              "nobody serves");
}

}  // namespace
}  // namespace lanescope::cli
